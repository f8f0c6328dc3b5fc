/** `fromAnswers` maps the answers of any form to a row, and names what does not fit. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { fromAnswers } from "../../src/answers.js";
import { makeReport, readPlan } from "../../src/core.js";
import { readVectors, toBytes } from "../surveys.js";

/** @param {string} name of the vectors */
const planOf = (name) => readPlan(toBytes(readVectors(name).plan));
const AUTO = planOf("good-auto");
const CHOICES = planOf("good-choices");
const several = /** @type {any} */ (CHOICES.entries.find(({ kind }) => kind === "choices"));
const [ROW] = readVectors("good-choices").cases.map((/** @type {any} */ { row }) => row);
const { label, row } = readVectors("good-auto").cases[0];

test("answers that are texts become a row that is reported", () => {
  const texts = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value ?? "")]));
  const mapped = fromAnswers(AUTO, { ...texts, [AUTO.schema.label.name]: label });
  assert.deepEqual([mapped.problems, mapped.unused], [[], []]);
  assert.ok(makeReport(AUTO, mapped.row, mapped.label).length > 50);
  assert.deepEqual(AUTO.encode(mapped.row, mapped.label), AUTO.encode(row, label));
});

test("every answer that does not fit is named, without the answer", () => {
  const answers = { ...row, age: "ancient", hours: "seven", [AUTO.schema.label.name]: label };
  const { problems } = fromAnswers(AUTO, answers);
  assert.deepEqual(problems.map(({ field }) => field).sort(), ["age", "hours"]);
  assert.ok(!JSON.stringify(problems).includes("ancient") && !JSON.stringify(problems).includes("seven"));
});

test("a question that the form lacks is a problem, and an answer that the survey does not ask for is unused", () => {
  const { age, ...others } = row;
  const { problems, unused } = fromAnswers(AUTO, { ...others, agee: age, [AUTO.schema.label.name]: label });
  assert.deepEqual([problems.map(({ field }) => field), unused], [["age"], ["agee"]]);
});

test("several answers are a list, or one text", () => {
  const { name, values } = several;
  const ticked = values.slice(0, 2);
  const labelled = CHOICES.schema.label.name ? { [CHOICES.schema.label.name]: CHOICES.schema.label.values[0] } : {};
  for (const given of [ticked, ticked.join(";"), ticked.join("; ")]) {
    const { problems, row: mapped } = fromAnswers(CHOICES, { ...ROW, ...labelled, [name]: given });
    assert.deepEqual([problems, mapped[name]], [[], ticked]);
  }
  for (const given of ["nonsense", 7, [`${values[0]}x`]]) {
    assert.equal(fromAnswers(CHOICES, { ...ROW, ...labelled, [name]: given }).problems[0].field, name);
  }
});

test("the data of a form are answers, and a group without a tick is an empty list", () => {
  const data = new FormData();
  for (const [name, value] of Object.entries(ROW)) if (name !== several.name) data.set(name, String(value ?? ""));
  if (CHOICES.schema.label.name) data.set(CHOICES.schema.label.name, CHOICES.schema.label.values[0]);
  const { problems, row: mapped } = fromAnswers(CHOICES, data);
  assert.deepEqual([problems, mapped[several.name]], [[], []]);
});

test("several fields of a form with one name are read as one text, a list or a problem", () => {
  const data = new FormData();
  for (const [name, value] of Object.entries(ROW)) if (name !== several.name) data.set(name, String(value ?? ""));
  if (CHOICES.schema.label.name) data.set(CHOICES.schema.label.name, CHOICES.schema.label.values[0]);
  const ticked = several.values.slice(0, 2);
  data.set(several.name, ticked.join(";"));
  assert.deepEqual(fromAnswers(CHOICES, data).row[several.name], ticked);
  data.delete(several.name);
  for (const value of ticked) data.append(several.name, value);
  assert.deepEqual(fromAnswers(CHOICES, data).row[several.name], ticked);
  const single = /** @type {any} */ (CHOICES.entries.find(({ kind }) => kind !== "choices"));
  data.append(single.name, single.values[0]); // a hidden field and a box, for example
  assert.deepEqual(fromAnswers(CHOICES, data).problems.map(({ field }) => field), [single.name]);
});

test("a number in another notation is refused, not guessed", () => {
  for (const hours of ["7,5", "1,000", "0x10", "1e3", "Infinity", " 7", "."]) {
    const { problems } = fromAnswers(AUTO, { ...row, hours, [AUTO.schema.label.name]: label });
    assert.equal(problems[0]?.field, "hours", hours);
  }
});

test("a required question needs an answer, even if the survey accepts a missing one", () => {
  const { name } = /** @type {any} */ (AUTO.entries.find(({ missing }) => missing === "category"));
  const labelled = { ...row, [AUTO.schema.label.name]: label };
  for (const missing of [null, "", NaN]) {
    assert.deepEqual(fromAnswers(AUTO, { ...labelled, [name]: missing }).problems, []);
    const { problems } = fromAnswers(AUTO, { ...labelled, [name]: missing }, { required: [name] });
    assert.deepEqual(problems, [{ field: name, why: "needs an answer" }]);
  }
  assert.deepEqual(fromAnswers(AUTO, labelled, { required: [AUTO.schema.label.name] }).problems, []);
  const absent = fromAnswers(AUTO, new FormData(), { required: [name] }).problems;
  assert.equal(absent.find(({ field }) => field === name)?.why, "needs an answer");
  const misspelt = fromAnswers(AUTO, labelled, { required: [`${name}x`] }).problems;
  assert.deepEqual(misspelt.map(({ field }) => field), [`${name}x`]);
});

test("a required group of checkboxes needs a tick", () => {
  const labelled = CHOICES.schema.label.name ? { [CHOICES.schema.label.name]: CHOICES.schema.label.values[0] } : {};
  const untouched = { ...ROW, ...labelled, [several.name]: [] };
  assert.deepEqual(fromAnswers(CHOICES, untouched).problems, []);
  const { problems } = fromAnswers(CHOICES, untouched, { required: [several.name] });
  assert.deepEqual(problems, [{ field: several.name, why: "needs an answer" }]);
});
