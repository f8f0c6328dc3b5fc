/** The device's protocol, from a row to the bytes of one report. */

import { LdpError } from "../errors.js";
import { countUpTo } from "../probability_tables.js";
import { readWord } from "../bytes.js";
import { systemRandom, takeBytes } from "../randomness.js";
import { packReport } from "../report.js";
import { readInvitation } from "./invitation.js";

/** @typedef {import("../randomness.js").RandomSource} RandomSource */
/** @typedef {import("./plan.js").Plan} Plan */
/** @typedef {import("./questions.js").Question} Question */

/**
 * @typedef {object} ReportOptions
 * @property {RandomSource} [random] source of random bytes; by default the system's generator
 * @property {string | null} [token] the invitation, for a survey by invitation
 */

/**
 * One randomised answer. Only `report` leaves the device.
 *
 * @typedef {object} RandomisedReport
 * @property {Question} question the one question that is answered
 * @property {readonly number[]} truth the true answer, as an input of the question's mechanism
 * @property {Uint8Array} payload the randomised answer alone
 * @property {Uint8Array} report the whole report
 */

/**
 * Draw a question, randomise the row's answer to it, and return the bytes of one report.
 *
 * Throws RowError if the row or label does not fit the survey, TokenError if the token does not; both before
 * anything is drawn.
 *
 * @param {Plan} plan from `readPlan`
 * @param {Readonly<Record<string, unknown>>} row every entry of the survey by name: null for a missing value, a list of
 *   the ticked choices for an entry with several answers
 * @param {unknown} [label] undefined for a survey without a label
 * @param {ReportOptions} [options]
 * @returns {Uint8Array}
 */
export function makeReport(plan, row, label, options = {}) {
  return randomise(plan, row, label, options).report;
}

/**
 * Make one report; see `makeReport`.
 *
 * @param {Plan} plan
 * @param {Readonly<Record<string, unknown>>} row
 * @param {unknown} label
 * @param {ReportOptions} options
 * @param {number} [asked] index of a question to answer instead of a drawn one. Never send such a report: the
 *   choice of the question may depend on the row.
 * @returns {RandomisedReport}
 */
export function randomise(plan, row, label, { random = systemRandom, token }, asked) {
  if (!(plan.first >= 0)) throw new LdpError("take plans from readPlan or inWave", "invalid-plan");
  // 1. code and check every value of the row, also for other questions
  const coded = plan.encode(row, label);
  return randomiseCoded(plan, coded, random, asked === undefined ? readInvitation(plan, token) : { index: asked });
}

/**
 * Make one report of a row that is coded already. It uses integers only, and hashes nothing.
 *
 * @param {Plan} plan
 * @param {import("./row_schema.js").CodedRow} coded
 * @param {RandomSource} random
 * @param {{ index?: number, id?: Uint8Array }} [chosen] from `readInvitation`, or a question to answer
 * @returns {RandomisedReport}
 */
export function randomiseCoded(plan, coded, random, chosen = {}) {
  // 2. draw the question and the report's id, by public weights and without looking at the row
  const { index = drawQuestion(plan, random), id = takeBytes(random, 16) } = chosen;
  const question = plan.questions[index];
  // 3. the true answer: the question's features, with the label unless the question is about values alone
  const truth = question.trueAnswer(coded);
  // 4. randomise it under epsilon-local differential privacy: the last line that reads the true answer
  const payload = question.mechanism.perturb(truth, takeBytes(random, question.mechanism.randomBytes));
  // 5. pack the report
  return { question, truth, payload, report: packReport(plan.digestBytes, plan.first + index, id, payload) };
}

/**
 * Draw the index of a question by the public weights.
 *
 * @param {Plan} plan
 * @param {RandomSource} random
 */
export function drawQuestion(plan, random) {
  return countUpTo(plan.limits, readWord(takeBytes(random, 8), 0));
}
