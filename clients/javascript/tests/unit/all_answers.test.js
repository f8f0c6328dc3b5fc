/** Surveys in which each person answers all questions through a relay: the plans, the envelope, and the client. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { PrivacyError, readPlan, SurveyError } from "../../src/core.js";
import { Client } from "../../src/index.js";
import { buildMechanism } from "../../src/mechanisms/registry.js";
import { columnLengths, envelopeBytes } from "../../src/relay/sealing.js";
import { throughRelay } from "../../src/relay.js";
import { rehearse } from "../../src/rehearsal.js";
import { boundMessage } from "../../src/survey/all_answers.js";
import { MemoryStore, Recorder } from "../../src/testing.js";
import { givenBytes, valueOf } from "../answer.js";
import { fromHex, importPrivate, importPublic } from "../hpke.js";
import { brief, formatCode } from "../relays.js";
import { readVectors, toBytes } from "../surveys.js";

const { bad, good, messages } = readVectors("relay-plans");
const { surveys } = readVectors("envelopes");
const [SURVEY] = surveys;
const [{ label: LABEL, row: ROW }] = SURVEY.cases;
const { relay: ENTRY } = JSON.parse(SURVEY.plan);
const SYSTEM_CRYPTO = Object.getOwnPropertyDescriptor(globalThis, "crypto");

afterEach(() => Object.defineProperty(globalThis, "crypto", /** @type {any} */ (SYSTEM_CRYPTO)));

/**
 * Return a client of a plan, which takes every epsilon unless the options say otherwise.
 *
 * @param {string} plan
 * @param {any} [options] of the client, and `maxLocalEpsilon`
 */
function clientOf(plan, { maxLocalEpsilon = 100, ...options } = {}) {
  const { url } = JSON.parse(plan).relay;
  return new Client(toBytes(plan), {
    person: null, url, maxEpsilon: 100, spread: 3600, store: new MemoryStore(), send: new Recorder(plan).send,
    relay: throughRelay(new URL(url).origin, { maxLocalEpsilon }), ...options,
  });
}

for (const { name, plan } of good) {
  test(`a plan at a limit is taken: ${name}`, async () => {
    assert.equal((await clientOf(plan).plan()).relay?.ask, "all");
  });
}

for (const { name, plan } of bad) {
  test(`a plan just above a limit is refused: ${name}`, async () => {
    await assert.rejects(clientOf(plan).plan(), SurveyError);
  });
}

test("what spends too much is refused as such", async () => {
  const found = bad.filter((/** @type {any} */ { name }) => /epsilon 4|the product|the promise|too few/.test(name));
  assert.equal(found.length, 8);
  for (const { plan } of found) await assert.rejects(clientOf(plan).plan(), PrivacyError);
});

test("the bound of a message is the same double as in Python", () => {
  for (const { domain, is_yes_no: isYesNo, move, ratio, tables } of messages) {
    const mechanism = buildMechanism("DE", domain, tables, (_, make) => make());
    const question = { domain, mechanism, mechanismName: "DE", tables };
    assert.deepEqual(boundMessage(question), { ratio, move, isYesNo });
  }
});

for (const { cases, digest, plan } of surveys) {
  for (const { code, envelope, ephemeral_keys: keys, label, random, reports, row } of cases) {
    test(`an envelope follows from row, random bytes and keys, ${code ? "with" : "without"} a code`, async () => {
      const store = new MemoryStore();
      const { left, take } = givenBytes(random);
      const token = code ? formatCode(fromHex(code), digest) : undefined;
      const client = clientOf(plan, { store, token, random: take, strict: true });
      await client.grant();
      assert.equal(left(), random.length / 2);
      await useKeys(keys);
      const values = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, valueOf(value)]));
      await client.report(values, valueOf(label));
      const [entry] = await store.read();
      assert.equal(Buffer.from(entry.report ?? []).toString("hex"), envelope);
      assert.equal(left(), 0);
      const columns = columnLengths(readPlan(toBytes(plan), { check: () => {} }));
      assert.deepEqual(columns, reports.map((/** @type {string} */ report) => report.length / 2));
      assert.equal(envelope.length / 2, envelopeBytes(columns) + code.length / 2);
    });
  }
}

