/** Unary encoding: one bit per value of the domain, each randomised independently (SUE, OUE, THE). */

import { requireValid } from "../errors.js";
import { reduce } from "../arithmetic.js";
import { hasForm } from "../text_form.js";
import { checkKeyCount, readInteger, readSmallInteger } from "./parameters.js";

/** @typedef {import("./base.js").Mechanism} Mechanism */
/** @typedef {import("./base.js").Tables} Tables */

/**
 * SHE's vector, with each component replaced by whether it is above a threshold: also independent bits.
 *
 * @param {number} domain
 * @param {Tables} tables
 * @returns {Mechanism}
 */
export function thresholding(domain, { theta, ...tables }) {
  requireValid(hasForm(theta, /^(0(\.\d{1,6})?|1(\.0{1,6})?)$/));
  return unary(domain, tables);
}

/**
 * Reports d bits: that of the true value is 1 with probability p / 2^bits, every other with q / 2^bits.
 *
 * @param {number} domain
 * @param {Tables} tables
 * @returns {Mechanism}
 */
export function unary(domain, tables) {
  checkKeyCount(tables, 3);
  const bits = readSmallInteger(tables.bits, 1, 64);
  const whole = 1n << BigInt(bits);
  const q = readInteger(tables.q, 1n, whole - 1n);
  const p = readInteger(tables.p, q + 1n, whole - 1n);
  requireValid(Number(p) > Number(q));
  const payloadBytes = Math.ceil(domain / 8);
  return {
    payloadBytes,
    randomBytes: bits * payloadBytes,
    ratio: reduce(p * (whole - q), q * (whole - p)),
    perturb([value], random) {
      const ones = areBelow(random, p, payloadBytes);
      const payload = areBelow(random, q, payloadBytes);
      const own = 1 << (value & 7);
      payload[value >> 3] = (payload[value >> 3] & ~own) | (ones[value >> 3] & own);
      payload[payloadBytes - 1] &= lastByteMask(domain);
      return payload;
    },
  };
}

/**
 * Compare the draws of all positions with a threshold at once.
 *
 * The draws are slices of `count` bytes each. Slice j has bit j, the lowest first, of every draw. The highest
 * bit in which a draw differs from the threshold decides.
 *
 * @param {Uint8Array} random
 * @param {bigint} threshold
 * @param {number} count
 */
function areBelow(random, threshold, count) {
  const below = new Uint8Array(count);
  for (let start = 0; start < random.length; start += count) {
    const bit = threshold & 1n;
    for (let index = 0; index < count; index++) {
      const zeros = ~random[start + index];
      below[index] = bit ? below[index] | zeros : below[index] & zeros;
    }
    threshold >>= 1n;
  }
  return below;
}

/**
 * Return the bits of the last byte of a vector that are used.
 *
 * @param {number} length number of bits of the vector
 */
export function lastByteMask(length) {
  return 0xff >> (-length & 7);
}
