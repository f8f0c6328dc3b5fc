/** Reads the parameters of a mechanism from a plan: integers as canonical decimal strings. */

import { requireValid } from "../errors.js";
import { sum, WORD } from "../probability_tables.js";
import { hasForm } from "../text_form.js";
import { laplaceCells } from "./noise.js";

/** @typedef {import("./base.js").Tables} Tables */

const MAX_WEIGHTS = 1 << 14;

/**
 * Check that an entry of a plan has as many keys as its reader reads.
 *
 * A reader checks each of its keys, and refuses an absent one. So an entry with as many keys has no others.
 *
 * @param {object} entry
 * @param {number} count
 */
export function checkKeyCount(entry, count) {
  requireValid(Object.keys(entry).length === count);
}

/**
 * Read an integer without sign and leading zeros, from `low` to `high`.
 *
 * @param {unknown} text
 * @param {bigint | number} low
 * @param {bigint | number} high
 */
export function readInteger(text, low, high) {
  requireValid(hasForm(text, /^(0|[1-9]\d{0,19})$/));
  const integer = BigInt(text);
  requireValid(low <= integer && integer <= high);
  return integer;
}

/**
 * Read a small integer as a number.
 *
 * @param {unknown} text
 * @param {number} low
 * @param {number} high
 */
export function readSmallInteger(text, low, high) {
  return Number(readInteger(text, low, high));
}

/**
 * Read an integer from 1 on and below 2^64.
 *
 * @param {unknown} text
 */
export function readProbability(text) {
  return readInteger(text, 1n, WORD - 1n);
}

/**
 * Read the weights of the magnitudes 0, 1, ..., K; over both signs of 1, ..., K they add up to 2^64.
 *
 * @param {unknown} texts
 */
export function readWeights(texts) {
  requireValid(Array.isArray(texts) && 2 <= texts.length && texts.length <= MAX_WEIGHTS);
  const weights = texts.map(readProbability);
  requireValid(sum(laplaceCells(weights)) === WORD);
  return weights;
}
