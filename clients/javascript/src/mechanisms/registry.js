/** The mechanisms by their names in the literature. */

import { requireValid } from "../errors.js";
import { direct } from "./direct.js";
import { summation } from "./histogram.js";
import { laplace } from "./laplace.js";
import { onebit, signVector } from "./onebit.js";
import { piecewise } from "./piecewise.js";
import { sign } from "./sign.js";
import { subset } from "./subset.js";
import { thresholding, unary } from "./unary.js";

/** @typedef {import("./base.js").Mechanism} Mechanism */
/** @typedef {import("./base.js").Share} Share */
/** @typedef {import("./base.js").Tables} Tables */
/** @typedef {import("./numeric_base.js").NumericDomain} NumericDomain */

/** Largest domain of a question; the estimates of a larger one would be noise. */
const MAX_DOMAIN = 1 << 16;
const MAX_LABELS = 1 << 14;
const MAX_NUMBERS = 100;
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
  ["sampled-laplace", laplace],
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
 * @param {Share} share
 * @returns {Mechanism}
 */
export function buildMechanism(name, domain, tables, share) {
  if (typeof domain === "number") return buildOracle(name, domain, tables, share);
  const build = NUMERIC.get(name);
  const { labels, missing } = domain;
  requireValid(build && labels <= MAX_LABELS && missing.length <= (name === LAPLACE ? MAX_NUMBERS : 1));
  return build(domain, tables, share, buildOracle);
}

/**
 * @param {string} name
 * @param {number} domain
 * @param {Tables} tables
 * @param {Share} share
 * @returns {Mechanism}
 */
function buildOracle(name, domain, tables, share) {
  const build = ORACLES.get(name);
  requireValid(build && 2 <= domain && domain <= MAX_DOMAIN);
  return build(domain, tables, share);
}
