/**
 * A public projection: computes a few numbers from several numbers of a row, in fixed point.
 *
 * Each input is clipped to its public bounds and normalised to [-1, 1]. Each component is a weighted sum of
 * the inputs plus an offset.
 */

import { requireValid } from "../errors.js";
import { GRID } from "../mechanisms/numeric_base.js";
import { checkKeyCount } from "../mechanisms/parameters.js";
import { isDecimal } from "../decimals.js";
import { readFeature } from "./features.js";

/** @typedef {import("./features.js").Feature} Feature */

/**
 * @typedef {object} Projection
 * @property {readonly Feature[]} inputs numeric features
 * @property {ReadonlyMap<string, Component>} components by the name of the feature that each computes
 */

/** @typedef {(codes: readonly number[]) => number | null} Component computes a number from the codes of all inputs */

/** Denominator of weights and offsets. */
const UNIT = 1e6;
/** Largest sum of the absolute weights and the absolute offset: below it every sum is exact as a double. */
const MAX_SUM = 8000;

/**
 * Read the entry of a projection in a plan, if there is one, and check it against the plan's features.
 *
 * @param {any} entry
 * @param {readonly Feature[]} features
 * @returns {Projection}
 */
export function readProjection(entry, features) {
  if (entry === undefined) return { inputs: [], components: new Map() };
  checkKeyCount(entry, 2);
  /** @type {Feature[]} */
  const inputs = entry.inputs.map(readFeature);
  /** @type {Component[]} */
  /** @type {[string, Component][]} */
  const listed = entry.components.map((/** @type {any} */ each) => readComponent(each, inputs.length));
  /** @type {Map<string, Component>} */
  const components = new Map(listed);
  requireValid(inputs.every(({ kind }) => kind === "numeric"));
  requireValid(listed.length && listed.length <= inputs.length && listed.length === components.size);
  for (const name of components.keys()) {
    const taker = features.find((feature) => feature.name === name);
    requireValid(taker && ["binned", "numeric"].includes(taker.kind));
    requireValid(taker.missing === "category" || inputs.every(({ missing }) => missing === "error"));
  }
  return { inputs, components };
}

/**
 * @param {any} entry
 * @param {number} inputs
 * @returns {[string, Component]}
 */
function readComponent(entry, inputs) {
  checkKeyCount(entry, 3);
  requireValid(Array.isArray(entry.weights));
  const texts = [...entry.weights, entry.offset];
  requireValid(texts.length === inputs + 1 && texts.every((text) => isDecimal(text) && !/\.\d{7}/.test(text)));
  const millionths = texts.map((text) => Math.round(Number(text) * UNIT));
  const total = millionths.reduce((sum, each) => sum + Math.abs(each), 0);
  requireValid(total <= MAX_SUM * UNIT);
  return [entry.name, (codes) => {
    if (codes.some((code) => code > 2 * GRID)) return null;
    // the offset is the weight of an input that is always 1
    const steps = [...codes.map((code) => code - GRID), GRID];
    return millionths.reduce((sum, weight, index) => sum + weight * steps[index], 0) / (UNIT * GRID);
  }];
}
