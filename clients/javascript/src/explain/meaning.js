/** Writes questions and answers in words. */

import { GRID } from "../mechanisms/numeric_base.js";
import { MISSING_TEXT } from "../survey/parse_value.js";
import { fill } from "../text_form.js";
import { ANSWERS, SENTENCES } from "./english.js";

/** @typedef {import("../survey/features.js").Feature} Feature */
/** @typedef {import("../survey/plan.js").Plan} Plan */
/** @typedef {import("../survey/questions.js").Question} Question */

const SQUARE = 2;

/**
 * How answers are written: in the texts of a language, or with the names of the survey.
 *
 * @typedef {object} Wording
 * @property {(feature: Feature) => string} title of a feature or of the label
 * @property {(feature: Feature, value: string) => string} value
 * @property {typeof ANSWERS & { point?: string }} words with the decimal point of the language
 */

/** @type {Wording} */
const NAMES = { title: ({ name }) => name, value: (_, value) => value, words: ANSWERS };

/**
 * Return the wording of the texts of a language; what they do not contain is written as its name.
 *
 * @param {Plan} plan
 * @param {import("../survey/display_texts.js").DisplayTexts} [texts]
 * @param {Wording["words"]} [words] the words of this language
 * @returns {Wording}
 */
export function wordingOf({ rowSchema }, texts, words = ANSWERS) {
  if (!texts) return NAMES;
  const titles = new Map([[rowSchema.label.name, texts.label?.title]]);
  for (const { kind, name, values } of rowSchema.listed) {
    const entry = texts.features.get(name);
    titles.set(name, entry?.title);
    if (kind !== "choices") continue;
    for (const choice of values) titles.set(`${name}: ${choice}`, `${entry?.title}: ${entry?.values.get(choice)}`);
  }
  const answers = new Map([...texts.features, [rowSchema.label.name, texts.label]]);
  return {
    title: ({ name }) => titles.get(name) ?? name,
    value: ({ name }, value) => answers.get(name)?.values.get(value) ?? value,
    words,
  };
}

/**
 * Return the name of a question: its features, or the label.
 *
 * @param {Plan} plan
 * @param {Question} question
 */
export function questionName(plan, question) {
  const asked = askedFeatures(plan, question);
  const about = asked.map(({ name }) => name).join(", ") || plan.schema.label.name;
  const intervals = question.width > 1 ? ` (${asked[0].count} intervals)` : "";
  return about + intervals + ["", " (mean)", " (square)", ""][question.moment];
}

/**
 * Return the features of a question. Of an ordered one, the values are the intervals that the question asks for.
 *
 * @param {Plan} plan
 * @param {Question} question
 * @param {Wording} wording
 * @returns {Feature[]}
 */
function askedFeatures({ schema }, { features, sizes, width }, wording = NAMES) {
  return features.map((place, index) => {
    const feature = schema.features[place];
    if (width === 1) return feature;
    const { kind, values } = feature;
    const count = Math.ceil(feature.count / width);
    const lacking = count * width - feature.count;
    const starts = Array.from({ length: count }, (_, each) => Math.max(each * width - lacking, 0));
    const texts = starts.map((start, each) => {
      const end = (starts[each + 1] ?? values.length) - 1;
      const [first, last] = [values[start], values[end]].map((value) => wording.value(feature, value));
      return end === start ? first : fill(wording.words.between, first, last);
    });
    const edges = [...starts, values.length - 1].map((edge) => values[edge]);
    return { ...feature, count, size: sizes[index], values: kind === "binned" ? edges : texts };
  });
}

/**
 * Return an answer in words, as pairs of a title and a text; the last pair is the label's, if there is one.
 *
 * @param {Plan} plan
 * @param {Question} question
 * @param {readonly number[]} value an input of the question's mechanism
 * @param {Wording} [wording] by default names
 * @returns {[title: string, text: string][]}
 */
export function meaning(plan, question, value, wording = NAMES) {
  const { label } = plan.schema;
  const { labels } = question;
  const asked = askedFeatures(plan, question, wording);
  let codes = value.map((each) => Math.floor(each / labels));
  if (asked.length > 1 && value.length === 1) codes = splitCode(codes[0], asked);
  const texts = asked.map((feature, index) => codeText(feature, codes[index], question, wording));
  const named = labels > 1 ? [...asked, label] : asked;
  texts.push(wording.value(label, label.values[value[0] % labels]));
  return named.map((each, index) => [wording.title(each), texts[index]]);
}

/**
 * Return what is asked, if it is the squares of numbers, as a line of text.
 *
 * @param {Plan} plan
 * @param {Question} question
 */
export function squareMeaning(plan, { features, moment }) {
  if (moment !== SQUARE) return [];
  const numbers = features.map((place) => plan.schema.features[place]);
  const names = numbers.map(({ name }) => name).join(", ");
  const [low, middle, high] = [-1, 0, 1].map((x) => numberText(numbers[0], x));
  const { square, squareEnds, squares, squaresEnds } = SENTENCES;
  return numbers.length > 1
    ? [`${fill(squares, names)} ${squaresEnds}`]
    : [`${fill(square, names, middle)} ${fill(squareEnds, middle, low, high)}`];
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
 * @param {Question} question
 * @param {Wording} wording
 */
function codeText(feature, code, { moment, width }, { value, words }) {
  const { kind, missing, size, values } = feature;
  if (missing === "category" && code === size - 1) return missingText(feature, value, words);
  if (kind === "choices") return [words.no, words.yes][code];
  /** @param {string} number */
  const localise = (number) => number.replace(".", words.point ?? ".");
  if (kind === "binned") return binText(values.map(localise), code, words);
  if (width > 1) return values[code]; // an interval, already in words
  if (kind !== "numeric") return value(feature, values[code]);
  const x = (code - GRID) / GRID;
  return moment === SQUARE ? fill(words.squared, localise(formatNumber(x, 4))) : localise(numberText(feature, x));
}

/**
 * @param {Feature} feature
 * @param {Wording["value"]} value
 * @param {typeof ANSWERS} words
 */
function missingText(feature, value, { missing }) {
  const text = value(feature, MISSING_TEXT);
  return text === MISSING_TEXT ? missing : text;
}

/** Return a normalised number in the feature's own unit. @param {Feature} feature @param {number} x */
function numberText({ values }, x) {
  const [low, high] = values.map(Number);
  return formatNumber(low + (x + 1) * ((high - low) / 2));
}

/**
 * @param {readonly string[]} edges
 * @param {number} code
 * @param {typeof ANSWERS} words
 */
function binText(edges, code, { above, below, between }) {
  const last = edges.length - 2;
  if (last && code === 0) return fill(below, edges[1]);
  return last && code === last ? fill(above, edges[last]) : fill(between, edges[code], edges[code + 1]);
}

/**
 * Return a number as text with a few significant digits, with an exponent below 0.0001 and from 10^15 on.
 *
 * @param {number} number
 * @param {number} [digits]
 */
function formatNumber(number, digits = 6) {
  const size = Math.abs(number);
  const [figures, exponent] = size.toExponential(60).split("e");
  const isTie = /^[02468]50*$/.test(figures.slice(digits)); // Python rounds it to the even digit, toPrecision up
  const text = isTie ? `${figures.slice(0, digits + 1)}e${exponent}` : size.toPrecision(digits);
  const rounded = Math.sign(number) * Number(text);
  if (!rounded || (Math.abs(rounded) >= 1e-4 && size < 1e15)) return String(rounded);
  return rounded.toExponential().replace(/-(\d)$/, "-0$1");
}
