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
 * A feature of the survey, or its label, whose `missing` is "error".
 *
 * @typedef {object} Feature
 * @property {"categorical" | "binned" | "numeric" | "label"} kind
 * @property {string} name
 * @property {"category" | "error"} missing "category": a missing value has a code. "error": it is refused.
 * @property {number} size number of codes
 * @property {readonly string[]} values the values of a label or a category, or a number's edges or bounds
 * @property {(value: unknown) => number} code returns a value's code; throws RowError, without the value
 */

/** Letters, digits, signs and spaces. A code point that this engine's Unicode does not know is refused. */
const TEXT = /^(?:[^\p{C}\p{Z}]| ){1,200}$/u;
const MAX_LISTED_VALUES = 12;

/**
 * Return whether a value can be a name or a category, which people read.
 *
 * @param {unknown} value
 */
export function isText(value) {
  return hasForm(value, TEXT);
}

/**
 * Read the entry of a feature in a plan.
 *
 * @param {any} entry
 * @returns {Feature}
 */
export function readFeature(entry) {
  const { kind, missing, name } = entry;
  requireValid(isText(name));
  requireValid(missing === "category" || missing === "error");
  if (kind === "binned") return binnedFeature(entry);
  if (kind === "numeric") return numericFeature(entry);
  requireValid(kind === "categorical");
  checkKeyCount(entry, 4);
  requireValid(entry.values.length || missing === "category");
  requireValid(!entry.values.includes(MISSING_TEXT));
  return listedFeature(kind, name, missing, entry.values);
}

/**
 * Read the entry of a label in a plan.
 *
 * @param {any} entry
 * @returns {Feature}
 */
export function readLabel(entry) {
  checkKeyCount(entry, 2);
  requireValid(isText(entry.name) && entry.values.length > 1);
  return listedFeature("label", entry.name, "error", entry.values);
}

/**
 * Return a feature or label with a public list of values.
 *
 * @param {Feature["kind"]} kind
 * @param {string} name
 * @param {Feature["missing"]} missing
 * @param {readonly string[]} values
 * @returns {Feature}
 */
function listedFeature(kind, name, missing, values) {
  requireValid(Array.isArray(values) && values.every(isText) && areDistinct(values));
  const codes = new Map(values.map((text, code) => [text, code]));
  return codeUnlessMissing({ kind, name, missing, values }, values.length, (value) => {
    const code = codes.get(categoryText(value)?.normalize() ?? ""); // the texts of a plan are in NFC
    if (code !== undefined) return code;
    const listed = values.slice(0, MAX_LISTED_VALUES).map((each) => `"${each}"`);
    const more = values.length > MAX_LISTED_VALUES ? ", ..." : "";
    throw new RowError(name, `is not one of the survey's values: ${listed.join(", ")}${more}`);
  });
}

/**
 * Return whether no element occurs twice.
 *
 * @param {readonly unknown[]} elements
 */
export function areDistinct(elements) {
  return new Set(elements).size === elements.length;
}
