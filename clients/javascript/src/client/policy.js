/** The limits that an application sets on behalf of its users: on epsilon, and on the plan. */

import { isGreater } from "../arithmetic.js";
import { BudgetError, OptionError, PlanError } from "./errors.js";
import { isDecimal, parseDecimal } from "../decimals.js";

/** @typedef {import("../arithmetic.js").Fraction} Fraction */
/** @typedef {import("./journal/table.js").JournalEntry} JournalEntry */

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
    const isDigest = typeof (digest ?? "") === "string" && /^([0-9a-f]{64})?$/i.test(digest ?? "");
    if (!isDigest || digest === "") {
      throw new OptionError("digest must be the plan's published digest, 64 hexadecimal digits", "bad-digest");
    }
    if (publicKey !== undefined && publicKey !== null && !/^[A-Za-z0-9+/]{43}=$/.test(String(publicKey).trim())) {
      throw new OptionError("publicKey must be the one line of base64 that `ldp-survey keygen` prints");
    }
    this.maxEpsilon = parseLimit(maxEpsilon, "maxEpsilon");
    /** @type {Fraction | undefined} */
    this.maxTotalEpsilon = (maxTotalEpsilon ?? undefined) === undefined
      ? undefined
      : parseLimit(maxTotalEpsilon, "maxTotalEpsilon");
    this.digest = (digest ?? "").toLowerCase();
    this.publicKey = (publicKey ?? "").trim();
  }

  /**
   * Throw PlanError or BudgetError unless the policy accepts a plan; does not check the signature.
   *
   * @param {string} digest
   * @param {string} epsilon
   */
  check(digest, epsilon) {
    if (this.digest && this.digest !== digest) {
      throw new PlanError(`the plan has digest ${digest}, but the application accepts only ${this.digest}`);
    }
    if (isGreater(parseEpsilon(epsilon), this.maxEpsilon)) {
      throw new BudgetError(`the plan's epsilon is ${epsilon}, which is more than the client allows`);
    }
  }

  /**
   * Throw PlanError or BudgetError if the policy no longer accepts the plan of a queued report.
   *
   * @param {JournalEntry} entry
   */
  checkQueuedReport(entry) {
    this.check(entry.digest, entry.epsilon);
    if (this.publicKey && this.publicKey !== entry.signer) {
      throw new PlanError("the waiting report's plan does not have the signature that this client requires");
    }
  }

  /**
   * Return whether the policy, which may have become stricter, still accepts a queued report.
   *
   * @param {JournalEntry} entry
   */
  accepts(entry) {
    try {
      this.checkQueuedReport(entry);
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

/**
 * @param {unknown} epsilon
 * @param {string} name
 */
function parseLimit(epsilon, name) {
  const isLimit = typeof epsilon === "number" && epsilon > 0 && isDecimal(String(epsilon));
  if (!isLimit) throw new BudgetError(`${name} must be a number above 0`, "bad-option");
  return parseEpsilon(String(epsilon));
}
