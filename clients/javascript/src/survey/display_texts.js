/** Chooses the texts of a survey to display in a language; a missing text falls back to another language's. */

import { categoryText } from "./parse_value.js";
import { ABOUT, termsOf, valuesWithTexts } from "./survey_texts.js";

/** @typedef {import("./features.js").Feature} Feature */
/** @typedef {import("./plan.js").Plan} Plan */
/** @typedef {import("./survey_texts.js").Condition} Condition */
/** @typedef {import("./survey_texts.js").SurveyTexts} SurveyTexts */
/** @typedef {import("./survey_texts.js").Term} Term */

/**
 * The texts of the label, or of one entry of the row.
 *
 * @typedef {object} EntryTexts
 * @property {string} title the question; the name if there is no text
 * @property {string} help an explanation; empty if the author wrote none
 * @property {ReadonlyMap<string, string>} values the text of each value to choose from, in the survey's order.
 *   "(missing)", if it is there, stands for a missing answer, which a row contains as null. Empty for a number.
 * @property {ReadonlyMap<string, string>} textLanguages the language of the texts "title", "help" and "values.VALUE";
 *   what is not there is a name
 */

/**
 * The texts of a survey in one language: plain text, to display as it is.
 *
 * @typedef {object} DisplayTexts
 * @property {string} language the survey's language that fits the requested one best; empty if there are no texts
 * @property {readonly string[]} languages all languages of the survey, in the author's order
 * @property {ReadonlyMap<string, string>} textLanguages the language of the texts "title", "help" and
 *   "about.KEY", as far as the author states it
 * @property {string} title the title of the survey; its id if there is no text
 * @property {string} help an explanation of the survey; empty if the author wrote none
 * @property {Readonly<Record<string, string>>} about any of `title`, `purpose`, `contact`, `ethics` and `retention`,
 *   of which all but the title can differ from language to language
 * @property {EntryTexts | undefined} label undefined for a survey without a label
 * @property {ReadonlyMap<string, EntryTexts>} features the texts of each entry of the row, by name
 * @property {ReadonlySet<string>} deciding the names of the questions whose answers hide others
 * @property {(answers: Readonly<Record<string, unknown>>) => Set<string>} hidden returns the names of the questions
 *   that do not concern a person, for which the row contains null; the answers are those of a row, and the label's
 *   under its name
 */

/** @type {SurveyTexts} */
const NO_TEXTS = { about: {}, languages: [], texts: {}, conditions: new Map() };

/**
 * Return the texts of a plan in a language.
 *
 * A text that the language lacks is taken from its base language, or from the survey's first language; if both lack
 * it, it is the name.
 *
 * @param {Plan} plan
 * @param {SurveyTexts} [source] without texts, the names are returned
 * @param {string | readonly string[]} [wanted] a language tag, for example "de" or "pt-BR", or several: the first one
 *   counts that the survey has, itself or its base language. Neither case nor "-" and "_" differ.
 * @returns {DisplayTexts}
 */
export function displayTexts(plan, { about, conditions, languages, texts } = NO_TEXTS, wanted = "") {
  const chains = [wanted].flat().map((tag) => fallbacks(tag, languages));
  const chain = [...new Set([...(chains.find(({ length }) => length) ?? []), ...languages.slice(0, 1)])];
  const { label } = plan.rowSchema;
  const head = makeChooser(chain.map((tag) => [tag, texts[tag]]));
  /**
   * @param {Feature} entry
   * @param {(table: any) => any} find the entry in the table of a language
   */
  const entryTexts = (entry, find) =>
    chooseTexts(entry, chain.map((tag) => [tag, find(texts[tag]) ?? {}]));
  const stated = Object.keys(ABOUT).map((key) => /** @type {const} */ (
    [key, head.choose(`about.${key}`, about[key], (table) => table.about?.[key])]
  ));
  return {
    language: chain[0] ?? "",
    languages,
    title: head.choose("title", about.title ?? plan.id, (table) => table.title),
    help: head.choose("help", "", (table) => table.help),
    textLanguages: head.textLanguages,
    about: Object.fromEntries(stated.filter(([, text]) => text)),
    label: label.name ? entryTexts(label, (table) => table.label) : undefined,
    features: new Map(
      plan.entries.map((each) => [each.name, entryTexts(each, (table) => own(table.features ?? {}, each.name))]),
    ),
    deciding: new Set([...conditions.values()].flatMap(termsOf).map((term) => (term.not ?? term).feature)),
    hidden: (answers) => findHidden(conditions, answers),
  };
}

/**
 * Return the survey's languages in which to look for a text: the exact one and its base languages.
 *
 * @param {string} language
 * @param {readonly string[]} known
 */
function fallbacks(language, known) {
  const parts = language.replaceAll("_", "-").toLowerCase().split("-");
  const wanted = parts.map((_, index) => parts.slice(0, parts.length - index).join("-"));
  const found = wanted.map((tag) => known.find((each) => each.toLowerCase() === tag));
  return found.filter((tag) => tag !== undefined);
}

/**
 * @param {Feature} entry
 * @param {readonly (readonly [tag: string, table: any])[]} tables
 * @returns {EntryTexts}
 */
function chooseTexts(entry, tables) {
  const { choose, textLanguages } = makeChooser(tables);
  const title = choose("title", entry.name, (table) => table.title);
  const help = choose("help", "", (table) => table.help);
  const values = valuesWithTexts(entry).map((value) => /** @type {const} */ ([
    value, choose(`values.${value}`, value, (table) => own(table.values ?? {}, value)),
  ]));
  return { title, help, values: new Map(values), textLanguages };
}

/**
 * Return a function that finds a text in the first of these tables that has it, and the languages it found.
 *
 * @param {readonly (readonly [tag: string, table: any])[]} tables
 */
function makeChooser(tables) {
  /** @type {Map<string, string>} */
  const textLanguages = new Map();
  /**
   * @param {string} path
   * @template {string | undefined} T
   * @param {T} otherwise
   * @param {(table: any) => string | undefined} find
   * @returns {string | T}
   */
  const choose = (path, otherwise, find) => {
    const found = tables.find(([, table]) => find(table) !== undefined);
    if (!found) return otherwise;
    textLanguages.set(path, found[0]);
    return /** @type {string} */ (find(found[1]));
  };
  return { choose, textLanguages };
}

/**
 * Return the names of the questions whose conditions do not hold. A term on a hidden question does not hold.
 *
 * @param {ReadonlyMap<string, Condition>} conditions each follows those of the questions it names
 * @param {Readonly<Record<string, unknown>>} answers
 */
function findHidden(conditions, answers) {
  /** @type {Set<string>} */
  const hidden = new Set();
  const holds = (/** @type {Term} */ term) => {
    const { feature, value } = term.not ?? term;
    const given = [own(answers, feature)].flat().map(categoryText);
    return !hidden.has(feature) && given.includes(value) === !term.not;
  };
  for (const [name, condition] of conditions) {
    if (condition.any ? !condition.any.some(holds) : !termsOf(condition).every(holds)) hidden.add(name);
  }
  return hidden;
}

/**
 * Return a table's own entry: a name of a survey may be "constructor".
 *
 * @param {any} table
 * @param {string} key
 */
function own(table, key) {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
