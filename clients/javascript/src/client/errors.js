/**
 * The errors of the client, besides those of the core in `errors.js`.
 *
 *     LdpError          .reason, .field, .why
 *       BudgetError, ClosedError, ConsentError, ExpiredError, JournalError, OptionError, PlanError,
 *       SignatureError, TransportError
 *
 * The reasons are the words of docs/embedding.md. An error never contains a value of a row.
 */

import { LdpError } from "../errors.js";

/** The plan spends more epsilon than this client allows; nothing was drawn. */
export class BudgetError extends LdpError {}

/** The client was closed; nothing was drawn. */
export class ClosedError extends LdpError {}

/** The person has not agreed, or their browser forbids reports; nothing was drawn. */
export class ConsentError extends LdpError {}

/** The collector has closed the survey; nothing was drawn. */
export class ExpiredError extends LdpError {}

/** The journal cannot be read or written; no report was recorded, so nothing was spent. */
export class JournalError extends LdpError {}

/** An option of a client cannot be used: a mistake of the application. */
export class OptionError extends LdpError {}

/** The plan is not the one that this journal or the application is bound to; nothing was drawn. */
export class PlanError extends LdpError {}

/** The plan was not signed with the expected key; nothing was drawn. */
export class SignatureError extends LdpError {}

/** The collector cannot be reached, or does not send the survey's plan. */
export class TransportError extends LdpError {}

/**
 * Throw OptionError unless an option can be used.
 *
 * @param {unknown} condition
 * @param {string} why
 * @param {import("../errors.js").Reason} reason
 * @returns {asserts condition}
 */
export function requireOption(condition, why, reason = "bad-option") {
  if (!condition) throw new OptionError(why, reason);
}
