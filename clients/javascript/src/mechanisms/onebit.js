/** A number as the bias of a coin: one coin for a drawn slot (onebit), or a coin per slot (sign-vector). */

import { indexToBytes, readWord } from "../bytes.js";
import { reduce } from "../arithmetic.js";
import { multiplyShift, WORD } from "../probability_tables.js";
import { indexBytes } from "./base.js";
import { countSlots, GRID, GRID_BITS, splitValue } from "./numeric_base.js";
import { checkKeyCount, readInteger } from "./parameters.js";
import { setBit } from "./subset.js";
import { lastByteMask } from "./unary.js";

/** @typedef {import("./base.js").Mechanism} Mechanism */
/** @typedef {import("./base.js").Tables} Tables */
/** @typedef {import("./numeric_base.js").NumericDomain} NumericDomain */

/**
 * Reports one coin, for a slot that is drawn independently of the answer.
 *
 * @param {NumericDomain} domain
 * @param {Tables} tables
 * @returns {Mechanism}
 */
export function onebit(domain, tables) {
  const [q, threshold] = readCoin(tables);
  const slots = countSlots(domain);
  const payloadBytes = indexBytes(2 * slots);
  return {
    payloadBytes,
    randomBytes: 16,
    // a square's coin is never worse than fair
    ratio: domain.square ? reduce(WORD / 2n, q) : reduce(WORD - q, q),
    perturb([value], random) {
      const [slot, code] = splitValue(value, domain.labels);
      const drawn = multiplyShift(readWord(random, 0), slots);
      const asked = [GRID, code][Number(drawn === slot)];
      return indexToBytes(2 * drawn + Number(readWord(random, 1) < threshold(asked)), payloadBytes);
    },
  };
}

/**
 * Reports a coin for every slot: biased in the own slot, fair in all others.
 *
 * @param {NumericDomain} domain
 * @param {Tables} tables
 * @returns {Mechanism}
 */
export function signVector(domain, tables) {
  const [q, threshold] = readCoin(tables);
  const slots = countSlots(domain);
  const payloadBytes = Math.ceil(slots / 8);
  return {
    payloadBytes,
    randomBytes: payloadBytes + 8,
    ratio: reduce(WORD - q, q),
    perturb([value], random) {
      const [slot, code] = splitValue(value, domain.labels);
      const payload = random.slice(0, payloadBytes);
      payload[payloadBytes - 1] &= lastByteMask(slots);
      payload[slot >> 3] &= ~(1 << (slot & 7));
      setBit(payload, slot, Number(readWord(random.subarray(payloadBytes), 0) < threshold(code)));
      return payload;
    },
  };
}

/**
 * Read the bias of a coin; `threshold` returns the limit below which a draw is a 1, for the code of a number.
 *
 * @param {Tables} tables
 */
function readCoin(tables) {
  checkKeyCount(tables, 1);
  const q = readInteger(tables.q, 1n, WORD / 2n - 1n);
  /** @param {number} code */
  const threshold = (code) => q + ((WORD - 2n * q) * BigInt(code) >> BigInt(GRID_BITS));
  return /** @type {const} */ ([q, threshold]);
}
