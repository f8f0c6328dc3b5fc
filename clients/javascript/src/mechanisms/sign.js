/** A number rounded at random to a sign, which a frequency oracle randomises with the class. */

import { readHighBits } from "../bytes.js";
import { requireValid } from "../errors.js";
import { GRID, GRID_BITS } from "./numeric_base.js";

/** @typedef {import("./base.js").Mechanism} Mechanism */
/** @typedef {import("./base.js").Tables} Tables */
/** @typedef {import("./numeric_base.js").NumericDomain} NumericDomain */

const ORACLES = ["DE", "SUE", "OUE"];

/**
 * Reports a sign with the class: 0 for -, 1 for +, 2 for a missing number.
 *
 * @param {NumericDomain} domain
 * @param {Tables} tables
 * @param {import("./base.js").Share} share
 * @param {(name: any, domain: number, tables: Tables, share: import("./base.js").Share) => Mechanism} buildOracle
 * @returns {Mechanism}
 */
export function sign(domain, { oracle: name, ...tables }, share, buildOracle) {
  requireValid(ORACLES.includes(/** @type {string} */ (name)));
  const oracle = buildOracle(name, (2 + Number(domain.missing[0])) * domain.labels, tables, share);
  const bits = GRID_BITS - Number(domain.square);
  const lowest = domain.square ? GRID : 0;
  return {
    ...oracle,
    randomBytes: 8 + oracle.randomBytes,
    perturb([value], random) {
      const code = Math.floor(value / domain.labels);
      const up = Number(readHighBits(random, 0, bits) < code - lowest);
      const rounded = up + Number(code > 2 * GRID);
      return oracle.perturb([rounded * domain.labels + value % domain.labels], random.subarray(8));
    },
  };
}
