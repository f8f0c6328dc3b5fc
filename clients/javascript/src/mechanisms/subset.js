/** Subset selection (SS): a set of values that contains the true value with a higher probability. */

import { readWord } from "../bytes.js";
import { requireValid } from "../errors.js";
import { multiplyShift } from "../probability_tables.js";
import { checkKeptLikeliest, keptRatio } from "./direct.js";
import { checkKeyCount, readProbability, readSmallInteger } from "./parameters.js";

/** @typedef {import("./base.js").Mechanism} Mechanism */
/** @typedef {import("./base.js").Tables} Tables */

const MAX_DOMAIN = 256;
const MAX_COMBINATIONS = 2 ** 32;

/**
 * Reports `size` values: the true one with probability keep / 2^64, and a combination of the others.
 *
 * @param {number} domain
 * @param {Tables} tables
 * @returns {Mechanism}
 */
export function subset(domain, tables) {
  requireValid(domain <= MAX_DOMAIN);
  checkKeyCount(tables, 2);
  const keep = readProbability(tables.keep);
  const size = readSmallInteger(tables.size, 1, domain - 1);
  const last = pascalTriangle(domain, size)[domain - 1];
  // by whether the true value is in the set: the number of combinations of the other members
  const combinations = [last[size], last[size - 1]];
  requireValid(Math.max(...combinations) <= MAX_COMBINATIONS);
  checkKeptLikeliest(keep, size, domain);
  const payloadBytes = Math.ceil(domain / 8);
  return {
    payloadBytes,
    randomBytes: 16,
    ratio: keptRatio(keep, combinations[1], combinations[0]),
    perturb([value], random) {
      const binomials = pascalTriangle(domain, size);
      const own = Number(readWord(random, 0) < keep);
      // of all sets, with the true value as the last: first those without it, then those with it
      let rank = multiplyShift(readWord(random, 1), combinations[own]) + own * combinations[0];
      let left = size;
      const payload = new Uint8Array(payloadBytes);
      for (let other = domain - 1; other >= 0; other--) {
        const least = binomials[other][left];
        const chosen = Number(rank >= least);
        rank -= least * chosen;
        left -= chosen;
        setBit(payload, (value + 1 + other) % domain, chosen);
      }
      return payload;
    },
  };
}

/**
 * Return C(n, m) for all n below `count` and m up to `most`. Numbers above 2^53 are rounded, but are only compared.
 *
 * @param {number} count
 * @param {number} most
 */
function pascalTriangle(count, most) {
  const rows = [[1, ...Array(most).fill(0)]];
  while (rows.length < count) {
    const last = /** @type {number[]} */ (rows.at(-1));
    rows.push(last.map((each, m) => each + (m && last[m - 1])));
  }
  return rows;
}

/**
 * Set bit index % 8 of byte index // 8, which is 0.
 *
 * @param {Uint8Array} bytes
 * @param {number} index
 * @param {number} bit 0 or 1
 */
export function setBit(bytes, index, bit) {
  bytes[index >> 3] |= bit << (index & 7);
}
