/**
 * Explains to a person what they would send: the question, the bytes, and the likelihood of each true answer.
 *
 * A preview takes the same steps as a report, but sends and stores nothing. It contains the true answer, so
 * only the person may see it. Never send its report: another one must follow from a new draw.
 */

import { parseDecimal } from "./decimals.js";
import { expLowerBound } from "./epsilon_proof.js";
import { toHex } from "./bytes.js";
import { likelihoodOf } from "./explain/likelihood.js";
import { meaning, questionName, squareMeaning, wordingOf } from "./explain/meaning.js";
import { oddsOf, relayFacts } from "./explain/relay_facts.js";
import { SENTENCES } from "./explain/english.js";
import { LdpError } from "./errors.js";
import { GRID } from "./mechanisms/numeric_base.js";
import { LAPLACE } from "./mechanisms/registry.js";
import { systemRandom } from "./randomness.js";
import { clippedNames } from "./survey/clipped.js";
import { drawQuestion, randomise } from "./survey/randomise.js";
import { fill } from "./text_form.js";
import { inOwnWave } from "./waves.js";

/** @typedef {import("./arithmetic.js").Fraction} Fraction */
/** @typedef {import("./explain/meaning.js").Wording} Wording */
/** @typedef {import("./survey/features.js").Feature} Feature */
/** @typedef {import("./survey/plan.js").Plan} Plan */
/** @typedef {import("./survey/questions.js").Question} Question */
/** @typedef {import("./survey/plan.js").PlanInWave} PlanInWave */
/** @typedef {import("./survey/randomise.js").RandomisedReport} RandomisedReport */
/** @typedef {import("./survey/randomise.js").ReportOptions} ReportOptions */

/**
 * @typedef {object} PreviewOptions
 * @property {string} [question] name of a question to preview in place of a drawn one
 * @property {import("./survey/display_texts.js").DisplayTexts} [texts] write answers in the texts of this language
 * @property {Wording["words"]} [words] the other words of answers, by default in English
 */

/**
 * @typedef {object} PossibleAnswer
 * @property {readonly (readonly [name: string, text: string])[]} answer in words
 * @property {number} belief probability of this answer after the report, if all listed ones were equally likely
 * @property {boolean} isTruth
 */

/** Number of possible answers that are listed; of a larger domain the likeliest are listed. */
const MAX_LISTED = 16;
/** Probabilities below this one, or as close to 1, are written with more digits, up to a limit. */
const RARE = 0.001;
const MAX_DIGITS = 12;

/**
 * What a device would send of one row: one report, or one for each question. It has the properties of the first report;
 * `answers` has a preview of each. Logs and JSON of it do not contain the true answer.
 */
export class Preview {
  #plan;
  #randomised;
  #clipped;
  #wording;
  #others;

  /**
   * @param {Plan} plan
   * @param {RandomisedReport} randomised
   * @param {readonly string[]} clipped
   * @param {Wording} wording
   * @param {readonly RandomisedReport[]} [others] the further reports, if each person answers all questions
   */
  constructor(plan, randomised, clipped, wording, others = []) {
    this.#plan = plan;
    this.#randomised = randomised;
    this.#clipped = clipped;
    this.#wording = wording;
    this.#others = others;
  }

