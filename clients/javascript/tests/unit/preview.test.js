/** A preview shows the true answer to the person, and to nobody else. */

import assert from "node:assert/strict";
import { inspect } from "node:util";
import { test } from "node:test";

import { readPlan, RowError, TokenError } from "../../src/core.js";
import { preview } from "../../src/preview.js";
import { givenBytes } from "../answer.js";
import { readVectors, toBytes } from "../surveys.js";

const { plan: text, cases } = readVectors("good-auto");
const PLAN = readPlan(toBytes(text));
const { label, row } = cases[0];

test("a preview of a named question answers that question", () => {
  for (const question of ["smokes", "age", "hours", "district"]) {
    const shown = preview(PLAN, row, label, { question });
    assert.equal(shown.question, question);
    const asked = PLAN.questions[shown.report[36]].features.map((place) => PLAN.schema.features[place].name);
    assert.deepEqual(asked, [question]);
  }
  assert.throws(() => preview(PLAN, row, label, { question: "weight" }), { reason: "error" });
});

test("logs and JSON of a preview contain neither the true answer nor the report", () => {
  const shown = preview(PLAN, row, label, { question: "age" });
  assert.deepEqual(Object.fromEntries(shown.truth).age, "young");
  assert.equal(JSON.stringify(shown), '{"question":"age"}');
  assert.ok(!inspect(shown, { depth: 9, showHidden: true }).includes("young"));
  assert.deepEqual(Object.keys(shown), []);
});

test("the text of a preview contains the question, the bytes and every answer", () => {
  const written = String(preview(PLAN, { ...row, hours: 99 }, label, { question: "age" }));
  const answers = ["young", "middle", "old", "(missing)", "(the truth)"];
  for (const part of ["age", ...answers, "hours is outside its range", "e^1.25"]) {
    assert.ok(written.includes(part), part);
  }
});

test("previews of a survey without a label do not mention one", () => {
  for (const name of ["good-unlabelled", "good-choices-together"]) {
    const { cases: listed, plan: bytes } = readVectors(name);
    const plan = readPlan(toBytes(bytes));
    for (const { features, moment } of plan.questions) {
      const about = features.map((place) => plan.schema.features[place].name).join(", ");
      const question = about + ["", " (mean)", " (square)", ""][moment];
      const shown = preview(plan, listed[0].row, undefined, { question });
      assert.deepEqual(shown.truth.map(([each]) => each).join(", "), about);
      assert.doesNotMatch(String(shown), /label|undefined|\n {2}:| = ,|, :|^ = /);
    }
  }
});

test("a choice is a question to answer with yes or no", () => {
  const { cases: listed, plan: bytes } = readVectors("good-choices");
  const shown = preview(readPlan(toBytes(bytes)), listed[0].row, listed[0].label, { question: "snacks: fruit" });
  assert.deepEqual(shown.truth[0], ["snacks: fruit", "yes"]);
  const answers = new Set(shown.possibleAnswers.map(({ answer }) => answer[0][1]));
  assert.deepEqual(answers, new Set(["no", "yes", "(missing)"]));
});

test("the beliefs add up to 1 and respect the bound", () => {
  for (const question of ["smokes", "age", "hours"]) {
    const shown = preview(PLAN, row, label, { question });
    const beliefs = shown.possibleAnswers.map(({ belief }) => belief);
    assert.ok(Math.abs(beliefs.reduce((sum, each) => sum + each) - 1) < 1e-12);
    assert.ok(Math.max(...beliefs) / Math.min(...beliefs) <= shown.oddsBound);
  }
});

test("a survey by invitation has previews without a token, but not with a wrong one", () => {
  const invited = readVectors("tokens");
  const plan = readPlan(toBytes(invited.plan));
  const [first] = invited.cases;
  assert.ok(preview(plan, first.row, first.label).truth.length);
  assert.match(String(preview(plan, first.row, first.label, { token: first.token })), /chosen by the invitation/);
  assert.throws(() => preview(plan, first.row, first.label, { token: "a".repeat(32) }), TokenError);
});

test("a row that does not fit has no preview", () => {
  assert.throws(() => preview(PLAN, { ...row, age: "secret" }, label), RowError);
});

test("a preview of a survey that asks all shows every answer, with the bytes of the envelope", () => {
  const [{ cases: [{ label, random, reports, row }], plan: text }] = readVectors("envelopes").surveys;
  const plan = readPlan(toBytes(text), { check: () => {} });
  const { left, take } = givenBytes(random);
  const shown = preview(plan, row, label, { random: take });
  assert.equal(left(), 0);
  assert.deepEqual(shown.answers.map(({ report }) => Buffer.from(report).toString("hex")), reports);
  assert.deepEqual(shown.answers.map(({ question }) => question), ["smokes", "age", "sleep (mean)", "sleep (square)"]);
  assert.deepEqual(shown.answers.map(({ questionProbability }) => questionProbability), [1, 1, 1, 1]);
  assert.equal(shown.epsilon, "4.5");
  assert.match(String(shown), /^All your answers are sent, .* work together, by at most 91 times\.\n/);
  assert.match(String(shown), /\nQuestion 4 of 4: sleep \(square\)\nIt asks for the squared distance/);
  assert.equal(JSON.stringify(shown), '{"question":"smokes"}');
  const one = preview(plan, row, label, { question: "age" });
  assert.deepEqual(one.answers.map(({ question }) => question), ["age"]);
  assert.match(String(one), /\nQuestion 2 of 4: age\n/);
  assert.throws(() => preview(plan, { ...row, age: "secret" }, label, { random: take }), RowError);
});

test("a preview of one report has itself as its only answer", () => {
  const shown = preview(PLAN, row, label, { question: "age" });
  assert.deepEqual(shown.answers.map(String), [String(shown)]);
});
