/** Builds the questions of a plan as fields, and reads the answers. */

import { fill } from "../text_form.js";
import { MISSING_TEXT } from "../survey/parse_value.js";
import { make } from "./dom.js";
import { directionOf } from "./words.js";

/** @typedef {import("../survey/display_texts.js").EntryTexts} EntryTexts */
/** @typedef {import("../survey/features.js").Feature} Feature */
/** @typedef {import("./words.js").Words} Words */

/** A list with more values is one that opens. */
const MAX_RADIO = 7;
/** Stands for "none of these" in a group of checkboxes; no choice is an empty text. */
const NONE = "";

/**
 * A question on the page.
 *
 * @typedef {object} Field
 * @property {Feature} entry
 * @property {EntryTexts} texts
 * @property {HTMLElement} element
 * @property {HTMLElement} problem where the page says what is wrong
 * @property {string} id
 */

/**
 * What a person entered, by the name of the question: `value` of one answer, "(missing)" if they do not want to answer;
 * `ticked` of several; `text` of a number.
 *
 * @typedef {{ value?: string, ticked?: readonly string[], text?: string }} Entered
 */

/**
 * Return the language and the direction of a text, if they differ from those of the form.
 *
 * @param {string | undefined} language
 * @param {string} form
 */
export function languageOf(language, form) {
  return language && language !== form ? { lang: language, dir: directionOf(language) } : {};
}

/**
 * Build one question.
 *
 * @param {Feature} entry
 * @param {EntryTexts} texts
 * @param {string} id
 * @param {Entered} entered is changed by the person
 * @param {Words} words
 * @param {string} language of the words
 * @returns {Field}
 */
export function makeField(entry, texts, id, entered, words, language) {
  /** @param {string} path */
  const tongue = (path) => languageOf(texts.textLanguages.get(path), language);
  /** @type {Parts["write"]} */
  const write = (tag, value, attributes) => {
    const text = texts.values.get(value) ?? (value === NONE ? words.none : value);
    return make(tag, { ...tongue(`values.${value}`), ...attributes }, text === MISSING_TEXT ? words.noAnswer : text);
  };
  const problem = make("p", { id: `${id}-problem`, part: "problem", class: "problem", hidden: true });
  const hint = isNumber(entry) ? rangeText(entry, words) : entry.kind === "choices" && words.several;
  const build = isNumber(entry) ? makeNumber : entry.kind === "choices" ? makeChoices : makeOptions;
  const element = make(
    "fieldset",
    { part: "question", id, tabindex: -1, "aria-describedby": `${id}-help ${id}-problem` },
    make("legend", tongue("title"), texts.title),
    make(
      "div",
      { id: `${id}-help`, part: "help", class: "quiet" },
      texts.help && make("p", tongue("help"), texts.help),
      hint && make("p", {}, hint),
    ),
    ...build({ entry, texts, id, entered, words, write }),
    problem,
  );
  return { entry, texts, element, problem, id };
}

/**
 * @typedef {object} Parts
 * @property {Feature} entry
 * @property {EntryTexts} texts
 * @property {string} id
 * @property {Entered} entered
 * @property {Words} words
 * @property {(tag: string, value: string, attributes?: object) => HTMLElement} write returns an element with the text
 *   of a value
 */

/** Return radio buttons, or a list if there are many values. @param {Parts} parts */
function makeOptions({ entry, texts, id, entered, words, write }) {
  const values = [...entry.values, ...(mayBeMissing(entry) ? [MISSING_TEXT] : [])];
  if (values.length <= MAX_RADIO) {
    return values.map((value) => {
      const change = () => (entered.value = value);
      const checked = entered.value === value;
      return makeOption(make("input", { type: "radio", name: id, value, change, checked }), write("span", value));
    });
  }
  const options = values.map((value) => write("option", value, { selected: entered.value === value }));
  const change = () => (entered.value = values[list.selectedIndex - 1]);
  const look = { part: "list", "aria-label": texts.title, change };
  const first = make("option", {}, words.choose);
  const list = /** @type {HTMLSelectElement} */ (make("select", look, first, ...options));
  return [list];
}

