/** Checks the form of texts in a plan. */

/**
 * Return whether a value is a text of this form.
 *
 * @param {unknown} value
 * @param {RegExp} form
 * @returns {value is string}
 */
export function hasForm(value, form) {
  return typeof value === "string" && form.test(value);
}

/**
 * Return a text with its holes {0}, {1} filled.
 *
 * @param {string} text
 * @param {...unknown} parts
 */
export function fill(text, ...parts) {
  return text.replace(/\{(\d)\}/g, (_, index) => String(parts[index]));
}
