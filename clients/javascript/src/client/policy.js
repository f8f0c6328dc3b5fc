/** The limits that an application sets on behalf of its users: on epsilon, on the plan, and on the relay. */

import { isGreater } from "../arithmetic.js";
import { BudgetError, PlanError, requireOption } from "./errors.js";
import { isDecimal, parseDecimal } from "../decimals.js";
import { hasForm } from "../text_form.js";
import { requireDigest } from "./journal/consent.js";

/** @typedef {import("../arithmetic.js").Fraction} Fraction */
/** @typedef {import("../survey/plan.js").Plan} Plan */
/** @typedef {ReturnType<typeof import("./participation.js").makeParticipation>} Participation */
/** @typedef {import("./receipt.js").ReceiptFields} ReceiptFields */
/** @typedef {import("./sending/sender.js").Sender} Sender */

/**
 * The option `relay` of a client. Throws OptionError if the survey's URL is not at the relay.
 *
 * @callback ConnectToRelay
 * @param {string} url
 * @param {unknown} pin `digest`, `publicKey` or the plan's bytes, if the application gives one of them
 * @param {import("./transport.js").Send} send
 * @param {import("./journal/indexed_db.js").Store} store of the journal
 * @returns {Relay}
 */

/**
 * Draws the report to a question, or of a question that is drawn first.
 *
 * @typedef {(chosen?: { index: number }) => Uint8Array} Draw
 */

/**
 * What a client needs for a survey with a relay.
 *
 * @typedef {object} Relay
 * @property {(entry: import("./journal/table.js").JournalEntry) => string} explain explains an outcome, if it must be
 * @property {(answer: { content: any, status: number }) => object} interpret returns what reasons of a relay change
 * @property {(plan: Plan) => void} checkEntry throws SurveyError or PrivacyError unless the plan's entry can be used
 * @property {(plan: { epsilon: string, relay?: Plan["relay"] }) => void} check throws PlanError or BudgetError for a
 *   plan, or a journal's entry, of another relay or with a greater local epsilon
 * @property {(plan: Plan) => Promise<void>} prepare throws unless a plan keeps its promise and its reports can be
 *   sealed
 * @property {(plan: Plan, token?: string | null) => undefined} readToken throws TokenError if a code cannot be used
 * @property {(plan: Plan, draw: Draw, token?: string | null) => Promise<Uint8Array>} seal draws all reports at once,
 *   and returns the message that contains them
 * @property {(participation: Participation, sender: Sender) => Promise<ReceiptFields | undefined>} withdraw withdraws
 *   as a client does, and asks the relay to delete the report; returns what the relay answered, or undefined if it has
 *   no report
 */

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
   * @param {Relay} [relay]
   */
  constructor({ maxEpsilon = MAX_EPSILON, maxTotalEpsilon, digest, publicKey }, relay) {
    requireOption(
      !isGiven(digest) || hasForm(digest, /^[0-9a-f]{64}$/i),
      "digest must be 64 hex digits",
      "bad-digest",
    );
    requireOption(
      !isGiven(publicKey) || hasForm(publicKey, /^\s*[A-Za-z0-9+/]{43}=\s*$/),
      "publicKey must be from `ldp-survey keygen`",
    );
    this.relay = relay;
    this.digest = digest?.toLowerCase();
    /** Empty if no signature is required. */
    this.publicKey = publicKey?.trim() ?? "";
    this.maxEpsilon = readLimit(maxEpsilon);
    this.maxTotalEpsilon = isGiven(maxTotalEpsilon) ? readLimit(maxTotalEpsilon) : undefined;
  }

  /**
   * Throw PlanError or BudgetError unless the policy accepts a plan, or a journal's entry with a queued report.
   *
   * @param {{ digest: string, epsilon: string, signer?: string, relay?: Plan["relay"] }} plan whose signature was
   *   verified with `signer`
   */
  check(plan) {
    const { digest, relay, signer = this.publicKey } = plan;
    requireDigest(digest, this.digest);
    if (this.publicKey && this.publicKey !== signer) {
      throw new PlanError("the plan lacks the required signature: call grant()", "plan-changed");
    }
    this.relay?.check(plan);
    const { epsilon } = relay ?? plan; // promised towards everybody, or towards everybody but the relay
    if (isGreater(parseDecimal(epsilon), this.maxEpsilon)) {
      const why = `the plan's epsilon is ${epsilon}, above maxEpsilon`;
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
 * Return a limit of epsilon as an exact fraction.
 *
 * @param {unknown} limit
 */
export function readLimit(limit) {
  const isLimit = typeof limit === "number" && limit > 0 && isDecimal(String(limit));
  requireOption(isLimit, "epsilon must be a number above 0");
  return parseDecimal(String(limit));
}

/** @param {unknown} option */
function isGiven(option) {
  return option !== undefined && option !== null;
}
