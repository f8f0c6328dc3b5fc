/**
 * Sources of random bytes. Every function that draws takes its source as an argument.
 *
 * A device reads every byte from the system's generator when it needs it. It keeps no pool, because a cloned
 * machine would copy the pool, and two reports with the same noise reveal the truth.
 */

import { LdpError } from "./errors.js";

/**
 * Returns this many uniformly random bytes.
 *
 * @callback RandomSource
 * @param {number} count
 * @returns {Uint8Array}
 */

/** The largest number of bytes that `getRandomValues` returns at once. */
const MAX_REQUEST = 65536;

/**
 * Return random bytes of the system's generator, `crypto.getRandomValues`.
 *
 * @param {number} count
 * @returns {Uint8Array}
 */
export function systemRandom(count) {
  const bytes = new Uint8Array(count);
  try {
    for (let start = 0; start < count; start += MAX_REQUEST) {
      crypto.getRandomValues(bytes.subarray(start, start + MAX_REQUEST));
    }
    return bytes;
  } catch {
    throw new LdpError("crypto.getRandomValues fails: update the browser", "no-randomness");
  }
}

/**
 * Copy bytes from a source, and check that it returned as many as requested.
 *
 * A source may fill the same array each time. Without the copy, the noise would replace the report's id.
 *
 * @param {RandomSource} random
 * @param {number} count
 */
export function takeBytes(random, count) {
  const bytes = random(count);
  if (!(bytes instanceof Uint8Array) || bytes.length !== count) {
    throw new LdpError(`random must return ${count} bytes`, "no-randomness");
  }
  return bytes.slice();
}
