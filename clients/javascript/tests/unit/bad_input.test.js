/** A plan, row or token that does not fit is a receipt with a stable reason: nothing is drawn, spent or sent. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Recorder } from "../../src/testing.js";
import { valueOf } from "../answer.js";
import { INVITED, LABEL, makeClient, PLAN, ROW, SURVEY } from "../clients.js";
import { readVectors, toBytes } from "../surveys.js";

const HTML = "<!doctype html><title>Sign in</title>";

function drawNothing() {
  assert.fail("random bytes were drawn");
}

/**
 * Return a client of a plan that its collector serves, whose random source fails the test.
 *
 * @param {string} plan
 * @param {any} [options]
 */
function makeRefusing(plan, { id = undefined, ...options } = {}) {
  const survey = `https://collector.example/v1/surveys/${id ?? JSON.parse(plan).id}`;
  return makeClient({ survey, recorder: new Recorder(plan), random: drawNothing, ...options });
}

/**
 * Make the report of a row with a client that has consent, and require that it was refused.
 *
 * @param {any} made
 * @param {any} row
 * @param {unknown} label
 */
async function reportRefused({ client, recorder, store }, row, label) {
  const before = JSON.stringify(await store.read());
  const receipt = await client.report(row, label);
  assert.equal(`${receipt.state} ${receipt.reason} ${receipt.epsilon}`, "invalid invalid-row 0");
  assert.equal((await client.status()).state, "ready");
  assert.equal(JSON.stringify(await store.read()), before);
  assert.equal(recorder.bodies.length, 0);
  return receipt;
}

for (const [file, least] of /** @type {[string, number][]} */ ([["bad-plans", 300], ["bad-plans-unlabelled", 50]])) {
  test(`no plan of the vectors ${file} is agreed to`, async () => {
    const { honest, label, plans, row } = readVectors(file);
    const { id } = JSON.parse(honest);
    assert.equal((await makeRefusing(honest).client.grant()).state, "ready");
    assert.ok(plans.length > least);
    for (const { name, plan } of plans) {
      const { client, recorder, store } = makeRefusing(plan, { id });
      const expected = isMeantAsPlan(plan) ? "rejected invalid-plan 0" : "unavailable collector-unreachable 0";
      for (const receipt of [await client.grant(), await client.grant()]) {
        assert.equal(`${receipt.state} ${receipt.reason} ${receipt.epsilon}`, expected, name);
      }
      assert.equal((await client.report(row, label)).reason, "no-consent", name);
      assert.deepEqual(await store.read(), [], name);
      assert.equal(recorder.bodies.length, 0);
    }
  });
}

/**
 * Return whether a text is an object in JSON with a number as `format`.
 *
 * @param {string} text
 */
function isMeantAsPlan(text) {
  try {
    return typeof JSON.parse(text.replace("\ufeff", "")).format === "number";
  } catch {
    return false;
  }
}

test("HTML with status 200 in place of a plan is refused, and the plan is accepted afterwards", async () => {
  const { client, recorder, store } = makeClient();
  recorder.respond("sign-in page");
  assert.equal((await client.grant()).state, "unavailable");
  assert.equal((await client.grant()).reason, "collector-unreachable");
  assert.deepEqual(await store.read(), []);
  recorder.respond("normal");
  assert.equal((await client.grant()).state, "ready");
});

test("a plan in HTML that the application ships is refused", async () => {
  const { client } = makeClient({ survey: toBytes(HTML), url: `https://collector.example/v1/surveys/${SURVEY}` });
  assert.equal((await client.grant()).reason, "invalid-plan");
});

for (const file of ["bad-rows", "bad-rows-unlabelled", "bad-rows-validation"]) {
  test(`no row of the vectors ${file} is reported; the receipt names the entry`, async () => {
    const { cases, plan } = readVectors(file);
    const made = makeRefusing(plan);
    assert.equal((await made.client.grant()).state, "ready");
    for (const { field, label, name, row } of cases) {
      const values = Object.fromEntries(Object.entries(row).map(([key, value]) => [key, valueOf(value)]));
      const receipt = await reportRefused(made, values, valueOf(label));
      assert.equal(receipt.field, field, name);
    }
  });
}

const [NUMBER] = Object.keys(ROW).filter((name) => typeof ROW[name] === "number");
const ROWS = /** @type {[string, any][]} */ ([
  ["an infinite number", { ...ROW, [NUMBER]: Infinity }],
  ["an object", { ...ROW, [NUMBER]: { valueOf: () => 1 } }],
  ["a boxed number", { ...ROW, [NUMBER]: Object(1) }],
  ["a symbol", { ...ROW, [NUMBER]: Symbol("1") }],
  ["a function", { ...ROW, [NUMBER]: () => 1 }],
  ["a date", { ...ROW, [NUMBER]: new Date() }],
  ["inherited properties", Object.create(ROW)],
  ["a list", Object.values(ROW)],
  ["a map", new Map(Object.entries(ROW))],
  ["null", null],
  ["nothing", undefined],
  ["a text", JSON.stringify(ROW)],
]);

for (const [name, row] of ROWS) {
  test(`a row is refused that is or has ${name}`, async () => {
    const made = makeRefusing(new TextDecoder().decode(PLAN));
    await made.client.grant();
    await reportRefused(made, row, LABEL);
  });
}

test("a polluted prototype answers for nobody", async () => {
  const made = makeRefusing(new TextDecoder().decode(PLAN));
  await made.client.grant();
  const { [NUMBER]: value, ...row } = ROW;
  Object.defineProperty(Object.prototype, NUMBER, { configurable: true, value });
  try {
    assert.equal((await reportRefused(made, row, LABEL)).field, NUMBER);
  } finally {
    Reflect.deleteProperty(Object.prototype, NUMBER);
  }
});

test("a misspelt token is refused when the person agrees and when they answer", async () => {
  const good = INVITED.cases.find((/** @type {any} */ each) => each.report);
  const refused = INVITED.cases.filter((/** @type {any} */ each) => each.error === "token").map(({ token }) => token);
  const changed = [...good.token].map((letter, place) =>
    `${good.token.slice(0, place)}${letter === "a" ? "b" : "a"}${good.token.slice(place + 1)}`);
  assert.ok(refused.length > 3);
  for (const token of [...refused, ...changed, good.token.slice(1), `${good.token}a`]) {
    const { client, recorder, store } = makeRefusing(INVITED.plan, { token });
    const receipt = await client.grant();
    assert.equal(`${receipt.state} ${receipt.reason} ${receipt.field}`, "invalid invalid-token token", String(token));
    assert.ok(!token || !`${receipt}`.includes(token));
    assert.deepEqual(await store.read(), []);

    await makeRefusing(INVITED.plan, { store, token: good.token }).client.grant();
    const answered = await client.report(good.row, good.label);
    assert.equal(`${answered.state} ${answered.reason} ${answered.epsilon}`, "invalid invalid-token 0");
    assert.equal((await store.read())[0].state, "ready");
    assert.equal(recorder.bodies.length, 0);
  }
});
