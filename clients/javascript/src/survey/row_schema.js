/** The label, features and projection that code rows: those of a plan, or of the model that it validates. */

import { requireValid, RowError } from "../errors.js";
import { areDistinct, readFeature, readLabel } from "./features.js";
import { rowEntry } from "./parse_value.js";
import { readProjection } from "./projection.js";

/** @typedef {import("./features.js").Feature} Feature */
/** @typedef {import("./projection.js").Projection} Projection */

/**
 * @typedef {object} RowSchema
 * @property {Feature} label
 * @property {readonly Feature[]} features
 * @property {Projection} [projection]
 */

/**
 * The codes of a row.
 *
 * @typedef {object} CodedRow
 * @property {readonly number[]} codes one for each feature
 * @property {number} labelCode
 */

/**
 * Read the label, features and projection of a plan or of a validation.
 *
 * @param {any} entry
 * @returns {RowSchema}
 */
export function readRowSchema(entry) {
  const label = readLabel(entry.label);
  /** @type {Feature[]} */
  const features = entry.features.map(readFeature);
  const projection = entry.projection === undefined ? undefined : readProjection(entry.projection, features);
  const named = [label, ...features, ...(projection?.inputs ?? [])];
  requireValid(areDistinct(named.map(({ name }) => name)));
  return { label, features, projection };
}

/**
 * Return the entries that a row must have: the inputs of the projection, and features that are not projected.
 *
 * @param {RowSchema} schema
 */
export function requiredEntries({ features, projection }) {
  const projected = new Set(projection?.components.map(({ name }) => name));
  return [...(projection?.inputs ?? []), ...features.filter(({ name }) => !projected.has(name))];
}

/**
 * Code a row and its label; every entry is read once and checked, independently of the question.
 *
 * @param {RowSchema} schema
 * @param {Readonly<Record<string, unknown>>} row
 * @param {unknown} label
 * @returns {CodedRow}
 */
export function encodeRow(schema, row, label) {
  if (!row || typeof row !== "object") throw new RowError("row", "must be an object from name to value");
  const { projection } = schema;
  /** @type {import("../errors.js").RowProblem[]} */
  const problems = [];
  /** @type {Map<string, number>} */
  const coded = new Map();
  for (const entry of [...requiredEntries(schema), schema.label]) {
    try {
      coded.set(entry.name, entry.code(entry === schema.label ? label : rowEntry(row, entry.name)));
    } catch (error) {
      if (!(error instanceof RowError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length) throw new RowError(problems[0].field, problems[0].why, problems);
  const codeOf = (/** @type {Feature} */ { name }) => /** @type {number} */ (coded.get(name));
  const inputs = projection?.inputs.map(codeOf) ?? [];
  const codes = schema.features.map((feature) => {
    const component = projection?.components.find(({ name }) => name === feature.name);
    return component ? feature.code(component.apply(inputs)) : codeOf(feature);
  });
  return { codes, labelCode: codeOf(schema.label) };
}
