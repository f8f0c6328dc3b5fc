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
