/** The limits that an application sets on behalf of its users: on epsilon, and on the plan. */

import { isGreater } from "../arithmetic.js";
import { isDecimal, parseDecimal } from "../decimals.js";
import { hasForm } from "../text_form.js";
import { BudgetError, PlanError, requireOption } from "./errors.js";
import { requireDigest } from "./journal/consent.js";

/** @typedef {import("../arithmetic.js").Fraction} Fraction */

/** The default of `maxEpsilon`. */
const MAX_EPSILON = 2;

/** The limits that a client checks every plan and every queued report against. */
export class ClientPolicy {
  /**
   * @param {object} options
   * @param {number} [options.maxEpsilon]
   * @param {number | null} [options.maxTotalEpsilon]
   * @param {string | null} [options.digest]
   * @param {string | null} [options.publicKey]
   */
  constructor({ maxEpsilon = MAX_EPSILON, maxTotalEpsilon, digest, publicKey }) {
    requireOption(
      !isGiven(digest) || hasForm(digest, /^[0-9a-f]{64}$/i),
      "digest must be 64 hexadecimal digits",
      "bad-digest",
    );
    requireOption(
      !isGiven(publicKey) || hasForm(publicKey, /^\s*[A-Za-z0-9+/]{43}=\s*$/),
      "publicKey must be the line that `ldp-survey keygen` prints",
    );
    this.digest = digest?.toLowerCase();
    /** Empty if no signature is required. */
    this.publicKey = publicKey?.trim() ?? "";
    this.maxEpsilon = readLimit(maxEpsilon);
    this.maxTotalEpsilon = isGiven(maxTotalEpsilon) ? readLimit(maxTotalEpsilon) : undefined;
  }

  /**
   * Throw PlanError or BudgetError unless the policy accepts a plan, or a journal's entry with a queued report.
   *
   * @param {{ digest: string, epsilon: string, signer?: string }} plan whose signature was verified with `signer`
   */
  check({ digest, epsilon, signer = this.publicKey }) {
    requireDigest(digest, this.digest);
    if (this.publicKey && this.publicKey !== signer) {
      throw new PlanError("the plan lacks the required signature: call grant()", "plan-changed");
    }
    if (isGreater(parseEpsilon(epsilon), this.maxEpsilon)) {
      const why = `the plan's epsilon is ${epsilon}, more than maxEpsilon`;
      throw new BudgetError(why, "epsilon-above-cap");
    }
  }

  /**
   * Return whether the policy, which may have become stricter, still accepts a queued report.
   *
   * @param {import("./journal/table.js").JournalEntry} entry
   */
  accepts(entry) {
    try {
      this.check(entry);
      return true;
    } catch {
      return false;
    }
  }
}

/**
 * Return an epsilon as an exact fraction.
 *
 * @param {string} text
 * @returns {Fraction}
 */
export function parseEpsilon(text) {
  const { units, scale } = parseDecimal(text);
  return [units, 10n ** scale];
}

/** @param {unknown} limit */
function readLimit(limit) {
  const isLimit = typeof limit === "number" && limit > 0 && isDecimal(String(limit));
  requireOption(isLimit, "maxEpsilon and maxTotalEpsilon must be numbers above 0");
  return parseEpsilon(String(limit));
}

/** @param {unknown} option */
function isGiven(option) {
  return option !== undefined && option !== null;
}
