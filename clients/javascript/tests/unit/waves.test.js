/** Surveys with waves: the vectors, and a client that answers once, in the wave that it draws. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { toHex } from "../../src/bytes.js";
import { readPlan } from "../../src/core.js";
import { preview } from "../../src/preview.js";
import { dumpCanonicalJson } from "../../src/survey/canonical.js";
import { MemoryStore, Recorder } from "../../src/testing.js";
import { checkWaves, drawWave, inWave } from "../../src/waves.js";
import { answer, givenBytes } from "../answer.js";
import { makeClient } from "../clients.js";
import { readVectors, toBytes } from "../surveys.js";

const VECTORS = readVectors("good-waves");
const TOKENS = readVectors("tokens-waves");
const [{ row: ROW, label: LABEL }] = VECTORS.cases;
const WAVES = JSON.parse(VECTORS.plan).waves.list.slice(0, 3);
const QUESTIONS = JSON.parse(VECTORS.plan).questions.length;
const BEFORE = WAVES[0].opens - 86_400;
const AFTER = WAVES[2].closes;

/** Seconds since 1970. */
let now = BEFORE;
const { now: systemNow } = Date;

beforeEach(() => {
  now = BEFORE;
  Date.now = () => 1000 * now;
});

afterEach(() => {
  Date.now = systemNow;
});

/** Return the bytes of the plan of the vectors with its first three waves. @param {object} [changes] */
const planOf = (changes) => {
  const document = JSON.parse(VECTORS.plan);
  return toBytes(dumpCanonicalJson({ ...document, waves: { assign: "drawn", list: WAVES, ...changes } }));
};

/** @param {any} [options] of `makeClient`, and `plan` */
function clientOf({ plan = planOf(), ...options } = {}) {
  const recorder = new Recorder(plan);
  const survey = `https://collector.example/v1/surveys/${JSON.parse(new TextDecoder().decode(plan)).id}`;
  return makeClient({ survey, recorder, spread: 0, ...options });
}

/** @param {MemoryStore} store */
const waveOf = async (store) => /** @type {number} */ ((await store.read())[0].wave);

/** Return the index of the question in a report: after 36 bytes, one byte below 128. @param {Uint8Array} report */
const questionOf = (report) => report[36];

test("eight bytes draw a wave by the rule of questions", () => {
  const plan = readPlan(toBytes(VECTORS.plan), { check: checkWaves });
  assert.equal(VECTORS.draws.length, 260);
  for (const { random, wave } of VECTORS.draws) {
    const given = givenBytes(random);
    assert.equal(drawWave(/** @type {any} */ (plan), given.take), wave);
    assert.equal(given.left(), 0);
  }
});

test("a plan with waves is refused without their check", () => {
  assert.throws(() => readPlan(toBytes(VECTORS.plan)), { reason: "invalid-plan" });
});

test("an answer needs a wave of its survey", () => {
  const { label, random, row } = VECTORS.cases[0];
  for (const wave of [undefined, "2027-06-30", "", 0]) {
    assert.deepEqual(answer({ plan: VECTORS.plan, label, random, row, wave }), { error: "random" });
  }
});

test("a person is asked once, in a drawn wave", async () => {
  const { client, recorder, store } = clientOf();
  assert.equal((await client.plan()).wave, undefined);
  const granted = await client.grant();
  const index = await waveOf(store);
  const { closes, name, opens } = WAVES[index];
  assert.deepEqual([granted.state, granted.epsilon, granted.opens, granted.closes], ["waiting", 0, opens, closes]);
  assert.ok(String(granted).includes(`the wave ${name} has not opened yet`));
  now = opens - 1;
  const row = new Proxy(ROW, { get: () => assert.fail("the row is read") });
  const waiting = await client.report({ mood: row }, LABEL);
  assert.deepEqual([waiting.state, waiting.epsilon], ["waiting", 0]);
  const { isDue, ...own } = /** @type {any} */ ((await client.plan()).wave);
  assert.deepEqual([isDue(), own], [false, { index, name, opens, closes, isOpen: false }]);
  now = opens;
  assert.equal((await client.plan()).wave?.isOpen, true);
  assert.equal((await client.status()).state, "ready");
  assert.equal((await client.report(ROW, LABEL)).epsilon, 1);
  assert.equal((await client.flush()).state, "sent");
  assert.equal(Math.floor(questionOf(recorder.bodies[0]) / QUESTIONS), index);
  for (const later of WAVES) {
    now = later.opens;
    assert.equal((await client.report(ROW, LABEL)).state, "already_reported");
  }
  assert.equal(recorder.bodies.length, 1);
});

