/**
 * A validation round: devices report whether a model predicts their label, with all and the top t features.
 *
 * The model is Naive Bayes in whole numbers: each value has a score for each label, the score of a label is
 * the sum over a row's values, and the label with the highest score is predicted.
 */

import { requireValid } from "../errors.js";
import { GRID } from "../mechanisms/numeric_base.js";
import { checkKeyCount } from "../mechanisms/parameters.js";
import { dumpCanonicalJson } from "./canonical.js";
import { increase } from "../decimals.js";
import { areDistinct } from "./features.js";
import { readRowSchema } from "./row_schema.js";

/** @typedef {import("./features.js").Feature} Feature */
/** @typedef {import("./row_schema.js").CodedRow} CodedRow */
/** @typedef {import("./row_schema.js").RowSchema} RowSchema */

/**
 * @typedef {object} Validation
 * @property {RowSchema} schema codes rows
 * @property {(coded: CodedRow) => CodedRow} validate returns the codes of the outcomes, from those of a row
 */

const LOWEST_SCORE = -1_000_000;
/** Number of equal parts of a number's range, each with its scores. */
const PARTS = 64;

/**
 * Read the model of a plan, and check that the plan's label and features are its outcomes.
 *
 * @param {any} plan the plan's document
 * @returns {Validation}
 */
export function readValidation(plan) {
  const { validation } = plan;
  const schema = readRowSchema(validation);
  checkKeyCount(validation, schema.inputs.length ? 7 : 6);
  const { order, prior, scores, tops } = validation;
  const { features, label } = schema;
  requireValid(
    label.name &&
      areIntegers(order, 0, features.length - 1) &&
      order.length >= 2 &&
      areDistinct(order) &&
      areIntegers(tops, 1, order.length - 1) &&
      tops.length &&
      increase(tops) &&
      areScores(prior, label.size) &&
      Array.isArray(scores) &&
      scores.length === features.length &&
      features.every((feature, index) => isScoreTable(scores[index], feature, label.size)),
  );
  const values = ["wrong", "right"];
  const outcomes = {
    features: tops.map((/** @type {number} */ top) => {
      return { kind: "categorical", missing: "error", name: `top ${top}`, values };
    }),
    label: { name: `all ${order.length}`, values },
  };
  requireValid(dumpCanonicalJson(outcomes) === dumpCanonicalJson({ features: plan.features, label: plan.label }));
  return {
    schema,
    validate({ codes, labelCode }) {
      const sums = [...prior];
      const right = order.map((/** @type {number} */ place) => {
        const row = scores[place][scoreRow(features[place], codes[place])];
        row.forEach((/** @type {number} */ score, /** @type {number} */ index) => (sums[index] += score));
        return Number(sums.indexOf(Math.max(...sums)) === labelCode);
      });
      return {
        codes: tops.map((/** @type {number} */ top) => right[top - 1]),
        labelCode: right.at(-1),
      };
    },
  };
}

/**
 * Return whether a value is a list of whole numbers from `low` to `high`.
 *
 * @param {unknown} list
 * @param {number} low
 * @param {number} high
 */
function areIntegers(list, low, high) {
  return Array.isArray(list) && list.every((each) => Number.isInteger(each) && low <= each && each <= high);
}

/**
 * @param {unknown} table
 * @param {Feature} feature
 * @param {number} labels
 */
function isScoreTable(table, feature, labels) {
  // a number has a row for each part, and one more if it may be missing
  const rows = feature.kind === "numeric" ? PARTS + feature.size - (2 * GRID + 1) : feature.size;
  return Array.isArray(table) && table.length === rows && table.every((row) => areScores(row, labels));
}

/**
 * @param {any} scores
 * @param {number} labels
 */
function areScores(scores, labels) {
  return areIntegers(scores, LOWEST_SCORE, 0) && scores.length === labels;
}

/**
 * @param {Feature} feature
 * @param {number} code
 */
function scoreRow(feature, code) {
  return feature.kind === "numeric" ? Math.floor(code * PARTS / (2 * GRID + 1)) : code;
}
