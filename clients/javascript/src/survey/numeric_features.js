/**
 * Features whose values are numbers: put into bins, or clipped to public bounds and rounded to a grid.
 *
 * The code of a number is the index of its bin, or the nearest point of a grid over [-1, 1], so that all
 * further steps are integer arithmetic.
 */

import { clamp } from "../arithmetic.js";
import { GRID } from "../mechanisms/numeric_base.js";
import { readIncreasing } from "../decimals.js";
import { codeUnlessMissing, parseNumber } from "./parse_value.js";

/** @typedef {import("./features.js").Feature} Feature */

/**
 * Read a number that is coded as the index of its bin. A bin includes its lower edge.
 *
 * @param {any} entry
 * @returns {Feature}
 */
export function binnedFeature(entry) {
  const { edges } = entry;
  const inner = readIncreasing(edges).slice(1, -1);
  return codeUnlessMissing({ ...entry, ordered: true, values: edges }, inner.length + 1, (value) => {
    const number = parseNumber(value, entry.name);
    return inner.reduce((code, edge) => code + Number(edge <= number), 0);
  });
}

/**
 * Read a number that is clipped to public bounds and normalised to [-1, 1].
 *
 * @param {any} entry
 * @returns {Feature}
 */
export function numericFeature(entry) {
  const values = [entry.low, entry.high];
  const [low, high] = readIncreasing(values);
  return codeUnlessMissing({ ...entry, values }, 2 * GRID + 1, (value) => {
    const clipped = clamp(parseNumber(value, entry.name), low, high);
    return Math.floor((clipped - low) / (high - low) * (2 * GRID) + 0.5);
  });
}
