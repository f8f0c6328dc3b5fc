/**
 * Reads the file of a survey's texts: what people read when they are asked, in one or more languages.
 *
 * The plan contains the SHA-256 of this file, so that consent and signature cover the texts. They are plain text,
 * never HTML or Markdown, and no report depends on them.
 */

import { toHex } from "../bytes.js";
import { requireValid, SurveyError } from "../errors.js";
import { checkKeyCount } from "../mechanisms/parameters.js";
import { areDistinct } from "./features.js";
import { MISSING_TEXT } from "./parse_value.js";

/** @typedef {import("./features.js").Feature} Feature */
/** @typedef {import("./plan.js").Plan} Plan */

/** @typedef {{ readonly feature: string, readonly value: string }} Answer to another question */
/** @typedef {Answer & { not?: undefined } | { readonly not: Answer }} Term */
/** @typedef {{ readonly any?: readonly Term[], readonly all?: readonly Term[] } & Partial<Term>} Condition */

/**
 * The content of the file.
 *
 * @typedef {object} SurveyTexts
 * @property {Readonly<Record<string, string>>} about
 * @property {readonly string[]} languages in the author's order
 * @property {Readonly<Record<string, any>>} texts by language
 * @property {ReadonlyMap<string, Condition>} conditions by the name of the question that they hide; each follows those
 *   of the questions it names
 */

const MAX_BYTES = 1 << 18;
const MAX_LANGUAGES = 100;
const MAX_TITLE = 300;
const MAX_VALUE = 200;
const MAX_LONG = 4000;
const MAX_TERMS = 100;
const TAG = /^[a-z]{2,3}(-[A-Za-z0-9]{1,8}){0,4}$/;
/** Printable characters, and the spaces, joiners and direction marks that some languages need. */
const LINE = /^(?:[^\p{C}\p{Z}]|[ \u00a0\u200c-\u200f\u202f])+$/u;
const PARAGRAPHS = /^(?:[^\p{C}\p{Z}]|[ \u00a0\u200c-\u200f\u202f\n])+$/u;
/** A language has no title among these, but one of its own. */
const LANGUAGE_ABOUT = { purpose: MAX_LONG, contact: MAX_LONG, ethics: MAX_LONG, retention: MAX_LONG };
export const ABOUT = { title: MAX_TITLE, ...LANGUAGE_ABOUT };
const HEAD = { title: MAX_TITLE, help: MAX_LONG };

/**
 * Read the file of a plan's texts, and check it against the plan.
 *
 * Throws SurveyError if these are not the texts of the plan, or not in the form that this version reads.
 *
 * @param {Plan} plan
 * @param {Uint8Array} bytes
 * @returns {SurveyTexts}
 */
export function readTexts(plan, bytes) {
  try {
    requireValid(bytes.length <= MAX_BYTES && toHex(plan.sha256(bytes)) === plan.texts);
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const document = JSON.parse(text);
    // without spaces, escapes and repeated keys; the order of keys has no meaning
    requireValid(text.length === JSON.stringify(document).length);
    const { about, ask_if: conditions, format, languages, texts, ...rest } = document;
    checkTable(texts);
    requireValid(conditions === undefined || Object.keys(conditions).length);
    requireValid(format === 1 && !Object.keys(rest).length && languages.length <= MAX_LANGUAGES);
    const { label } = plan.rowSchema;
    const asked = label.name ? [label, ...plan.entries] : plan.entries;
    const named = new Map(asked.map((each) => [each.name, valuesWithTexts(each)]));
    checkTexts(about, ABOUT);
    checkKeyCount(texts, languages.length);
    requireValid(new Set(languages.map((/** @type {string} */ tag) => tag.toLowerCase())).size === languages.length);
    for (const tag of languages) {
      requireValid(TAG.test(tag));
      checkLanguage(texts[tag], label, named);
    }
    return { about, languages, texts, conditions: readConditions(conditions ?? {}, named) };
  } catch {
    throw new SurveyError("the texts are not those of the plan; take both unchanged from the collector");
  }
}