test("a person who does not answer in time has missed their wave", async () => {
  const { client, recorder, store } = clientOf();
  await client.grant();
  now = WAVES[await waveOf(store)].closes;
  assert.equal((await client.report({ age: "no such value" })).state, "missed"); // the row is not read
  await client.grant();
  assert.equal((await client.status()).state, "missed");
  now = AFTER;
  assert.equal((await client.report(ROW, LABEL)).state, "missed");
  assert.equal(recorder.bodies.length, 0);
  assert.equal((await store.read())[0].report, undefined);
});

test("a wave is kept through withdrawals and grants", async () => {
  const { client, store } = clientOf();
  await client.grant();
  const wave = await waveOf(store);
  for (let time = 0; time < 20; time++) {
    await client.withdraw();
    assert.equal((await client.status()).state, "no_consent");
    assert.equal((await client.plan()).wave?.index, wave);
    await client.grant();
    assert.equal(await waveOf(store), wave);
  }
});

test("who agrees after their wave is not asked", async () => {
  now = WAVES[2].opens;
  const states = new Set();
  for (let person = 0; person < 60; person++) { // all would be asked with probability 3 ** -60
    const { client, recorder } = clientOf();
    states.add((await client.grant()).state);
    if ((await client.status()).state === "not_asked") {
      assert.equal((await client.report(ROW, LABEL)).state, "not_asked");
      assert.equal(recorder.bodies.length, 0);
      await client.withdraw();
      assert.equal((await client.grant()).state, "not_asked");
    }
  }
  assert.deepEqual([...states].sort(), ["not_asked", "ready"]);
});

test("the draw at grant takes the next eight bytes, and an open wave needs none of a later grant", async () => {
  /** @type {number[]} */
  const counts = [];
  const random = (/** @type {number} */ count) => (counts.push(count), new Uint8Array(count).fill(255));
  const { client, store } = clientOf({ random });
  await client.grant();
  assert.equal(await waveOf(store), 2);
  await client.withdraw();
  await client.grant();
  assert.deepEqual(counts, [8]);
  now = WAVES[2].opens;
  await client.report(ROW, LABEL);
  assert.deepEqual(counts.slice(0, 3), [8, 8, 16]);
});

test("several clients share one wave, and make one report", async () => {
  const store = new MemoryStore();
  const clients = Array.from({ length: 8 }, () => clientOf({ store }).client);
  const granted = await Promise.all(clients.map((each) => each.grant()));
  assert.equal(new Set(granted.map(({ opens }) => opens)).size, 1);
  now = WAVES[await waveOf(store)].opens;
  const states = (await Promise.all(clients.map((each) => each.report(ROW, LABEL)))).map(({ state }) => state);
  assert.deepEqual(states.sort(), [...Array(7).fill("already_reported"), "queued"]);
});

test("a wave that ends while the row is read draws nothing", async () => {
  const { client, store } = clientOf();
  await client.grant();
  const { closes, opens } = WAVES[await waveOf(store)];
  now = opens;
  const { update } = store;
  store.update = (change) => (now = closes, update.call(store, change)); // the transaction waits for another one
  const receipt = await client.report(ROW, LABEL);
  assert.deepEqual([receipt.state, receipt.epsilon], ["missed", 0]);
  const [entry] = await store.read();
  assert.deepEqual([entry.report, entry.state, entry.epsilon], [undefined, "ready", "0"]);
});

test("a clock that is set back answers once", async () => {
  const { client, store } = clientOf();
  await client.grant();
  now = WAVES[await waveOf(store)].opens;
  await client.report(ROW, LABEL);
  now = BEFORE;
  assert.ok(["queued", "sent"].includes((await client.status()).state));
  await client.grant();
  now = WAVES[await waveOf(store)].opens;
  assert.equal((await client.report(ROW, LABEL)).state, "already_reported");
});

test("with assign \"now\" the open wave is answered, and nobody is asked after the last one", async () => {
  const plan = planOf({ assign: "now" });
  const { client, recorder } = clientOf({ plan });
  assert.equal((await client.plan()).wave?.name, WAVES[0].name);
  const receipt = await client.grant();
  assert.deepEqual([receipt.state, receipt.opens], ["waiting", WAVES[0].opens]);
  now = WAVES[1].opens;
  assert.equal((await client.status()).state, "ready");
  await client.report(ROW, LABEL);
  await client.flush();
  assert.equal(Math.floor(questionOf(recorder.bodies[0]) / QUESTIONS), 1);
  now = AFTER;
  assert.equal((await clientOf({ plan }).client.grant()).state, "not_asked");
});

