/**
 * Checks a plan in which each person answers all questions, in one envelope; it is loaded for such plans alone.
 * `encoders/survey/plan_checks.py` and `encoders/mechanisms/direct.py` of the Python package have the same rules.
 */

import { greatest, isGreater, nearestDouble } from "../arithmetic.js";
import { parseDecimal } from "../decimals.js";
import { expLowerBound } from "../epsilon_proof.js";
import { PrivacyError, requireValid } from "../errors.js";
import { cellSizes, WORD } from "../probability_tables.js";
import { composedDelta } from "../relay/composition.js";
import { honestReports, requirePromise } from "../relay/plan_entry.js";
import { columnLengths, envelopeBytes } from "../relay/sealing.js";

/** @typedef {import("../arithmetic.js").Fraction} Fraction */
/** @typedef {import("./plan.js").Plan} Plan */
/** @typedef {import("./questions.js").Question} Question */

/** The most questions that a person answers at once. */
const MAX_COLUMNS = 256;
/** The largest epsilon of one of several answers. @type {Fraction} */
const MAX_EACH = [4n, 1n];
/** Browsers send at most 64 KiB while a page ends. */
const MAX_ENVELOPE_BYTES = 60_000;
const CODE_BYTES = 16;
/** More than the rounding of a fraction to a double. */
const ROUNDING = 1 + 1e-12;

/**
 * Throw SurveyError unless a person can answer all questions, or PrivacyError if they spend more than the plan says.
 *
 * @param {Plan} plan whose entry `checkEntry` has checked
 */
export function checkAllAnswers(plan) {
  const { epsilon, questions } = plan;
  const relay = /** @type {import("../relay/plan_entry.js").RelayEntry} */ (plan.relay);
  requireValid(
    2 <= questions.length && questions.length <= MAX_COLUMNS &&
      questions.every(({ weight }) => weight === 1) &&
      envelopeBytes(columnLengths(plan)) + CODE_BYTES <= MAX_ENVELOPE_BYTES,
  );
  const ratios = questions.map(({ mechanism }) => mechanism.ratio);
  const product = ratios.reduce(multiply);
  if (isGreater(greatest(ratios), expLowerBound(MAX_EACH)) ||
    isGreater(product, expLowerBound(parseDecimal(epsilon)))) {
    throw new PrivacyError("spends more than epsilon: fetch it again");
  }
  requirePromise(relay, composedDelta(questions.map(boundMessage), honestReports(relay), Number(relay.epsilon)));
}

/**
 * Return what `composedDelta` needs to know of the message of a question.
 *
 * Direct encoding is bounded by two values, or by the exact cells of more: any two probabilities of one output add up
 * to at most p + 1 times the least one. Any other mechanism is bounded by its ratio.
 *
 * @param {Pick<Question, "domain" | "mechanism" | "mechanismName" | "tables">} question
 * @returns {import("../relay/composition.js").Message}
 */
export function boundMessage({ domain, mechanism, mechanismName, tables }) {
  if (mechanismName !== "DE" || domain === 2) {
    return { ratio: roundUp(mechanism.ratio), move: 1, isYesNo: mechanismName === "DE" };
  }
  const values = Number(domain);
  const keep = BigInt(/** @type {string} */ (tables.keep));
  // the probabilities of an output, in units of 2^-128
  const [small, large] = cellSizes(values - 1).map((cell) => (WORD - keep) * cell);
  const kept = keep * WORD;
  const least = min(kept, small);
  const p = large + max(kept, large) - least; // in units of `least`
  const totalVariation = max(kept - small, large - kept) + BigInt(values - 2) * (large - small);
  const move = roundUp([totalVariation * (p + least), WORD * WORD * (p - least)]);
  return { ratio: roundUp([p, least]), move: Math.min(1, move), isYesNo: false };
}

/** @param {Fraction} fraction */
function roundUp(fraction) {
  return nearestDouble(...fraction) * ROUNDING;
}

/**
 * @param {Fraction} one
 * @param {Fraction} other
 * @returns {Fraction}
 */
function multiply(one, other) {
  return [one[0] * other[0], one[1] * other[1]];
}

/**
 * @param {bigint} one
 * @param {bigint} other
 */
function max(one, other) {
  return one > other ? one : other;
}

/**
 * @param {bigint} one
 * @param {bigint} other
 */
function min(one, other) {
  return one < other ? one : other;
}
