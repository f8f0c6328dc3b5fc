/** Makes elements. Texts become text nodes, never markup, so that a survey's text cannot contain any. */

/** What a person enters is never an attribute, which scripts that copy a page would read. */
const PROPERTIES = ["value", "checked", "selected"];

/**
 * Return an element.
 *
 * @param {string} tag
 * @param {Readonly<Record<string, unknown>>} [attributes] a function listens to the event of this name; true is an
 *   attribute without a value; undefined and false are none
 * @param {...(Node | string | false | undefined)} children
 * @returns {HTMLElement}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (PROPERTIES.includes(name)) Object.assign(element, { [name]: value ?? "" });
    else if (typeof value === "function") element.addEventListener(name, /** @type {EventListener} */ (value));
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child) element.append(child);
  return element;
}