  /** A preview of each report that would be sent, in the plan's order: of one, or of all. @type {Preview[]} */
  get answers() {
    return [this.#randomised, ...this.#others].map((each) =>
      new Preview(this.#plan, each, this.#clipped, this.#wording));
  }

  /** Name of the question. */
  get question() {
    return questionName(this.#plan, this.#randomised.question);
  }

  /** Probability that a person is asked this question. */
  get questionProbability() {
    const { questions, relay } = this.#plan;
    const total = questions.reduce((sum, { weight }) => sum + weight, 0);
    return relay?.ask ? 1 : this.#randomised.question.weight / total;
  }

  /** Name of the mechanism that randomises the answer. */
  get mechanism() {
    return this.#randomised.question.mechanismName;
  }

  /** The true answer in words, as pairs of a name and a text; with texts, of a title. It stays on the device. */
  get truth() {
    return meaning(this.#plan, this.#randomised.question, this.#randomised.truth, this.#wording);
  }

  /** Names of the entries of the row that are outside their range, and are moved to the nearest end. */
  get clipped() {
    return this.#clipped;
  }

  /** The bytes that would be sent. */
  get report() {
    return this.#randomised.report;
  }

  /** The privacy budget that sending all of it would spend, as a decimal. */
  get epsilon() {
    return this.#plan.epsilon;
  }

  /** Largest factor by which what is sent changes the odds between two answers: e^epsilon. */
  get oddsBound() {
    return toDouble(expLowerBound(parseDecimal(this.#plan.epsilon)));
  }

  /**
   * Possible true answers with their probabilities after this report, the likeliest first. Of a question about
   * numbers the lowest, the middle and the highest are listed. The truth is always listed.
   *
   * @returns {PossibleAnswer[]}
   */
  get possibleAnswers() {
    const { payload, question, truth } = this.#randomised;
    const likelihood = likelihoodOf(question, payload);
    const values = sampleValues(question, truth);
    const chances = values.map((value) => toDouble(likelihood(value)));
    const total = chances.reduce((sum, each) => sum + each, 0);
    const order = values.map((_, index) => index).sort((one, other) => chances[other] - chances[one]);
    return order
      .filter((index, place) => place < MAX_LISTED || isEqual(values[index], truth))
      .map((index) => ({
        answer: meaning(this.#plan, question, values[index], this.#wording),
        belief: chances[index] / total,
        isTruth: isEqual(values[index], truth),
      }));
  }

  /** Return the explanation as lines of text. It contains the true answer, so only the person may see it. */
  toString() {
    const { byInvitation, questions, relay } = this.#plan;
    const clipped = this.clipped.map((name) => fill(SENTENCES.clipped, name));
    if (relay?.ask) {
      return [
        ...describeWave(this.#plan),
        describeAll(this.#plan),
        ...clipped,
        ...this.answers.flatMap((each) => [
          "",
          fill(SENTENCES.answered, questions.indexOf(each.#randomised.question) + 1, questions.length, each.question),
          ...each.#lines([]),
        ]),
        "",
        `${fill(SENTENCES.spendsAll, this.epsilon)}.`,
      ].join("\n");
    }
    const how = byInvitation
      ? SENTENCES.invited
      : fill(SENTENCES.drawn, percent(this.questionProbability));
    return [
      ...describeWave(this.#plan),
      fill(SENTENCES.asked, how, this.question),
      ...this.#lines(clipped),
      `${fill(SENTENCES.bound, this.epsilon, roundUp(this.oddsBound))} ${fill(SENTENCES.spends, this.epsilon)}.`,
    ].join("\n");
  }

  /** Return the lines about one report. @param {readonly string[]} clipped */
  #lines(clipped) {
    const bytes = toHex(this.report).replace(/../g, "$& ").trim();
    return [
      ...squareMeaning(this.#plan, this.#randomised.question),
      `${SENTENCES.truth} ${writeAnswer(this.truth)}.`,
      ...clipped,
      `${fill(SENTENCES.mechanism, this.mechanism)}.`,
      `${fill(SENTENCES.bytes, this.report.length)} ${bytes}`,
      ...(this.#plan.byInvitation ? [SENTENCES.invitation] : []),
      `${SENTENCES.every} ${SENTENCES.beliefs}`,
      ...this.possibleAnswers.map(
        ({ answer, belief, isTruth }) => `  ${writeAnswer(answer)}: ${percent(belief)}${isTruth ? " (the truth)" : ""}`,
      ),
    ];
  }

  /** Return what JSON may contain: neither the true answer nor the report. */
  toJSON() {
    return { question: this.question };
  }
}

/**
 * Make what a person sends of a row by the steps of a device, and send nothing.
 *
 * Throws RowError if the row does not fit the survey, TokenError if the token does not. Without a token, a
 * preview of a survey by invitation draws the question; with waves, it draws the wave too, unless the plan is in one.
 *
 * @param {PlanInWave} given
 * @param {Readonly<Record<string, unknown>>} row
 * @param {unknown} [label] undefined for a survey without a label
 * @param {ReportOptions & PreviewOptions} [options]
 * @returns {Preview}
 */
export function preview(given, row, label, { question, texts, words, ...options } = {}) {
  const asked = given.relay?.ask && question === undefined
    ? given.questions.map((_, index) => index)
    : [chooseQuestion(given, question, options)];
  const { random = systemRandom } = options;
  const token = question === undefined ? options.token : undefined;
  const plan = given.waves && !given.wave ? inOwnWave(given, undefined, token, random) : given;
  const [first, ...others] = asked.map((index) => randomise(plan, row, label, options, index));
  const isKnown = given.wave || token || given.waves?.assign === "now"; // else this wave is an example
  const shown = isKnown ? plan : given;
  return new Preview(shown, first, clippedNames(plan, row), wordingOf(plan, texts, words), others);
}

/** Return the sentence about the wave, or about all waves while it is not drawn. @param {PlanInWave} plan */
function describeWave({ wave, waves }) {
  const timeOf = (/** @type {number} */ seconds) =>
    `${new Date(1000 * seconds).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  if (!waves) return [];
  const { list } = waves;
  const times = [timeOf((wave ?? list[0]).opens), timeOf((wave ?? list[list.length - 1]).closes)];
  return [wave ? fill(SENTENCES.wave, wave.name, ...times) : fill(SENTENCES.waves, list.length, ...times)];
}

/**
 * Return the sentences about the relay for a survey in which each person answers all questions.
 *
 * @param {Plan} plan
 */
function describeAll(plan) {
  const { batch, honest, kept, odds, remainder } = relayFacts(plan);
  const [most, ...counts] = [twoDigits(odds), ...[remainder, honest, batch].map((each) => each.toLocaleString("en"))];
  const together = kept === undefined
    ? fill(SENTENCES.togetherOdds, twoDigits(oddsOf(plan.epsilon)))
    : fill(SENTENCES.together, `${kept}%`);
  return `${SENTENCES.all} ${fill(SENTENCES.relayed, most, ...counts)} ${together}`;
}

/**
 * Return the index of the question with a name. Without a name, `randomise` chooses the question; only a survey
 * by invitation needs a drawn one here, if there is no token yet.
 *
 * @param {Plan} plan
 * @param {string | undefined} name
 * @param {ReportOptions} options
 */
function chooseQuestion(plan, name, { random = systemRandom, token }) {
  if (name !== undefined) {
    const index = plan.questions.findIndex((each) => questionName(plan, each) === name);
    if (index < 0) {
      const known = plan.questions.map((each) => questionName(plan, each)).join("; ");
      throw new LdpError(`there is no question ${name}; the survey asks ${known}`, "error");
    }
    return index;
  }
  return plan.byInvitation && !token ? drawQuestion(plan, random) : undefined;
}

/**
 * Return the answers to list: all of a question about categories; of numbers the lowest, the middle, the
 * highest and the missing one in every class, and the truth.
 *
 * @param {Question} question
 * @param {readonly number[]} truth
 * @returns {(readonly number[])[]}
 */
function sampleValues({ domain, mechanismName, moment }, truth) {
  if (typeof domain === "number") return Array.from({ length: domain }, (_, value) => [value]);
  const lowest = moment === 2 ? GRID : 0;
  const codes = [lowest, (lowest + 2 * GRID) / 2, 2 * GRID];
  if (domain.missing.every(Boolean)) codes.push(2 * GRID + 1);
  const numbers = mechanismName === LAPLACE ? domain.missing.length : 1;
  const values = Array.from({ length: domain.labels }, (_, label) =>
    codes.map((code) => Array(numbers).fill(code * domain.labels + label)),
  ).flat();
  return values.some((value) => isEqual(value, truth)) ? values : [...values, truth];
}

/**
 * @param {readonly number[]} one
 * @param {readonly number[]} other
 */
function isEqual(one, other) {
  return one.every((each, index) => each === other[index]);
}

/**
 * Return a fraction as a double.
 *
 * @param {Fraction} fraction
 */
function toDouble([numerator, denominator]) {
  return Number((numerator << 128n) / denominator) / 2 ** 128;
}

/** @param {readonly (readonly [string, string])[]} answer */
function writeAnswer(answer) {
  return answer.map(([name, text]) => `${name} = ${text}`).join(", ");
}

/**
 * Write a probability as 65.8%, with enough digits to distinguish it from 0 and from 1.
 *
 * @param {number} share
 */
function percent(share) {
  const margin = Math.min(share, 1 - share);
  const digits = 0 < margin && margin < RARE ? Math.ceil(-Math.log10(margin)) - 1 : 1;
  if (digits > MAX_DIGITS) return share < RARE ? "nearly 0%" : "nearly 100%";
  const number = 100 * share;
  // toFixed rounds an exact half up; the other clients round it to an even digit, for 1.25 down
  const isDown = number * 2 ** (digits + 1) % 4 === 1;
  return `${(number - Number(isDown) * 2e-14).toFixed(digits)}%`;
}

/**
 * Write an upper bound with two digits, rounded up.
 *
 * @param {number} bound from 1
 */
function twoDigits(bound) {
  const unit = 10 ** (Math.floor(Math.log10(bound)) - 1);
  const rounded = Number((Math.ceil(bound / unit) * unit).toPrecision(2));
  return rounded < 10 ? rounded.toFixed(1) : String(rounded);
}

/**
 * Write an upper bound with four decimals, rounded up.
 *
 * @param {number} bound
 */
function roundUp(bound) {
  return (Math.ceil(bound * 1e4) / 1e4).toFixed(4);
}
