/** Exact fractions of positive integers, and limits of numbers. */

/** @typedef {readonly [numerator: bigint, denominator: bigint]} Fraction */

/**
 * Return a fraction in lowest terms.
 *
 * @param {bigint} numerator
 * @param {bigint} denominator
 * @returns {Fraction}
 */
export function reduce(numerator, denominator) {
  let [divisor, rest] = [numerator, denominator];
  while (rest) [divisor, rest] = [rest, divisor % rest];
  return [numerator / divisor, denominator / divisor];
}

/**
 * Return whether a fraction is greater than another.
 *
 * @param {Fraction} one
 * @param {Fraction} other
 */
export function isGreater(one, other) {
  return one[0] * other[1] > other[0] * one[1];
}

/**
 * Return the greatest of fractions.
 *
 * @param {readonly Fraction[]} fractions
 */
export function greatest(fractions) {
  return fractions.reduce((most, each) => (isGreater(each, most) ? each : most));
}

/**
 * Return the greatest ratio of elements with the same index.
 *
 * @param {readonly bigint[]} numerators
 * @param {readonly bigint[]} denominators
 */
export function greatestRatio(numerators, denominators) {
  return greatest(numerators.map((each, index) => /** @type {Fraction} */ ([each, denominators[index]])));
}

/**
 * Return the IEEE double that is nearest to a fraction of at least 2^-64, ties to even.
 *
 * @param {bigint} numerator
 * @param {bigint} denominator
 */
export function nearestDouble(numerator, denominator) {
  const scaled = numerator << 128n;
  const inexact = BigInt(scaled % denominator > 0n);
  return Number(scaled / denominator | inexact) / 2 ** 128;
}

/**
 * Return the number from `low` to `high` that is nearest to a number.
 *
 * @param {number} number
 * @param {number} low
 * @param {number} high
 */
export function clamp(number, low, high) {
  return Math.min(Math.max(number, low), high);
}