/**
 * Return the values of an entry of the row or of the label that may have a text: of a number only the missing one.
 *
 * @param {Feature} feature
 */
export function valuesWithTexts({ kind, missing, name, values }) {
  const listed = ["binned", "numeric"].includes(kind) ? [] : values;
  return name && missing === "category" ? [...listed, MISSING_TEXT] : listed;
}

/**
 * @param {any} table
 * @param {Feature} label
 * @param {ReadonlyMap<string, readonly string[]>} named
 */
function checkLanguage(table, label, named) {
  checkTable(table);
  const { about = {}, features = {}, label: labelTexts, ...head } = table;
  checkTexts(head, HEAD);
  checkTexts(about, LANGUAGE_ABOUT);
  if (labelTexts !== undefined) checkEntry(labelTexts, label.values);
  checkTable(features);
  for (const [name, entry] of Object.entries(features)) {
    requireValid(name !== label.name);
    checkEntry(entry, named.get(name));
  }
}

/**
 * @param {any} entry
 * @param {readonly string[] | undefined} listed
 */
function checkEntry(entry, listed) {
  requireValid(listed);
  checkTable(entry);
  const { values = {}, ...head } = entry;
  checkTexts(head, HEAD);
  checkTexts(values, Object.fromEntries(listed.map((value) => [value, MAX_VALUE])));
  requireValid(areDistinct(Object.values(values).map(lookOf)));
}

/**
 * Check that this is neither a list nor a single value.
 *
 * @param {any} table
 */
function checkTable(table) {
  requireValid(Object.getPrototypeOf(table) === Object.prototype);
}

/**
 * Check that a table contains only texts under these keys, of at most this length.
 *
 * @param {any} table
 * @param {Readonly<Record<string, number>>} limits
 */
function checkTexts(table, limits) {
  checkTable(table);
  for (const [key, text] of Object.entries(table)) {
    requireValid(Object.hasOwn(limits, key) && typeof text === "string" && [...text].length <= limits[key]);
    requireValid((limits[key] === MAX_LONG ? PARAGRAPHS : LINE).test(text) && lookOf(text).trim());
  }
}

/**
 * Return what people see of a text: without what shows nothing, and with plain spaces.
 *
 * @param {string} text
 */
function lookOf(text) {
  return text.replace(/[\p{DI}\u2800\u{1d159}]/gu, "").replace(/\s/g, " ");
}

/**
 * Return the terms of a condition.
 *
 * @param {Condition} condition
 * @returns {readonly Term[]}
 */
export function termsOf(condition) {
  return condition.any ?? condition.all ?? [/** @type {Term} */ (condition)];
}

/**
 * Check that each condition hides a question whose answer may be missing, names answers to others, and is in no cycle.
 *
 * @param {any} table
 * @param {ReadonlyMap<string, readonly string[]>} named
 * @returns {Map<string, Condition>} the conditions; each follows those of the questions it names
 */
function readConditions(table, named) {
  const sorted = new Map();
  const opened = new Set();
  checkTable(table);
  const path = Object.keys(table);
  for (let name = path.pop(); name !== undefined; name = path.pop()) {
    const condition = table[name];
    const terms = termsOf(condition);
    if (opened.has(name)) {
      sorted.set(name, condition); // what it names is there already
      continue;
    }
    if (terms[0] !== condition) checkKeyCount(condition, 1);
    requireValid(named.get(name)?.includes(MISSING_TEXT));
    requireValid(Array.isArray(terms) && terms.length && terms.length <= MAX_TERMS);
    opened.add(name);
    path.push(name);
    for (const term of terms) {
      if (term.not) checkKeyCount(term, 1);
      const { feature, value, ...rest } = /** @type {any} */ (term.not ?? term);
      requireValid(value !== MISSING_TEXT && named.get(feature)?.includes(value) && !Object.keys(rest).length);
      requireValid(sorted.has(feature) || !opened.has(feature));
      if (Object.hasOwn(table, feature) && !sorted.has(feature)) path.push(feature);
    }
  }
  return sorted;
}
