/** Integer probability tables, from which mechanisms draw. */

/** Number of values of a 64-bit draw: probabilities of whole words are integers out of this. */
export const WORD = 1n << 64n;

/**
 * Return the sums of the first 1, 2, ... of integers.
 *
 * @param {readonly bigint[]} integers
 */
export function accumulate(integers) {
  let sum = 0n;
  return integers.map((each) => (sum += each));
}

/**
 * Return the sum of integers.
 *
 * @param {readonly bigint[]} integers
 */
export function sum(integers) {
  return integers.reduce((total, each) => total + each);
}

/**
 * Return how many of increasing limits are <= a draw.
 *
 * @param {readonly bigint[]} limits
 * @param {bigint} draw
 */
export function countUpTo(limits, draw) {
  let low = 0;
  let high = limits.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (limits[middle] <= draw) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Return the index of the cell, of `cells`, that a draw selects: draw * cells / 2^64, rounded down.
 *
 * @param {bigint} draw
 * @param {number} cells
 */
export function multiplyShift(draw, cells) {
  return Number(draw * BigInt(cells) >> 64n);
}

/**
 * Return the least and the greatest number of draws that select the same of `cells`.
 *
 * @param {number} cells
 * @returns {[bigint, bigint]}
 */
export function cellSizes(cells) {
  const count = BigInt(cells);
  return [WORD / count, (WORD + count - 1n) / count];
}

/**
 * Return a function of `first` and `end`: how many of the cells from `first` on and before `end` have the greatest
 * number of draws.
 *
 * @param {number} cells
 */
export function largeCells(cells) {
  const rest = Number(WORD % BigInt(cells)) || cells;
  const before = (/** @type {number} */ end) => Math.ceil(end * rest / cells);
  return (/** @type {number} */ first, /** @type {number} */ end) => before(end) - before(first);
}
