/** The receipt of a call: the state of a survey in this journal, and the reason; errors become receipts too. */

import { ClosedError, ConsentError, ExpiredError, JournalError, TransportError } from "./errors.js";
import { LdpError, RowError, TokenError } from "../errors.js";

/**
 * The states of docs/embedding.md.
 *
 * @typedef {"no_consent" | "ready" | "waiting" | "not_asked" | "missed" | "queued" | "sent" | "duplicate" | "rejected"
 *   | "expired" | "withdrawn" | "already_reported" | "invalid" | "unavailable"} State
 */

/** @typedef {import("../errors.js").Reason} Reason */

/**
 * @typedef {object} ReceiptFields
 * @property {number} [epsilon]
 * @property {Reason | ""} [reason]
 * @property {string} [field]
 * @property {string} [why]
 * @property {readonly string[]} [clipped]
 * @property {readonly import("../errors.js").RowProblem[]} [problems]
 * @property {number} [opens]
 * @property {number} [closes]
 */

/**
 * The result of a call of a client; it contains no value of the row.
 *
 * `field`, `why`, `problems` and `clipped` name the entries that did not fit: for the person, not for a log.
 */
export class Receipt {
  /** The epsilon that this call spent: 0 unless it queued a report. */
  epsilon = 0;
  /** A stable word for why a report was rejected or still waits, or what is unavailable. @type {Reason | ""} */
  reason = "";
  /** The feature or label that was invalid, or "token"; of several, the first. */
  field = "";
  /** The cause as a sentence for people. */
  why = "";
  /** Names of the numbers that were beyond the survey's bounds. @type {readonly string[]} */
  clipped = [];
  /** Every entry that was invalid. @type {readonly import("../errors.js").RowProblem[]} */
  problems = [];
  /** When the person's wave opens and closes, in seconds since 1970, if it is not open. @type {number | undefined} */
  opens;
  /** @type {number | undefined} */
  closes;

  /**
   * @param {State} state
   * @param {string} survey
   * @param {ReceiptFields} [fields]
   */
  constructor(state, survey, fields) {
    this.state = state;
    /** The survey's id; the id of an earlier round, if that round was answered. */
    this.survey = survey;
    Object.freeze(Object.assign(this, fields));
  }

  /** Return the state and the cause in one line. */
  toString() {
    const causes = this.problems.length ? this.problems : [{ field: this.field || this.reason, why: this.why }];
    const cause = this.clipped.length
      ? `clipped: ${this.clipped.join(", ")}`
      : causes.map(({ field, why }) => [field, why].filter(Boolean).join(": ")).join("; ");
    return cause ? `${this.state} (${cause})` : this.state;
  }
}

/** Any other error of this package, for example PlanError, means "rejected". @type {[unknown, State][]} */
const STATES = [
  [RowError, "invalid"],
  [TokenError, "invalid"],
  [ClosedError, "unavailable"],
  [JournalError, "unavailable"],
  [LdpError, "unavailable"],
  [TransportError, "unavailable"],
  [ConsentError, "no_consent"],
  [ExpiredError, "expired"],
];

/**
 * Return the receipt of a call that threw an error.
 *
 * @param {unknown} error
 * @param {string} survey
 */
export function receiptOfError(error, survey) {
  if (!(error instanceof LdpError)) {
    // the error is not this package's, so its text may contain anything, also values of the row
    const why = `an unexpected ${typeName(error)}; a strict client throws it`;
    return new Receipt("unavailable", survey, { reason: "internal-error", why });
  }
  const state = new Map(STATES).get(error.constructor) ?? "rejected";
  const { field, message, reason, why } = error;
  if (state !== "invalid") return new Receipt(state, survey, { reason, why: message });
  const { problems = [{ field, why }] } = /** @type {Partial<RowError>} */ (error);
  return new Receipt(state, survey, { reason, field, why, problems });
}

/**
 * Return the name of an error's class.
 *
 * @param {unknown} error
 */
export function typeName(error) {
  return error instanceof Error ? String(error.constructor?.name) : typeof error;
}
