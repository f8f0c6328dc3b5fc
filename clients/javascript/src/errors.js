/**
 * The errors of this package.
 *
 *     LdpError          .reason, .field, .why
 *       SurveyError
 *         PrivacyError
 *       RowError        .problems
 *       TokenError
 *
 * An error contains names of fields and public texts of the survey. It never contains a value of a row.
 */

/**
 * Why a call was refused, or why a report waits: the words of docs/embedding.md, of collectors and relays too, and
 * words for mistakes of the application.
 *
 * @typedef {"no-consent" | "do-not-track" | "collector-unreachable" | "closed-once" | "no-answer-yet"
 *   | "client-closed" | "invalid-row" | "invalid-token" | "journal-unavailable" | "queue-full" | "internal-error"
 *   | "epsilon-above-cap" | "total-epsilon-spent" | "plan-changed" | "bad-signature" | "invalid-plan"
 *   | "no-randomness" | "malformed" | "too-large" | "unknown-question" | "bad-payload" | "id-reused"
 *   | "survey-closed" | "wrong-plan" | "not-enrolled" | "length-required" | "incomplete-body"
 *   | "unsupported-media-type" | "unknown-survey" | "no-signature" | "no-texts" | "survey-not-open"
 *   | "too-many-requests" | "too-many-reports" | "store-unavailable" | "not-authorised" | "no-such-page"
 *   | "relay-unpinned" | "relay-unsupported" | "relay-unreachable" | "other-plan" | "bad-seal" | "passed-on"
 *   | "network-full" | "not-asked" | "code-missing" | "code-unknown" | "code-used"
 *   | "rehearsal" | "insecure-context" | "bad-person" | "bad-digest" | "bad-option" | "error"} Reason
 */

/** The base of all errors that this package throws deliberately. */
export class LdpError extends Error {
  name = "LdpError"; // also if the class has another one when minified

  /**
   * @param {string} why what is wrong
   * @param {Reason} reason a stable word for the kind of the error
   * @param {string} field name of the wrong entry; empty if the error concerns no single entry
   */
  constructor(why, reason, field = "") {
    super(field ? `${field}: ${why}` : why);
    this.why = why;
    this.reason = reason;
    this.field = field;
  }
}

/** A plan that cannot be used; `ldp-survey check` of the Python package describes the mistake. */
export class SurveyError extends LdpError {
  constructor(why = "invalid or too new: fetch it again") {
    super(why, "invalid-plan", "plan");
  }
}

/** Probability tables that would spend more than the epsilon they claim. */
export class PrivacyError extends SurveyError {}

/** @typedef {{ readonly field: string, readonly why: string }} RowProblem */

/** A row or label that does not fit the survey; thrown before anything is drawn. */
export class RowError extends LdpError {
  /**
   * @param {string} field name of the feature or label
   * @param {string} why what is wrong, without the value
   * @param {readonly RowProblem[]} problems every field that does not fit, this one first
   */
  constructor(field, why, problems = [{ field, why }]) {
    super(why, "invalid-row", field);
    this.problems = problems;
  }
}

/** A token that does not belong to the survey; thrown before anything is drawn. */
export class TokenError extends LdpError {
  /** @param {string} why what is wrong, without the token */
  constructor(why) {
    super(why, "invalid-token", "token");
  }
}

/**
 * Throw SurveyError unless a condition of a plan holds; docs/wire-format.md lists the conditions.
 *
 * @param {unknown} condition
 * @returns {asserts condition}
 */
export function requireValid(condition) {
  if (!condition) throw new SurveyError();
}
