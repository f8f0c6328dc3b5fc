/** Checks that the person has consented to a survey, and to the plan to be used. */

import { ConsentError, PlanError } from "../errors.js";

/** @typedef {import("../../survey/plan.js").Plan} Plan */
/** @typedef {import("./table.js").JournalEntry} JournalEntry */

/**
 * Throw ConsentError unless the person has agreed.
 *
 * @param {JournalEntry | undefined} entry
 * @returns {asserts entry is JournalEntry}
 */
export function requireConsent(entry) {
  if (!entry || entry.state === "no_consent") {
    throw new ConsentError("the person has not agreed to this survey: call grant() when they agree", "no-consent");
  }
}

/**
 * Throw PlanError if a plan is not the plan of the survey that the journal is bound to.
 *
 * @param {JournalEntry | undefined} entry
 * @param {Plan} plan
 */
export function requirePinnedPlan(entry, { digest }) {
  if (entry && entry.digest !== digest) {
    const why = `the plan has digest ${digest}, but this device is bound to ${entry.digest}, which it saw first`;
    throw new PlanError(why, "plan-changed");
  }
}
