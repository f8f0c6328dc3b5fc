/** Direct encoding (DE), also called generalised randomised response: the payload is one index. */

import { indexToBytes, readWord } from "../bytes.js";
import { requireValid } from "../errors.js";
import { greatest, nearestDouble, reduce } from "../arithmetic.js";
import { cellSizes, multiplyShift, WORD } from "../probability_tables.js";
import { indexBytes } from "./base.js";
import { checkKeyCount, readProbability } from "./parameters.js";

/** @typedef {import("./base.js").Mechanism} Mechanism */
/** @typedef {import("./base.js").Tables} Tables */
/** @typedef {import("./base.js").Fraction} Fraction */

/**
 * Reports the true value with probability keep / 2^64, any other value otherwise.
 *
 * @param {number} domain
 * @param {Tables} tables
 * @returns {Mechanism}
 */
export function direct(domain, tables) {
  checkKeyCount(tables, 1);
  const keep = readProbability(tables.keep);
  checkKeptLikeliest(keep, 1, domain);
  const payloadBytes = indexBytes(domain);
  return {
    payloadBytes,
    randomBytes: 16,
    ratio: keptRatio(keep, 1, domain - 1),
    perturb([value], random) {
      const other = multiplyShift(readWord(random, 1), domain - 1);
      const reported = [value, other + Number(other >= value)][Number(readWord(random, 0) >= keep)];
      return indexToBytes(reported, payloadBytes);
    },
  };
}

/**
 * Return the worst likelihood ratio of sets that contain the true value with probability keep / 2^64.
 *
 * @param {bigint} keep
 * @param {number} within number of sets with the true value
 * @param {number} without number of sets without it
 */
export function keptRatio(keep, within, without) {
  const words = [
    ...cellSizes(within).map((each) => keep * each),
    ...cellSizes(without).map((each) => (WORD - keep) * each),
  ];
  // the greatest over the least
  return reduce(...greatest(words.flatMap((one) => words.map((other) => /** @type {Fraction} */ ([one, other])))));
}

/**
 * Check that the true value of `domain` is in a reported set of `size` values more often than any other.
 *
 * @param {bigint} keep
 * @param {number} size
 * @param {number} domain
 */
export function checkKeptLikeliest(keep, size, domain) {
  requireValid(Number(keep) > nearestDouble(BigInt(size) * WORD - keep, BigInt(domain - 1)));
}
