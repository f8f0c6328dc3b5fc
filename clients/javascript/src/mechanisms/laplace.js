/** Laplace noise on every slot of the vector of numbers and classes: for all numbers at once, or for one. */

import { readHighBits } from "../bytes.js";
import { requireValid } from "../errors.js";
import { greatest, greatestRatio, reduce } from "../arithmetic.js";
import { sum } from "../probability_tables.js";
import { laplaceCells, noiseAdder } from "./noise.js";
import { countSlots, GRID_BITS, splitValue } from "./numeric_base.js";
import { checkKeyCount, readSmallInteger, readWeights } from "./parameters.js";

/** @typedef {import("./base.js").Mechanism} Mechanism */
/** @typedef {import("./base.js").Share} Share */
/** @typedef {import("./base.js").Tables} Tables */
/** @typedef {import("./numeric_base.js").NumericDomain} NumericDomain */

/** Largest product of steps and weights; it limits the time to prove an untrusted plan. */
const MAX_PROOF_WORK = 1 << 15;

/**
 * Reports one number of a row, or all of them at once, with noise in each slot.
 *
 * @param {NumericDomain} domain
 * @param {Tables} tables
 * @param {Share} share
 * @returns {Mechanism}
 */
export function laplace(domain, tables, share) {
  checkKeyCount(tables, 2);
  const steps = readSmallInteger(tables.steps, 1, 64);
  // the square of a number has another ratio than the number, and so another key
  const [addNoise, ratio] = share(domain.square ? tables : tables.weights, () => {
    const weights = readWeights(tables.weights);
    const most = weights.length - 1 - steps;
    requireValid(!(steps & (steps - 1)) && most > 0);
    requireValid(steps * weights.length <= MAX_PROOF_WORK);
    return [noiseAdder(weights, -most, most), worstRatio(weights, steps, domain.square)];
  });
  const numbers = domain.missing.length;
  const slots = countSlots(domain);
  const fractionBits = GRID_BITS - 1 - Math.log2(steps);
  const power = BigInt(numbers);
  return {
    payloadBytes: 2 * slots,
    randomBytes: 8 * (numbers + slots),
    ratio: [ratio[0] ** power, ratio[1] ** power],
    perturb(value, random) {
      const vector = Array(slots).fill(0);
      let start = 0;
      domain.missing.forEach((absent, number) => {
        const [slot, code] = splitValue(value[number], domain.labels);
        const rest = code & ((1 << fractionBits) - 1);
        const up = Number(readHighBits(random, number, fractionBits) < rest);
        vector[start + slot] = (code >> fractionBits) + up - steps;
        start += domain.labels * (1 + Number(absent));
      });
      return addNoise(vector, random.subarray(8 * numbers));
    },
  };
}

/**
 * Return the worst likelihood ratio of two values of one number, in the same slot or in two slots.
 *
 * @param {readonly bigint[]} weights
 * @param {number} steps
 * @param {boolean} square
 */
function worstRatio(weights, steps, square) {
  const empty = slotLaw(weights, steps, 0);
  const most = [...empty];
  const least = [...empty];
  for (let x = square ? 0 : -steps; x <= steps; x++) {
    slotLaw(weights, steps, x).forEach((cell, y) => {
      if (cell > most[y]) most[y] = cell;
      if (cell < least[y]) least[y] = cell;
    });
  }
  const stay = greatestRatio(most, least);
  const come = greatestRatio(most, empty);
  const go = greatestRatio(empty, least);
  return reduce(...greatest([stay, [come[0] * go[0], come[1] * go[1]]]));
}

/**
 * Return the distribution of a slot that holds x, out of 2^64, from steps - K to K - steps.
 *
 * @param {readonly bigint[]} weights
 * @param {number} steps
 * @param {number} x
 */
function slotLaw(weights, steps, x) {
  const cells = laplaceCells(weights);
  const first = steps - x;
  const last = cells.length - 1 - steps - x;
  return [sum(cells.slice(0, first + 1)), ...cells.slice(first + 1, last), sum(cells.slice(last))];
}