/** Return checkboxes, of which "none of these" and "no answer" exclude all others. @param {Parts} parts */
function makeChoices({ entry, entered, write }) {
  const alone = [NONE, ...(mayBeMissing(entry) ? [MISSING_TEXT] : [])];
  const change = (/** @type {Event} */ { target }) => {
    const changed = /** @type {HTMLInputElement} */ (target);
    for (const each of boxes) {
      if (each !== changed && changed.checked && alone.some((value) => [each.value, changed.value].includes(value))) {
        each.checked = false;
      }
    }
    const ticked = boxes.filter((each) => each.checked).map((each) => each.value);
    entered.ticked = ticked.length ? ticked : undefined;
  };
  const boxes = [...entry.values, ...alone].map((value) => {
    const checked = entered.ticked?.includes(value);
    return /** @type {HTMLInputElement} */ (make("input", { type: "checkbox", value, checked, change }));
  });
  return boxes.map((box) => makeOption(box, write("span", box.value)));
}

/** Return a field for a number, and a box for no answer. @param {Parts} parts */
function makeNumber({ entry, texts, entered, write }) {
  const input = /** @type {HTMLInputElement} */ (make("input", {
    type: "text", inputmode: "decimal", part: "number", value: entered.text, "aria-label": texts.title,
    spellcheck: "false", // some browsers send what they check
    input: () => {
      Object.assign(entered, { text: input.value, value: undefined });
      box.checked = false;
    },
  }));
  const box = /** @type {HTMLInputElement} */ (make("input", {
    type: "checkbox", checked: entered.value === MISSING_TEXT,
    change: () => {
      Object.assign(entered, { text: "", value: box.checked ? MISSING_TEXT : undefined });
      input.value = "";
    },
  }));
  return [input, mayBeMissing(entry) && makeOption(box, write("span", MISSING_TEXT))];
}

/** @param {HTMLElement} input @param {HTMLElement} text */
function makeOption(input, text) {
  return make("label", { part: "option" }, input, text);
}

/** Return whether a person may leave a question out; the label cannot be missing. @param {Feature} entry */
function mayBeMissing({ missing }) {
  return missing === "category";
}

/**
 * Return the value that a person entered, as a row contains it; undefined if they entered none that fits.
 *
 * @param {Feature} entry
 * @param {Entered} entered
 */
export function readAnswer(entry, { text, ticked, value }) {
  if (value === MISSING_TEXT || ticked?.includes(MISSING_TEXT)) return null;
  if (isNumber(entry)) return readNumber(entry, text ?? "");
  return ticked ? ticked.filter((each) => each !== NONE) : value;
}

/**
 * Return what the form says about a question without an answer that fits.
 *
 * @param {Feature} entry
 * @param {Entered} entered
 * @param {Words} words
 */
export function problemOf(entry, { text }, words) {
  return text?.trim() ? rangeText(entry, words) : words.needed;
}

/**
 * Read a number with a point or a comma, in the digits of any script.
 *
 * "1,000" is refused, because it is a thousand in one country and one in another; but not if it is one of the bounds.
 *
 * @param {Feature} entry
 * @param {string} text
 */
function readNumber(entry, text) {
  const plain = text
    .slice(0, 2e3) // the form of a longer one could take minutes to compute
    .replace(/[\u200e\u200f\u061c]/g, "")
    .normalize("NFKC")
    .trim()
    .replace(/\p{Nd}/gu, digitOf)
    .replace("\u2212", "-")
    .replace(/[,\u066b]/, ".");
  const bounds = boundsOf(entry);
  const mayBeThousands = /^-?[1-9]\d{0,2}\.\d{3}$/.test(plain) && !bounds.includes(plain);
  const number = /^-?\d+(\.\d+)?$/.test(plain) && !mayBeThousands ? Number(plain) : NaN;
  return Number(bounds[0]) <= number && number <= Number(bounds[1]) ? number : undefined;
}

/** Return the value of a digit: those of a script begin at a multiple of 16, or six after it. @param {string} text */
function digitOf(text) {
  const code = /** @type {number} */ (text.codePointAt(0));
  const above = code % 16;
  return String(/\p{Nd}/u.test(String.fromCodePoint(code - above)) ? above : above - 6);
}

/** @param {Feature} entry */
function isNumber({ kind }) {
  return kind === "binned" || kind === "numeric";
}

/** @param {Feature} entry @param {Words} words */
function rangeText(entry, { point, range, thousands }) {
  const bounds = boundsOf(entry);
  const isLarge = bounds.some((each) => Number(each) ** 2 >= 1e6);
  return fill(range, ...bounds.map((each) => each.replace(".", point))) + (isLarge ? thousands : "");
}

/** @param {Feature} entry */
function boundsOf({ values }) {
  return [values[0], /** @type {string} */ (values.at(-1))];
}
