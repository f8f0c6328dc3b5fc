/**
 * The probability of a payload for each true answer, exactly, up to a factor that all answers share.
 *
 * Only ratios of these probabilities matter: how far a report changes the odds between two answers.
 */

import { WORD } from "../probability_tables.js";
import { clampedLaw, drawsOf, readBit, readIndex, readInteger } from "./draws.js";
import { numericLikelihood } from "./numeric_likelihood.js";

/** @typedef {import("../arithmetic.js").Fraction} Fraction */
/** @typedef {import("../survey/questions.js").Question} Question */

/**
 * Returns the relative probability of a payload for a true answer.
 *
 * @callback Likelihood
 * @param {readonly number[]} value
 * @returns {Fraction}
 */

/**
 * Return the likelihood of a payload that the question's mechanism has made.
 *
 * @param {Pick<Question, "mechanismName" | "domain" | "tables">} question
 * @param {Uint8Array} payload
 * @returns {Likelihood}
 */
export function likelihoodOf({ mechanismName, domain, tables }, payload) {
  if (typeof domain === "object") return numericLikelihood(mechanismName, domain, tables, payload, likelihoodOf);
  const find = ORACLES.get(mechanismName);
  if (!find) throw new RangeError(mechanismName);
  const likelihood = find(payload, domain, tables);
  return ([value]) => likelihood(value);
}

/** @type {Map<string, (payload: Uint8Array, domain: number, tables: any) => (value: number) => Fraction>} */
const ORACLES = new Map([
  ["DE", directLikelihood],
  ["SS", subsetLikelihood],
  ["SUE", unaryLikelihood],
  ["OUE", unaryLikelihood],
  ["THE", unaryLikelihood],
  ["SHE", histogramLikelihood],
]);

/**
 * @param {Uint8Array} payload
 * @param {number} domain
 * @param {any} tables
 * @returns {(value: number) => Fraction}
 */
function directLikelihood(payload, domain, tables) {
  const reported = readIndex(payload);
  const keep = BigInt(tables.keep);
  return (value) => {
    if (value === reported) return [keep, 1n];
    const other = reported - Number(reported > value);
    return [(WORD - keep) * drawsOf(other, domain - 1), WORD];
  };
}

/**
 * @param {Uint8Array} payload
 * @param {number} domain
 * @param {any} tables
 * @returns {(value: number) => Fraction}
 */
function subsetLikelihood(payload, domain, tables) {
  const keep = BigInt(tables.keep);
  const size = Number(tables.size);
  return (value) => {
    // the set from the value on, around the domain; the combination of the other members has a rank
    const own = readBit(payload, value);
    let rank = 0;
    let members = 0;
    for (let other = 0; other < domain - 1; other++) {
      if (readBit(payload, (value + 1 + other) % domain)) rank += combinations(other, ++members);
    }
    return [(own ? keep : WORD - keep) * drawsOf(rank, combinations(domain - 1, size - own)), 1n];
  };
}

/**
 * @param {Uint8Array} payload
 * @param {number} _domain
 * @param {any} tables
 * @returns {(value: number) => Fraction}
 */
function unaryLikelihood(payload, _domain, tables) {
  const whole = 1n << BigInt(tables.bits);
  const [p, q] = [BigInt(tables.p), BigInt(tables.q)];
  return (value) => (readBit(payload, value) ? [p, q] : [whole - p, whole - q]);
}

/**
 * @param {Uint8Array} payload
 * @param {number} _domain
 * @param {any} tables
 * @returns {(value: number) => Fraction}
 */
function histogramLikelihood(payload, _domain, tables) {
  const weights = tables.weights.map(BigInt);
  const steps = weights.length - 1;
  const zero = clampedLaw(weights, 0, 1 - steps, steps);
  const one = clampedLaw(weights, 1, 1 - steps, steps);
  return (value) => {
    const cell = readInteger(payload, value) + steps - 1;
    return [one[cell], zero[cell]];
  };
}

/**
 * Return C(n, m).
 *
 * @param {number} n
 * @param {number} m
 */
function combinations(n, m) {
  let product = m > n ? 0n : 1n;
  for (let i = 0; i < Math.min(m, n - m); i++) product = product * BigInt(n - i) / BigInt(i + 1);
  return Number(product);
}
