/** The probability of a payload for each true number and class, up to a factor that all answers share. */

import { reduce } from "../arithmetic.js";
import { GRID, GRID_BITS, splitValue } from "../mechanisms/numeric_base.js";
import { WORD } from "../probability_tables.js";
import { clampedLaw, drawsOf, readBit, readIndex, readInteger } from "./draws.js";

/** @typedef {import("../arithmetic.js").Fraction} Fraction */
/** @typedef {import("../mechanisms/numeric_base.js").NumericDomain} NumericDomain */
/** @typedef {import("./likelihood.js").Likelihood} Likelihood */

/**
 * Return the likelihood of a payload of a mechanism for numbers.
 *
 * @param {string} name
 * @param {NumericDomain} domain
 * @param {any} tables
 * @param {Uint8Array} payload
 * @param {typeof import("./likelihood.js").likelihoodOf} likelihoodOf for the oracle of sign
 * @returns {Likelihood}
 */
export function numericLikelihood(name, domain, tables, payload, likelihoodOf) {
  switch (name) {
    case "sign":
      return signLikelihood(domain, tables, payload, likelihoodOf);
    case "onebit":
    case "sign-vector":
      return coinLikelihood(name === "onebit", domain, tables, payload);
    case "piecewise":
      return piecewiseLikelihood(domain, tables, payload);
    default:
      return laplaceLikelihood(domain, tables, payload);
  }
}

/**
 * @param {NumericDomain} domain
 * @param {any} tables
 * @param {Uint8Array} payload
 * @param {typeof import("./likelihood.js").likelihoodOf} likelihoodOf
 * @returns {Likelihood}
 */
function signLikelihood({ labels, missing, square }, tables, payload, likelihoodOf) {
  const answers = (2 + Number(missing[0])) * labels;
  const oracle = likelihoodOf({ mechanismName: tables.oracle, domain: answers, tables }, payload);
  const lowest = square ? GRID : 0;
  return ([value]) => {
    const code = Math.floor(value / labels);
    const label = value % labels;
    if (code > 2 * GRID) return oracle([2 * labels + label]);
    return mix(code - lowest, 2 * GRID - lowest, oracle([labels + label]), oracle([label]));
  };
}

/**
 * @param {boolean} single whether one coin is reported
 * @param {NumericDomain} domain
 * @param {any} tables
 * @param {Uint8Array} payload
 * @returns {Likelihood}
 */
function coinLikelihood(single, { labels }, tables, payload) {
  const q = BigInt(tables.q);
  return ([value]) => {
    const [slot, code] = splitValue(value, labels);
    const index = readIndex(payload.subarray(0, 2));
    const asked = !single || index >> 1 === slot ? code : GRID;
    const bit = single ? index & 1 : readBit(payload, slot);
    const ones = q + ((WORD - 2n * q) * BigInt(asked) >> BigInt(GRID_BITS));
    return [bit ? ones : WORD - ones, WORD];
  };
}

/**
 * @param {NumericDomain} domain
 * @param {any} tables
 * @param {Uint8Array} payload
 * @returns {Likelihood}
 */
function piecewiseLikelihood({ labels, missing, square }, tables, payload) {
  const near = BigInt(tables.near);
  const window = 2 * Number(tables.reach) + 1;
  const line = 128 + window;
  const cells = line * labels * (1 + Number(missing[0]));
  const cell = readIndex(payload);
  /** @param {number} place @returns {Fraction} */
  const inWindow = (place) => [0 <= place && place < window ? drawsOf(place, window) : 0n, 1n];
  return ([value]) => {
    const [slot, code] = splitValue(value, labels);
    const place = square ? 2 * (code - GRID) : code;
    const first = slot * line + Math.floor(place / 2 ** 14);
    const [words, parts] = mix(place % 2 ** 14, 2 ** 14, inWindow(cell - first - 1), inWindow(cell - first));
    return [near * words + (WORD - near) * drawsOf(cell, cells) * parts, parts];
  };
}

/**
 * @param {NumericDomain} domain
 * @param {any} tables
 * @param {Uint8Array} payload
 * @returns {Likelihood}
 */
function laplaceLikelihood({ labels, missing }, tables, payload) {
  const weights = tables.weights.map(BigInt);
  const steps = Number(tables.steps);
  const most = weights.length - 1 - steps;
  const width = GRID / steps;
  /** @type {Map<number, bigint[]>} */
  const laws = new Map();
  /** @param {number} x @param {number} cell */
  const law = (x, cell) => {
    const known = laws.get(x) ?? clampedLaw(weights, x, -most, most);
    laws.set(x, known);
    return known[cell];
  };
  return (value) => {
    /** @type {Fraction} */
    let product = [1n, 1n];
    let start = 0;
    missing.forEach((absent, number) => {
      const [slot, code] = splitValue(value[number], labels);
      const cell = readInteger(payload, start + slot) + most;
      const x = Math.floor(code / width) - steps;
      const rest = code % width;
      const held = mix(rest, width, [rest ? law(x + 1, cell) : 0n, 1n], [law(x, cell), 1n]);
      product = reduce(product[0] * held[0], product[1] * held[1] * law(0, cell));
      start += labels * (1 + Number(absent));
    });
    return product;
  };
}

/**
 * Return the mixture of two probabilities, the first with the weight part / whole.
 *
 * @param {number} part
 * @param {number} whole
 * @param {Fraction} one
 * @param {Fraction} other
 * @returns {Fraction}
 */
function mix(part, whole, one, other) {
  const [first, second] = [BigInt(part), BigInt(whole - part)];
  return [first * one[0] * other[1] + second * other[0] * one[1], BigInt(whole) * one[1] * other[1]];
}
