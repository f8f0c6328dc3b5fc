/** The mechanisms by their names in the literature. */

import { requireValid } from "../errors.js";
import { direct } from "./direct.js";
import { summation } from "./histogram.js";
import { laplace, sampledLaplace } from "./laplace.js";
import { onebit, signVector } from "./onebit.js";
import { piecewise } from "./piecewise.js";
import { sign } from "./sign.js";
import { subset } from "./subset.js";
import { thresholding, unary } from "./unary.js";

/** @typedef {import("./base.js").Mechanism} Mechanism */
/** @typedef {import("./base.js").Tables} Tables */
/** @typedef {import("./numeric_base.js").NumericDomain} NumericDomain */

/** Largest domain of a question; the estimates of a larger one would be noise. */
const MAX_DOMAIN = 1 << 16;
export const LAPLACE = "laplace";

const ORACLES = new Map([
  ["DE", direct],
  ["SUE", unary],
  ["OUE", unary],
  ["SHE", summation],
  ["THE", thresholding],
  ["SS", subset],
]);
const NUMERIC = new Map([
  [LAPLACE, laplace],
  ["onebit", onebit],
  ["sampled-laplace", sampledLaplace],
  ["sign", sign],
  ["sign-vector", signVector],
  ["piecewise", piecewise],
]);

/**
 * Build a mechanism from a plan's tables: a frequency oracle for a number of values, or one for numbers.
 *
 * @param {string} name
 * @param {number | NumericDomain} domain
 * @param {Tables} tables
 * @returns {Mechanism}
 */
export function buildMechanism(name, domain, tables) {
  if (typeof domain === "number") return buildOracle(name, domain, tables);
  const build = NUMERIC.get(name);
  requireValid(build);
  return build(domain, tables, buildOracle);
}

/**
 * @param {string} name
 * @param {number} domain
 * @param {Tables} tables
 * @returns {Mechanism}
 */
function buildOracle(name, domain, tables) {
  const build = ORACLES.get(name);
  requireValid(build && 2 <= domain && domain <= MAX_DOMAIN);
  return build(domain, tables);
}
