/** Counts of random draws, and values of payloads, from which likelihoods are computed. */

import { laplaceCells } from "../mechanisms/noise.js";
import { sum, WORD } from "../probability_tables.js";

/**
 * Return the distribution, out of 2^64, of x plus noise, clamped to low ... high.
 *
 * @param {readonly bigint[]} weights
 * @param {number} x
 * @param {number} low
 * @param {number} high
 */
export function clampedLaw(weights, x, low, high) {
  const cells = laplaceCells(weights);
  const far = weights.length - 1;
  const first = low - x + far;
  const last = high - x + far;
  return [sum(cells.slice(0, first + 1)), ...cells.slice(first + 1, last), sum(cells.slice(last))];
}

/**
 * Return the number of 64-bit draws that select a cell by multiply-shift.
 *
 * @param {number} index
 * @param {number} cells
 */
export function drawsOf(index, cells) {
  const count = BigInt(cells);
  const before = (/** @type {bigint} */ end) => (end * WORD + count - 1n) / count;
  return before(BigInt(index) + 1n) - before(BigInt(index));
}

/** @param {Uint8Array} bytes */
export function readIndex(bytes) {
  return bytes[0] + 256 * (bytes[1] ?? 0);
}

/**
 * @param {Uint8Array} bytes
 * @param {number} index
 */
export function readBit(bytes, index) {
  return bytes[index >> 3] >> (index & 7) & 1;
}

/**
 * @param {Uint8Array} bytes
 * @param {number} index
 */
export function readInteger(bytes, index) {
  return new DataView(bytes.buffer, bytes.byteOffset).getInt16(2 * index, true);
}