test("all answers are one entry with their sum, sent in the same bytes until the relay has them", async () => {
  const recorder = new Recorder(SURVEY.plan);
  const store = new MemoryStore();
  const client = clientOf(SURVEY.plan, { store, send: recorder.send });
  recorder.respond("busy", { retryAfter: 0 });
  assert.equal((await client.grant()).state, "ready");
  const receipt = await client.report(ROW, LABEL);
  assert.deepEqual([receipt.state, receipt.epsilon], ["queued", 4.5]);
  for (let attempt = 0; attempt < 3; attempt++) await client.flush(0);
  recorder.respond("normal");
  assert.equal((await client.flush(60)).state, "sent");
  assert.equal(new Set(recorder.bodies.map(String)).size, 1);
  assert.ok(recorder.bodies.length > 1);
  const entries = await store.read();
  assert.deepEqual(entries.map(({ epsilon, state }) => [epsilon, state]), [["4.5", "sent"]]);
  assert.deepEqual(entries[0].report, recorder.bodies[0]);
  assert.equal((await client.report(ROW, LABEL)).state, "already_reported");
  assert.equal(brief(await client.withdraw()), "withdrawn ");
  assert.deepEqual(recorder.reports, []);
});

for (const [name, options, expected] of /** @type {any[]} */ ([
  ["maxLocalEpsilon bounds the sum", { maxLocalEpsilon: 4.4 }, "rejected epsilon-above-cap"],
  ["maxLocalEpsilon bounds the sum alone", { maxLocalEpsilon: 4.5 }, "ready "],
  ["maxEpsilon bounds the promise", { maxEpsilon: 0.9 }, "rejected epsilon-above-cap"],
  ["maxEpsilon bounds the promise alone", { maxEpsilon: 1 }, "ready "],
  ["maxTotalEpsilon bounds the sum", { maxTotalEpsilon: 4.4 }, "rejected total-epsilon-spent"],
])) {
  test(name, async () => {
    assert.equal(ENTRY.epsilon, "1");
    assert.equal(brief(await clientOf(SURVEY.plan, options).grant()), expected);
  });
}

test("a row that does not fit draws nothing", async () => {
  let draws = 0;
  const random = (/** @type {number} */ count) => (draws++, new Uint8Array(count));
  const client = clientOf(SURVEY.plan, { random });
  await client.grant();
  for (const name of Object.keys(ROW)) {
    const { problems, state } = await client.report({ ...ROW, [name]: "secret" }, LABEL);
    assert.deepEqual([state, problems.map(({ field }) => field)], ["invalid", [name]]);
  }
  assert.equal(draws, 0);
  assert.equal((await client.report(ROW, LABEL)).state, "queued");
  assert.equal(draws, 2 * 4);
});

test("clients that answer at once make one envelope", async () => {
  const recorder = new Recorder(SURVEY.plan);
  const store = new MemoryStore();
  const clients = Array.from({ length: 4 }, () => clientOf(SURVEY.plan, { store, send: recorder.send }));
  await clients[0].grant();
  const receipts = await Promise.all(clients.map((each) => each.report(ROW, LABEL)));
  assert.equal(receipts.filter(({ state }) => state === "queued").length, 1);
  await Promise.all(clients.map((each) => each.flush(5)));
  assert.equal(recorder.reports.length, 1);
});

test("a rehearsal makes the envelope, and sends nothing", async () => {
  const recorder = new Recorder(SURVEY.plan);
  const { url } = ENTRY;
  const client = new Client(toBytes(SURVEY.plan), rehearse({
    person: null, url, send: recorder.send, relay: throughRelay(new URL(url).origin),
  }));
  await client.grant();
  assert.equal((await client.report(ROW, LABEL)).epsilon, 4.5);
  assert.equal(brief(await client.flush(20)), "queued rehearsal");
  assert.equal(recorder.bodies.length, 0);
});

/**
 * Let the next seals use these private keys, in this order.
 *
 * @param {string[]} digits
 */
async function useKeys(digits) {
  const { subtle } = crypto;
  const pairs = await Promise.all(digits.map(async (each) => {
    const secret = fromHex(each);
    const enc = await publicOf(secret);
    return { privateKey: await importPrivate(secret, enc), publicKey: await importPublic(enc) };
  }));
  const generateKey = async () => pairs.shift();
  const value = { getRandomValues: crypto.getRandomValues.bind(crypto), subtle: new Proxy(subtle, {
    get: (target, name) => name === "generateKey" ? generateKey : Reflect.get(target, name).bind(target),
  }) };
  Object.defineProperty(globalThis, "crypto", { configurable: true, value });
}

/** Return the public half of a private key. @param {Uint8Array} secret */
async function publicOf(secret) {
  const head = fromHex("302e020100300506032b656e04220420"); // PKCS #8 of an X25519 key
  const { createPrivateKey, createPublicKey } = await import("node:crypto");
  const key = createPrivateKey({ key: Buffer.concat([head, secret]), format: "der", type: "pkcs8" });
  return Buffer.from(/** @type {string} */ (createPublicKey(key).export({ format: "jwk" }).x), "base64url");
}
