/** The entries of a journal, and the queries that find them. */

import { hasSamePublisher } from "../survey_identity.js";

/** @typedef {import("../receipt.js").State} State */
/** @typedef {import("../survey_identity.js").SurveyIdentity} SurveyIdentity */

/**
 * The entry of one survey; `survey` and `origin` are its key.
 *
 * @typedef {object} JournalEntry
 * @property {string} survey
 * @property {string} origin
 * @property {string} signer the public key with which the plan's signature was verified; empty without one
 * @property {string} family
 * @property {string} url the URL that the person agreed to
 * @property {string} digest digest of the plan that they agreed to
 * @property {string} epsilon the epsilon that was spent: "0" until there is a report
 * @property {State} state
 * @property {import("../../errors.js").Reason | ""} reason
 * @property {number} [closedAt] when the collector first said that the survey is closed
 * @property {import("../../survey/plan.js").Plan["relay"]} [relay] the plan's entry, if the report is a sealed one;
 *   with waves, as `inWave` changes it
 * @property {number} [wave] index of the person's wave, -1 for the one that is open; absent without waves
 * @property {Uint8Array} [plan] stored until the report is delivered or deleted
 * @property {Uint8Array} [report] stored until it is delivered or deleted. A sealed report that the relay may
 *   have is stored until the relay confirms a withdrawal: it deletes only the bytes that it is given.
 */

/**
 * Return whether the one report of a survey was made.
 *
 * @param {JournalEntry | undefined} entry
 * @returns {entry is JournalEntry & { state: Exclude<State, "ready" | "no_consent"> }}
 */
export function isAnswered(entry) {
  return ![undefined, "ready", "no_consent"].includes(entry?.state);
}

/**
 * @param {JournalEntry | undefined} entry
 * @returns {entry is JournalEntry & { report: Uint8Array }}
 */
export function isQueued(entry) {
  return entry?.state === "queued";
}

/**
 * Return an entry whose report has an outcome, without the report unless a relay may have it.
 *
 * @param {JournalEntry} entry
 * @param {State} state
 * @param {JournalEntry["reason"]} reason
 * @returns {JournalEntry}
 */
export function ended({ plan: _plan, report, closedAt: _closedAt, ...entry }, state, reason = "") {
  return { ...entry, state, reason, ...(entry.relay && /sent|withdrawn/.test(state) && { report }) };
}

/**
 * Return the entries of a survey at all origins.
 *
 * An application that no longer pins the author's key finds its entry by origin. The key in that entry leads
 * to the entries at other origins.
 *
 * @param {readonly JournalEntry[]} entries
 * @param {SurveyIdentity} identity
 */
export function surveyEntries(entries, identity) {
  const named = entries.filter(({ survey }) => survey === identity.survey);
  const known = named.filter((each) => hasSamePublisher(each, identity));
  return named.filter((each) => [identity, ...known].some((publisher) => hasSamePublisher(each, publisher)));
}

/**
 * Return a survey's entry; of several entries the answered one, otherwise the entry of this origin.
 *
 * @param {readonly JournalEntry[]} entries
 * @param {SurveyIdentity} identity
 */
export function findEntry(entries, identity) {
  const found = surveyEntries(entries, identity);
  return found.find(isAnswered) ?? found.find(({ origin }) => origin === identity.origin) ?? found[0];
}

/**
 * Return the entries of a family: of the publisher of one survey, and of publishers that its entries name.
 *
 * @param {readonly JournalEntry[]} entries
 * @param {SurveyIdentity} identity
 * @param {string} family
 */
export function familyEntries(entries, identity, family) {
  const publishers = [identity, ...surveyEntries(entries, identity)];
  return entries.filter((each) => each.family === family && publishers.some((other) => hasSamePublisher(each, other)));
}

/**
 * Return the entry of the survey of a family that was answered.
 *
 * @param {readonly JournalEntry[]} entries
 * @param {SurveyIdentity} identity
 * @param {string} family
 */
export function findAnswered(entries, identity, family) {
  return familyEntries(entries, identity, family).find(isAnswered);
}
