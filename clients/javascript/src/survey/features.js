/**
 * The label and the features of a survey; each codes its values as integers.
 *
 * Values are coded before anything is drawn. A code is an index. A missing value is a separate category, the
 * last one, because skipping a question without an answer would reveal that the answer is missing.
 */

import { requireValid, RowError } from "../errors.js";
import { checkKeyCount } from "../mechanisms/parameters.js";
import { hasForm } from "../text_form.js";
import { binnedFeature, numericFeature } from "./numeric_features.js";
import { categoryText, codeUnlessMissing, MISSING_TEXT } from "./parse_value.js";

/**
 * A feature of the survey, an entry with several answers, or the label.
 *
 * The `missing` of a label is "error". A survey without a label has a single class. Its label has neither a name
 * nor values, and its only value is a missing one.
 *
 * @typedef {object} Feature
 * @property {"categorical" | "binned" | "numeric" | "choices" | "label"} kind
 * @property {string} name
 * @property {"category" | "error"} missing "category": a missing value has a code. "error": it is refused.
 * @property {number} count number of codes without that of a missing value; for choices, of each of them
 * @property {number} size number of codes
 * @property {boolean} [ordered] whether values have an order: of bins, and of categories whose entry says so
 * @property {readonly string[]} values the values of a label or a category, the choices, or a number's edges or bounds
 * @property {(value: unknown) => any} code returns a value's code, for choices the list of their codes; throws
 *   RowError, without the value
 */

/**
 * Letters, digits, signs and spaces, and the selectors of emoji and some scripts; nothing else that people cannot see.
 * A code point that this engine's Unicode does not know is refused.
 */
const TEXT = /^(?!\p{VS})(?:[^\p{C}\p{Z}\p{DI}\u2800\u{1d159}]|[ \p{VS}]){1,200}$/u;
const MAX_LISTED_VALUES = 12;

/**
 * Return whether a value can be a name or a category, which people read.
 *
 * @param {unknown} value
 */
export function isText(value) {
  return hasForm(value, TEXT) && value === value.normalize();
}

/**
 * Read the entry of a feature in a plan.
 *
 * @param {any} entry
 * @returns {Feature}
 */
export function readFeature(entry) {
  const { kind, missing, name, ordered, values } = entry;
  requireValid(isText(name) && (missing === "category" || missing === "error")); // each choice repeats the name
  checkKeyCount(entry, kind === "numeric" || (kind === "categorical" && ordered === true) ? 5 : 4);
  if (kind === "binned") return binnedFeature(entry);
  if (kind === "numeric") return numericFeature(entry);
  requireValid(!values.includes(MISSING_TEXT));
  if (kind === "choices") return choicesFeature(entry);
  requireValid(kind === "categorical" && (values.length || missing === "category"));
  return listedFeature(entry);
}

/**
 * Read an entry of the row with several answers. Its code lists the codes of its choices: 0 for no, 1 for yes, 2 if the
 * answer is missing.
 *
 * @param {any} entry
 * @returns {Feature}
 */
function choicesFeature(entry) {
  /** @type {Feature} */
  const { code, name, values } = listedFeature({ ...entry, missing: "error" });
  requireValid(values[1] && !/;/.test(String(values))); // ";" separates choices in a CSV file
  /** @param {unknown} value */
  const codes = (value) => {
    if (!Array.isArray(value)) throw new RowError(name, "must be a list of the ticked choices");
    const ticked = Array.from(value, code);
    return values.map((_, index) => Number(ticked.includes(index)));
  };
  return codeUnlessMissing(entry, 2, codes, values.map(() => 2));
}

/**
 * Read the entry of a label in a plan, if there is one.
 *
 * @param {any} entry
 * @returns {Feature}
 */
export function readLabel(entry) {
  if (entry === undefined) return listedFeature({ kind: "label", name: "", missing: "category", values: [] });
  checkKeyCount(entry, 2);
  requireValid(isText(entry.name) && entry.values[1]);
  return listedFeature({ ...entry, kind: "label", missing: "error" });
}

/**
 * Return a feature or label with a public list of values.
 *
 * @param {Omit<Feature, "count" | "size" | "code">} entry
 * @returns {Feature}
 */
function listedFeature(entry) {
  const { name, values } = entry;
  requireValid(Array.isArray(values) && values.every(isText) && areDistinct(values));
  const codes = new Map(values.map((text, code) => [text, code]));
  return codeUnlessMissing(entry, values.length, (value) => {
    const code = codes.get(/** @type {string} */ (categoryText(value)));
    if (code !== undefined) return code;
    if (!name) throw new RowError("label", "the survey has no label");
    const listed = values.slice(0, MAX_LISTED_VALUES).join('", "');
    const more = values[MAX_LISTED_VALUES] ? ", ..." : "";
    throw new RowError(name, `is not one of the survey's values: "${listed}"${more}`);
  });
}

/**
 * Return whether no element occurs twice; texts that look alike are one.
 *
 * @param {readonly unknown[]} elements
 */
export function areDistinct(elements) {
  return new Set(elements.map((each) => String(each).replace(/\p{VS}/gu, "").normalize())).size === elements.length;
}
