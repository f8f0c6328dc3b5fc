/** Maps the answers of any form to a row of a survey, and names what does not fit. */

import { RowError } from "./errors.js";

/** @typedef {import("./errors.js").RowProblem} RowProblem */
/** @typedef {import("./survey/features.js").Feature} Feature */
/** @typedef {import("./survey/plan.js").Plan} Plan */

/**
 * @typedef {object} MappedAnswers
 * @property {Record<string, unknown>} row for `report` and `preview`, if there are no problems
 * @property {unknown} label undefined for a survey without a label
 * @property {RowProblem[]} problems every question whose answer does not fit, without the answer
 * @property {string[]} unused names of answers that the survey does not ask for, for example misspelt ones
 */

const DECIMAL = /^[-+]?\d+(\.\d+)?$/;

/**
 * Return the row of a form's answers.
 *
 * An answer may be a text, a number, a boolean, a list, or missing: null, undefined, NaN or an empty text. Numbers may
 * be decimal texts such as "7.5". Several answers may be one text, with spaces or semicolons between the choices.
 *
 * @param {Plan} plan
 * @param {FormData | Readonly<Record<string, unknown>>} answers by the name of the question, of the label too
 * @param {{ required?: readonly string[] }} [options] `required` names questions whose missing answer is a problem even
 *   if the survey accepts it; a question with several answers then needs a tick
 * @returns {MappedAnswers}
 */
export function fromAnswers(plan, answers, { required = [] } = {}) {
  const isFormData = typeof FormData !== "undefined" && answers instanceof FormData;
  const names = new Set(isFormData ? answers.keys() : Object.keys(answers));
  /** @param {Feature} entry */
  const answerTo = ({ kind, name }) => {
    if (isFormData) {
      const all = answers.getAll(name);
      if (all.length === 1) return all[0];
      if (kind === "choices") return all; // a group of checkboxes without a tick is not in the data of a form
      if (all.length) throw new RowError(name, "the form has several answers to one question");
      return null;
    }
    if (!names.has(name)) throw new RowError(name, "the form has no answer with this name");
    return /** @type {Record<string, unknown>} */ (answers)[name];
  };
  const { label } = plan.rowSchema;
  const asked = label.name ? [...plan.entries, label] : plan.entries;
  const problems = required
    .filter((field) => !asked.some(({ name }) => name === field))
    .map((field) => ({ field, why: "is required, but the survey does not ask for it" }));
  /** @type {[string, unknown][]} */
  const entries = [];
  for (const entry of asked) {
    const { kind, name } = entry;
    try {
      const given = answerTo(entry);
      const value = isMissing(given) ? null : kind === "choices" ? readChoices(entry, given) : readValue(entry, given);
      if (required.includes(name) && ![value ?? []].flat().length) throw new RowError(name, "needs an answer");
      entry.code(value);
      entries.push([name, value]);
    } catch (error) {
      if (!(error instanceof RowError)) throw error;
      problems.push(...error.problems);
    }
    names.delete(name);
  }
  const row = Object.fromEntries(entries.filter(([name]) => name !== label.name));
  const labelValue = entries.find(([name]) => name === label.name)?.[1];
  return { row, label: labelValue, problems, unused: [...names] };
}

/** @param {unknown} value */
function isMissing(value) {
  return (value ?? "") === "" || Number.isNaN(value);
}

/**
 * @param {Feature} entry
 * @param {unknown} value
 */
function readValue({ kind, name }, value) {
  if (!["binned", "numeric"].includes(kind) || typeof value !== "string") return value;
  if (!DECIMAL.test(value)) throw new RowError(name, "must be a decimal number, such as 7.5");
  return Number(value);
}

/**
 * Return the ticked choices in a list or a text.
 *
 * @param {Feature} entry
 * @param {unknown} value
 */
function readChoices({ name, values }, value) {
  if (typeof value !== "string") return value;
  const readings = [[value], value.split(";").map((each) => each.trim()), value.trim().split(/\s+/)];
  const possible = new Set(
    readings.filter((each) => each.every((text) => values.includes(text))).map((each) => JSON.stringify(each)),
  );
  if (possible.size === 1) return JSON.parse([...possible][0]);
  throw new RowError(name, possible.size ? "can be read in two ways: pass a list" : "contains an unknown choice");
}