test("if the next wave opens meanwhile, nothing is drawn, and the person may answer in it", async () => {
  const { client, store } = clientOf({ plan: planOf({ assign: "now" }) });
  await client.grant();
  now = WAVES[0].opens;
  const { update } = store;
  store.update = (change) => (now = WAVES[1].opens, update.call(store, change));
  const receipt = await client.report(ROW, LABEL);
  assert.deepEqual([receipt.state, receipt.epsilon], ["ready", 0]);
  assert.equal((await client.report(ROW, LABEL)).state, "queued");
});

test("a token names the wave", async () => {
  const plan = toBytes(TOKENS.plan);
  const { list } = JSON.parse(TOKENS.plan).waves;
  const [, first, , , , second] = TOKENS.cases; // of questions 1 and 5 of four in each wave
  const { client, store } = clientOf({ plan, token: first.token });
  assert.equal((await client.plan()).wave?.index, 0);
  await client.grant();
  assert.equal(await waveOf(store), 0);
  assert.equal((await clientOf({ plan, store, token: second.token }).client.grant()).opens, list[1].opens);
  assert.equal(await waveOf(store), 1);
  now = list[1].opens;
  const refused = await client.report(first.row, first.label);
  assert.equal(`${refused.state} ${refused.reason}`, "invalid invalid-token");
  assert.ok(refused.why.includes("another survey or wave"));
  const { client: invited, recorder } = clientOf({ plan, store, token: second.token });
  assert.equal((await invited.report(second.row, second.label)).state, "queued");
  await invited.flush();
  assert.equal(toHex(recorder.bodies[0]).slice(0, -2), second.report.slice(0, -2)); // all but the random answer
});

test("if another client grants a token of another wave meanwhile, nothing is drawn", async () => {
  const plan = toBytes(TOKENS.plan);
  const { list } = JSON.parse(TOKENS.plan).waves;
  const [, first, , , , second] = TOKENS.cases;
  const { client, store } = clientOf({ plan, token: first.token });
  await client.grant();
  now = list[0].opens;
  const { update } = store;
  store.update = async (change) => {
    store.update = update;
    await clientOf({ plan, store, token: second.token }).client.grant();
    return update.call(store, change);
  };
  const receipt = await client.report(first.row, first.label);
  assert.deepEqual([receipt.state, receipt.epsilon], ["waiting", 0]);
  const [entry] = await store.read();
  assert.deepEqual([entry.state, entry.wave, entry.report], ["ready", 1, undefined]);
});

test("a report of a wave that was over by a wrong clock has no reason", async () => {
  const { client, store } = clientOf();
  now = AFTER;
  assert.equal((await client.grant()).state, "not_asked");
  now = WAVES[await waveOf(store)].opens;
  assert.equal((await client.report(ROW, LABEL)).state, "queued");
  assert.deepEqual((await store.read()).map(({ reason, state }) => [state, reason]), [["queued", ""]]);
});

test("a preview is of the drawn wave, and says when it is", async () => {
  const { client, store } = clientOf();
  await client.grant();
  const { name } = WAVES[await waveOf(store)];
  const shown = await client.preview(ROW, LABEL);
  const when = `from ${name} 00:00 UTC to `;
  assert.ok(String(shown).startsWith(`You are asked once, in the wave ${name}, ${when}`));
  assert.equal(Math.floor(questionOf(shown.report) / QUESTIONS), await waveOf(store));
});

test("a preview without a wave draws one, and with one takes its name", () => {
  const plan = readPlan(planOf(), { check: checkWaves });
  assert.ok(String(preview(plan, ROW, LABEL)).startsWith(`You are asked once, in one of ${WAVES.length} waves, from `));
  const shown = String(preview(inWave(plan, WAVES[1].name), ROW, LABEL));
  assert.ok(shown.startsWith("You are asked once, in the wave 2027-0"));
  assert.equal(Math.floor(questionOf(preview(inWave(plan, WAVES[1].name), ROW, LABEL).report) / QUESTIONS), 1);
});

test("a grant writes the wave into an entry of an earlier version of the journal", async () => {
  const { client, store } = clientOf();
  await client.grant();
  await store.update(([{ wave: _wave, ...entry }], write) => write(entry));
  assert.equal(await waveOf(store), undefined);
  assert.equal((await client.status()).state, "ready");
  assert.equal((await client.report(ROW, LABEL)).state, "unavailable"); // there is no such entry: nothing is drawn
  assert.equal((await client.grant()).state, "waiting");
  assert.ok(await waveOf(store) >= 0);
});
