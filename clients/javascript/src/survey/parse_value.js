/** Reads the values of a row that an application passes, in the same way for every feature. */

import { RowError } from "../errors.js";
import { clamp } from "../arithmetic.js";

/** @typedef {import("./features.js").Feature} Feature */

export const MISSING_TEXT = "(missing)";
const MAX_INTEGER = 10n ** 100n;

/**
 * Return a row's own entry. Throws RowError if the row lacks it; an inherited property does not count.
 *
 * @param {Readonly<Record<string, unknown>>} row
 * @param {string} name
 */
export function rowEntry(row, name) {
  if (Object.hasOwn(row, name)) return row[name];
  throw new RowError(name, "the row has no such entry; pass null if missing");
}

/**
 * Complete a feature: a missing value has the last code if the survey has a category for it.
 *
 * A value is missing if it is null, undefined, NaN or an empty text.
 *
 * @param {Omit<Feature, "count" | "size" | "code">} feature
 * @param {number} count number of codes of values that are not missing
 * @param {(value: unknown) => any} code returns the code of a value that is not missing
 * @param {any} [absent] the code of a missing value
 * @returns {Feature}
 */
export function codeUnlessMissing(feature, count, code, absent = count) {
  const hasCategory = feature.missing === "category";
  return {
    ...feature,
    count,
    size: count + Number(hasCategory),
    code(value) {
      if ((value ?? "") !== "" && !Number.isNaN(value)) return code(value);
      if (hasCategory) return absent;
      throw new RowError(feature.name, "is missing: the survey needs a value");
    },
  };
}

/**
 * Return a category as text: text in NFC, 3 as "3", true as "true"; undefined for other types.
 *
 * @param {unknown} value
 * @returns {string | undefined}
 */
export function categoryText(value) {
  const integer = Number.isInteger(value) ? BigInt(/** @type {number} */ (value)) : value;
  if (typeof integer === "bigint" && -MAX_INTEGER < integer && integer < MAX_INTEGER) return String(integer);
  // the normal form of a longer text has more characters than a category, and takes long to compute
  return typeof value === "string" || typeof value === "boolean" ? String(value).slice(0, 2e3).normalize() : undefined;
}

/**
 * Read a number as the nearest double; a finite number of any size stays finite.
 *
 * @param {unknown} value
 * @param {string} name
 */
export function parseNumber(value, name) {
  if (typeof value !== "bigint" && !Number.isFinite(value)) {
    throw new RowError(name, "must be a finite number; pass null if missing");
  }
  return clamp(Number(value), -Number.MAX_VALUE, Number.MAX_VALUE);
}
