/** Writes questions and answers in words. */

import { GRID } from "../mechanisms/numeric_base.js";
import { MISSING_TEXT } from "../survey/parse_value.js";

/** @typedef {import("../survey/features.js").Feature} Feature */
/** @typedef {import("../survey/plan.js").Plan} Plan */
/** @typedef {import("../survey/questions.js").Question} Question */

const SQUARE = 2;

/**
 * Return the name of a question: its features, or the label.
 *
 * @param {Plan} plan
 * @param {Question} question
 */
export function questionName(plan, { features, moment }) {
  const about = features.map((place) => plan.schema.features[place].name).join(", ") || plan.schema.label.name;
  return about + ["", " (mean)", " (square)"][moment];
}

/**
 * Return an answer in words, as pairs of a name and a text.
 *
 * @param {Plan} plan
 * @param {Question} question
 * @param {readonly number[]} value an input of the question's mechanism
 * @returns {[name: string, text: string][]}
 */
export function meaning(plan, question, value) {
  const { label, features } = plan.schema;
  const asked = question.features.map((place) => features[place]);
  let codes = value.map((each) => Math.floor(each / label.size));
  if (asked.length > 1 && value.length === 1) codes = splitCode(codes[0], asked);
  const texts = asked.map((feature, index) => codeText(feature, codes[index], question.moment));
  texts.push(label.values[value[0] % label.size]);
  return [...asked, label].map(({ name }, index) => [name, texts[index]]);
}

/**
 * Return the codes of several features in their joint code.
 *
 * @param {number} code
 * @param {readonly Feature[]} features
 */
function splitCode(code, features) {
  const codes = [];
  for (const { size } of [...features].reverse()) {
    codes.unshift(code % size);
    code = Math.floor(code / size);
  }
  return codes;
}

/**
 * @param {Feature} feature
 * @param {number} code
 * @param {number} moment
 */
function codeText({ kind, missing, size, values }, code, moment) {
  if (missing === "category" && code === size - 1) return MISSING_TEXT;
  if (kind === "binned") return binText(values, code);
  if (kind !== "numeric") return values[code];
  const x = (code - GRID) / GRID;
  if (moment === SQUARE) return `${formatNumber(x, 4)} (squared distance)`;
  const [low, high] = values.map(Number);
  return formatNumber(low + (x + 1) * ((high - low) / 2));
}

/**
 * @param {readonly string[]} edges
 * @param {number} code
 */
function binText(edges, code) {
  const last = edges.length - 2;
  if (last && code === 0) return `below ${edges[1]}`;
  return last && code === last ? `${edges[last]} and more` : `${edges[code]} to ${edges[code + 1]}`;
}

/**
 * Return a number as text with a few significant digits, with an exponent below 0.0001.
 *
 * @param {number} number
 * @param {number} [digits]
 */
function formatNumber(number, digits = 6) {
  const rounded = Number(number.toPrecision(digits));
  if (!rounded || Math.abs(rounded) >= 1e-4) return String(rounded);
  return rounded.toExponential().replace(/-(\d)$/, "-0$1");
}
