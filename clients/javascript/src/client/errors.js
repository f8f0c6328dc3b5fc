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
export class BudgetError extends LdpError {
  /** @param {string} why @param {string} [reason] */
  constructor(why, reason = "epsilon-above-cap") {
    super(why, reason);
  }
}

/** The client was closed; nothing was drawn. */
export class ClosedError extends LdpError {
  constructor() {
    super("this client was closed", "client-closed");
  }
}

/** The person has not agreed, or their browser forbids reports; nothing was drawn. */
export class ConsentError extends LdpError {
  /** @param {string} why @param {string} [reason] */
  constructor(why, reason = "no-consent") {
    super(why, reason);
  }
}

/** The collector has closed the survey; nothing was drawn. */
export class ExpiredError extends LdpError {
  constructor() {
    super("the collector has closed the survey", "survey-closed");
  }
}

/** The journal cannot be read or written; no report was recorded, so nothing was spent. */
export class JournalError extends LdpError {
  /** @param {string} why @param {string} [reason] */
  constructor(why, reason = "journal-unavailable") {
    super(why, reason);
  }
}

/** An option of a client cannot be used: a mistake of the application. */
export class OptionError extends LdpError {
  /** @param {string} why @param {string} [reason] */
  constructor(why, reason = "bad-option") {
    super(why, reason);
  }
}

/** The plan is not the one that this journal or the application is bound to; nothing was drawn. */
export class PlanError extends LdpError {
  /** @param {string} why */
  constructor(why) {
    super(why, "plan-changed");
  }
}

/** The plan was not signed with the expected key; nothing was drawn. */
export class SignatureError extends LdpError {
  /** @param {string} why */
  constructor(why) {
    super(why, "bad-signature");
  }
}

/** The collector cannot be reached, or does not send the survey's plan. */
export class TransportError extends LdpError {
  /** @param {string} why @param {string} [reason] */
  constructor(why, reason = "collector-unreachable") {
    super(why, reason);
  }
}
