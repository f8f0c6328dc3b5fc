/** The label, features and projection that code rows: those of a plan, or of the model that it validates. */

import { requireValid, RowError } from "../errors.js";
import { areDistinct, isText, readFeature, readLabel } from "./features.js";
import { rowEntry } from "./parse_value.js";
import { readProjection } from "./projection.js";

/** @typedef {import("./features.js").Feature} Feature */
/** @typedef {import("./projection.js").Projection} Projection */

/**
 * @typedef {object} LabelAndFeatures
 * @property {Feature} label
 * @property {readonly Feature[]} features that questions ask for: each choice of an entry with several answers is one
 * @property {readonly Feature[]} listed the features as the plan lists them: all choices of an entry are one
 */

/** @typedef {LabelAndFeatures & Projection} RowSchema */

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
  const listed = entry.features.map(readFeature);
  const features = listed.flatMap((each) =>
    each.kind === "choices" ? each.values.map((choice) => ({ ...each, name: `${each.name}: ${choice}` })) : each,
  );
  const { inputs, components } = readProjection(entry.projection, features);
  const names = [...new Set([...listed, ...features]), ...inputs].map(({ name }) => name);
  requireValid(names.every(isText) && areDistinct([label.name, ...names]));
  return { label, features, listed, inputs, components };
}

/**
 * Return the entries that a row must have: the inputs of the projection, and features that are not projected.
 *
 * @param {RowSchema} schema
 */
export function requiredEntries({ components, inputs, listed }) {
  return [...inputs, ...listed.filter(({ name }) => !components.has(name))];
}

/**
 * Code a row and its label; every entry is read once and checked, independently of the question.
 *
 * @param {RowSchema} schema
 * @param {Readonly<Record<string, unknown>>} row
 * @param {unknown} label undefined for a survey without a label
 * @returns {CodedRow}
 */
export function encodeRow(schema, row, label) {
  if (Object(row) !== row) throw new RowError("row", "must map name to value");
  /** @type {import("../errors.js").RowProblem[]} */
  const problems = [];
  /** @type {Map<Feature, any>} */
  const coded = new Map();
  for (const entry of [...requiredEntries(schema), schema.label]) {
    try {
      coded.set(entry, entry.code(entry === schema.label ? label : rowEntry(row, entry.name)));
    } catch (error) {
      if (!(error instanceof RowError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length) throw new RowError(problems[0].field, problems[0].why, problems);
  const inputs = schema.inputs.map((each) => coded.get(each));
  const codes = schema.listed.flatMap(
    (feature) => coded.get(feature) ?? feature.code(schema.components.get(feature.name)?.(inputs)),
  );
  return { codes, labelCode: coded.get(schema.label) };
}
