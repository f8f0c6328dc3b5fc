/** Decimal numbers in the one exact form in which a plan stores each. */

import { requireValid } from "./errors.js";
import { hasForm } from "./text_form.js";

const DECIMAL = /^(?!-0$)-?(0|[1-9]\d*)(\.\d*[1-9])?$/;
const MAX_DIGITS = 1000;
/** Longest text of an epsilon: 1,000 significant digits, and the zeros before them. */
const MAX_EPSILON_TEXT = 1100;

/**
 * Return whether a value is a canonical decimal.
 *
 * @param {unknown} text
 * @returns {text is string}
 */
export function isDecimal(text) {
  return (
    hasForm(text, DECIMAL) &&
    text.replace(/^[-0.]+|\./g, "").length <= MAX_DIGITS
  );
}

/**
 * Read an epsilon as an exact fraction, whose denominator is a power of ten.
 *
 * @param {unknown} text
 * @returns {import("./arithmetic.js").Fraction}
 */
export function parseDecimal(text) {
  requireValid(isDecimal(text) && text.length <= MAX_EPSILON_TEXT);
  const [whole, fraction = ""] = text.split(".");
  return [BigInt(whole + fraction), 10n ** BigInt(fraction.length)];
}

/**
 * Read edges or bounds as doubles: at least two canonical decimals that increase, also as doubles.
 *
 * @param {readonly unknown[]} texts
 */
export function readIncreasing(texts) {
  requireValid(texts.length >= 2 && texts.every(isDecimal));
  const numbers = texts.map(Number);
  requireValid(increase(numbers) && Number.isFinite(/** @type {number} */ (numbers.at(-1)) - numbers[0]));
  return numbers;
}

/**
 * Return whether each number is greater than the one before.
 *
 * @param {readonly number[]} numbers
 */
export function increase(numbers) {
  return numbers.every((each, index) => !index || numbers[index - 1] < each);
}
