/**
 * The questions of a survey: about the label alone, or about features coupled with the label.
 *
 * Each person answers exactly one question, which is drawn by public weights without looking at their row.
 */

import { PrivacyError, requireValid } from "../errors.js";
import { isRealisedEpsilon } from "../epsilon_proof.js";
import { isGreater } from "../arithmetic.js";
import { GRID } from "../mechanisms/numeric_base.js";
import { checkKeyCount } from "../mechanisms/parameters.js";
import { buildMechanism, LAPLACE } from "../mechanisms/registry.js";
import { MAX_PAYLOAD_BYTES } from "../report.js";
import { dumpCanonicalJson } from "./canonical.js";
import { increase } from "../decimals.js";
import { areDistinct } from "./features.js";

/** @typedef {import("../arithmetic.js").Fraction} Fraction */
/** @typedef {import("../mechanisms/base.js").Mechanism} Mechanism */
/** @typedef {import("../mechanisms/base.js").Tables} Tables */
/** @typedef {import("../mechanisms/numeric_base.js").NumericDomain} NumericDomain */
/** @typedef {import("./row_schema.js").CodedRow} CodedRow */
/** @typedef {import("./row_schema.js").RowSchema} RowSchema */

/**
 * @typedef {object} Question
 * @property {readonly number[]} features indices of the features in the plan; none for the label question
 * @property {number} weight
 * @property {readonly number[]} sizes number of codes of each feature; of intervals, if the width is above 1
 * @property {number} labels number of classes that the answers contain: 1 if the label is not asked for
 * @property {number} width number of adjacent values of an ordered feature that are one answer
 * @property {number} moment 1 for a number, 2 for its square, 3 for both in one, 0 for others
 * @property {string} mechanismName
 * @property {number | NumericDomain} domain number of values, or what a mechanism for numbers takes
 * @property {Tables} tables the integers of the mechanism
 * @property {Mechanism} mechanism
 * @property {(coded: CodedRow) => number[]} trueAnswer returns the true answer of a coded row as an input of the
 *   mechanism: the label's code c for the label alone, a k + c for a feature's code a, and (a B + b) k + c for two
 *   features, the second with B values. k is 1, and c is 0, without the label. For several numbers, each has an entry.
 */

const MAX_WEIGHT = 12_000_000;
const MEAN = 1;
const SQUARE = 2;
const BOTH = MEAN | SQUARE;

/**
 * Read the questions of a plan, and prove that each spends at most epsilon.
 *
 * @param {any} plan the plan's document, whose tables have been checked
 * @param {RowSchema} schema
 * @param {Fraction} limit lower bound of e^epsilon
 */
export function readQuestions(plan, schema, limit) {
  const made = new Map();
  /** @type {import("../mechanisms/base.js").Share} */
  const share = (key, make) => {
    const result = made.get(key) ?? make();
    made.set(key, result);
    return result;
  };
  /** @type {Question[]} */
  const questions = plan.questions.map((/** @type {any} */ entry) =>
    readQuestion(entry, plan.tables, schema, limit, share),
  );
  // the order is: the label, by the first feature, all numbers at once
  const order = questions.map(({ features, mechanismName, moment }) => {
    const place = mechanismName === LAPLACE ? schema.features.length : features[0] ?? -1;
    return 4 * place + moment;
  });
  const [means, squares] = [MEAN, SQUARE].map((moment) =>
    questions.filter((each) => each.moment & moment).map(({ features }) => features),
  );
  requireValid(
    questions[0] &&
      !order.some((each, index) => order[index - 1] > each) &&
      areDistinct(questions.map(({ features, moment, width }) => [features, moment, width])) &&
      areDistinct(means.flat()) &&
      dumpCanonicalJson(means) === dumpCanonicalJson(squares),
  );
  return questions;
}

/**
 * @param {any} entry
 * @param {any} tables
 * @param {RowSchema} schema
 * @param {Fraction} limit
 * @param {import("../mechanisms/base.js").Share} share
 * @returns {Question}
 */
function readQuestion(entry, tables, schema, limit, share) {
  const { epsilon, mechanism: name, moment = 0, ratio, weight, width = 1 } = entry;
  const numeric = moment > 0;
  checkKeyCount(entry, width > 1 ? 8 : 7);
  const isVector = name === LAPLACE;
  const features = readIndices(entry.feature, isVector);
  const asked = features.map((each) => schema.features[each]);
  requireValid(
    [0, MEAN, SQUARE, BOTH].includes(moment) &&
      (name === "piecewise" || moment < BOTH) &&
      (asked.length || !numeric) &&
      asked.every((feature) => (feature.kind === "numeric") === numeric) &&
      Number.isInteger(weight) &&
      0 < weight &&
      weight <= MAX_WEIGHT * (isVector ? features.length : 1),
  );
  const [{ count, ordered }] = [...asked, schema.label];
  const shift = (width - (count % width)) % width;
  const sizes = asked.map(({ size }) => Math.floor((size - 1 + shift) / width) + 1);
  const cells = sizes.reduce((product, size) => product * size, 1);
  const labels = width > 1 || entry.domain === cells ? 1 : schema.label.size;
  const domain = numeric
    ? { labels, missing: asked.map(({ missing }) => missing === "category"), square: moment === SQUARE }
    : cells * labels;
  requireValid(width === 1 || (!asked[1] && ordered && Number.isInteger(width) && width < count));
  requireValid(numeric || entry.domain === domain);
  const mechanism = share(dumpCanonicalJson([name, domain, entry.tables, epsilon, ratio]), () =>
    prove(buildMechanism(name, domain, tables[entry.tables], share), entry, limit),
  );
  return {
    features, sizes, labels, width, weight, moment, mechanismName: name, domain, mechanism,
    tables: tables[entry.tables],
    trueAnswer({ codes, labelCode }) {
      const found = features.map((place) =>
        moment === SQUARE ? squareCode(codes[place]) : Math.floor((codes[place] + shift) / width),
      );
      const joint = isVector ? found : [found.reduce((sum, code, axis) => sum * sizes[axis] + code, 0)];
      return joint.map((code) => code * labels + (labelCode % labels));
    },
  };
}

/**
 * Check that a question states the ratio of its mechanism, and prove that the ratio is at most e^epsilon. Return the
 * mechanism.
 *
 * @param {Mechanism} mechanism
 * @param {any} entry
 * @param {Fraction} limit
 */
function prove(mechanism, entry, limit) {
  const { ratio } = mechanism;
  requireValid(
    dumpCanonicalJson(entry.ratio) === dumpCanonicalJson(ratio.map(String)) &&
      isRealisedEpsilon(ratio, entry.epsilon) &&
      mechanism.payloadBytes <= MAX_PAYLOAD_BYTES,
  );
  if (isGreater(ratio, limit)) throw new PrivacyError("spends more than epsilon: fetch it again");
  return mechanism;
}

/**
 * Return the indices of the features of a question: of null none, of a number one.
 *
 * @param {unknown} entry
 * @param {boolean} listed whether also one feature is in a list
 * @returns {number[]}
 */
function readIndices(entry, listed) {
  const indices = entry === null ? [] : /** @type {any[]} */ ([entry].flat());
  requireValid(
    indices.every(Number.isInteger) && increase(indices) && Array.isArray(entry) === (listed || indices.length > 1),
  );
  return indices;
}

/**
 * Return the code of a number's square; a missing number's square is missing.
 *
 * @param {number} code
 */
export function squareCode(code) {
  const steps = code - GRID;
  return Math.floor((steps * steps + GRID / 2) / GRID) + GRID - Number(code > 2 * GRID);
}
