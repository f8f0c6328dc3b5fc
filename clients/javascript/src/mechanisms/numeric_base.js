/** The parts that all mechanisms share which randomise numbers together with the class. */

export const GRID_BITS = 21;
/** Steps of the grid on either side of zero: x in [-1, 1] has the code (x + 1) GRID, a missing number 2 GRID + 1. */
export const GRID = 2 ** (GRID_BITS - 1);

/**
 * The input of a mechanism for numbers.
 *
 * @typedef {object} NumericDomain
 * @property {number} labels number of classes k
 * @property {readonly boolean[]} missing for each number, whether it may be missing
 * @property {boolean} square whether the numbers are squares, in [0, 1]
 */

/**
 * Return the number of slots: k for each number, 2 k if it may be missing.
 *
 * @param {NumericDomain} domain
 */
export function countSlots({ labels, missing }) {
  return missing.reduce((slots, absent) => slots + labels * (1 + Number(absent)), 0);
}

/**
 * Return the index of a number's own slot, and the code in it: the code of 1 for a missing number.
 *
 * @param {number} value
 * @param {number} labels
 * @returns {[slot: number, code: number]}
 */
export function splitValue(value, labels) {
  const code = Math.floor(value / labels);
  const absent = Number(code > 2 * GRID);
  return [value % labels + labels * absent, code - absent];
}
