/** Discrete Laplace noise, drawn from the weights of a table. */

import { integersToBytes, readWord } from "../bytes.js";
import { clamp } from "../arithmetic.js";
import { accumulate, countUpTo } from "../probability_tables.js";

/**
 * Return the weights of z = -K, ..., K from those of the magnitudes 0, ..., K.
 *
 * @param {readonly bigint[]} weights
 */
export function laplaceCells(weights) {
  return [...weights.slice(1).reverse(), ...weights];
}

/**
 * Return a function that adds noise to whole numbers, clamps the sums and packs them.
 *
 * It takes one random word for each number.
 *
 * @param {readonly bigint[]} weights
 * @param {number} low
 * @param {number} high
 */
export function noiseAdder(weights, low, high) {
  // all cell ends but the last: z + K is the number of them <= a word
  const ends = accumulate(laplaceCells(weights)).slice(0, -1);
  const far = weights.length - 1;
  return (/** @type {readonly number[]} */ numbers, /** @type {Uint8Array} */ random) => {
    const noisy = numbers.map((x, index) => clamp(x + countUpTo(ends, readWord(random, index)) - far, low, high));
    return integersToBytes(noisy);
  };
}
