/** Summation with histogram encoding (SHE): a one-hot vector with Laplace noise on every component. */

import { requireValid } from "../errors.js";
import { greatestRatio, reduce } from "../arithmetic.js";
import { WORD } from "../probability_tables.js";
import { laplaceCells, noiseAdder } from "./noise.js";
import { checkKeyCount, readWeights } from "./parameters.js";

/** @typedef {import("./base.js").Mechanism} Mechanism */
/** @typedef {import("./base.js").Share} Share */
/** @typedef {import("./base.js").Tables} Tables */

/**
 * Reports d components: discrete Laplace noise, plus 1 for the true value, clamped to 1 - K, ..., K.
 *
 * @param {number} domain
 * @param {Tables} tables
 * @param {Share} share
 * @returns {Mechanism}
 */
export function summation(domain, tables, share) {
  checkKeyCount(tables, 1);
  const [addNoise, ratio] = share(tables, () => {
    const weights = readWeights(tables.weights);
    const steps = weights.length - 1;
    // clamping moves only the last weight, so these are the means of 1 plus noise and of noise, out of 2^64
    requireValid(Number(WORD - weights[steps]) > Number(weights[steps]));
    return [noiseAdder(weights, 1 - steps, steps), worstRatio(weights)];
  });
  return {
    payloadBytes: 2 * domain,
    randomBytes: 8 * domain,
    ratio,
    perturb([value], random) {
      const vector = Array(domain).fill(0);
      vector[value] = 1;
      return addNoise(vector, random);
    },
  };
}

/**
 * Return the greatest over the least of L_1(y)/L_0(y), with L_x the distribution of clamp(x + noise).
 *
 * @param {readonly bigint[]} weights
 */
function worstRatio(weights) {
  const [first, second, ...others] = laplaceCells(weights);
  const zero = [first + second, ...others];
  // the noise is symmetric, so L_1 is L_0 backwards, and the least ratio is one over the greatest
  const most = greatestRatio(zero, [...zero].reverse());
  return reduce(most[0] ** 2n, most[1] ** 2n);
}
