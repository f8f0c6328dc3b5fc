/** Checks that the person has consented to a survey, and to the plan to be used. */

import { ConsentError, PlanError } from "../errors.js";

/**
 * Throw ConsentError unless the person has agreed.
 *
 * @param {unknown} isAgreed
 * @param {string} [failure] why the last call of `grant` failed
 * @returns {asserts isAgreed}
 */
export function requireConsent(isAgreed, failure) {
  if (isAgreed) return;
  throw new ConsentError(failure || "no consent at this URL: call grant()", "no-consent");
}

/**
 * Throw PlanError unless a plan is the only one that is accepted: by the journal, or by the application.
 *
 * @param {string} digest of the plan
 * @param {string | undefined} accepted without one, any plan is accepted
 */
export function requireDigest(digest, accepted) {
  if (accepted && accepted !== digest) {
    const why = `the plan has digest ${digest}, not ${accepted}: a changed survey needs a new id`;
    throw new PlanError(why, "plan-changed");
  }
}
