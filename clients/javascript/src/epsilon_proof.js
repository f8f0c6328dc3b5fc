/**
 * Proves with exact arithmetic that a mechanism spends at most epsilon.
 *
 * The probabilities of a mechanism are integers, so its worst likelihood ratio is an exact fraction. The proof
 * compares it with a rational lower bound of e^epsilon.
 */

import { isGreater } from "./arithmetic.js";
import { parseDecimal } from "./decimals.js";

/** @typedef {import("./arithmetic.js").Fraction} Fraction */

/** Binary digits of the lower bound after the point: more than 60 decimal digits of any e^epsilon. */
const PRECISION = 320n;
/** Significant digits of the epsilon that a question states. */
const STATED = 10n ** 12n;

/**
 * Return a lower bound of e^x for a fraction x, 0 <= x <= 33.
 *
 * All terms of the series are positive and rounded down, so their sum is below e^x.
 *
 * @param {Fraction} x
 * @returns {Fraction}
 */
export function expLowerBound([numerator, denominator]) {
  const one = 1n << PRECISION;
  const x = numerator * one / denominator;
  let sum = 0n;
  for (let term = one, n = 1n; term; n++) {
    sum += term;
    term = (term * x >> PRECISION) / n;
  }
  return [sum, one];
}

/**
 * Return whether a text is the logarithm of a ratio, rounded up to 12 significant digits.
 *
 * It is if the ratio is at most e^x for the number x, and not for x less one unit of its 12th digit.
 *
 * @param {Fraction} ratio
 * @param {unknown} text
 */
export function isRealisedEpsilon(ratio, text) {
  let [units, scale] = parseDecimal(text);
  if (units <= 0n) return false;
  // a power of ten counts as 10^12 units, because the numbers below it have a smaller unit
  for (; units * 10n <= STATED; units *= 10n) scale *= 10n;
  return (
    units <= STATED &&
    units <= 33n * scale &&
    !isGreater(ratio, expLowerBound([units, scale])) &&
    isGreater(ratio, expLowerBound([units - 1n, scale]))
  );
}
