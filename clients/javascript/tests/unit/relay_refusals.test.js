/** What a client of a survey with a relay refuses, before anything is drawn or sent. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { BudgetError, Client, PlanError, PrivacyError, SurveyError, TransportError } from "../../src/index.js";
import { readPlan } from "../../src/core.js";
import { checkEntry, isRelayUrl } from "../../src/relay/plan_entry.js";
import { shuffledDelta } from "../../src/relay/shuffling.js";
import { throughRelay } from "../../src/relay.js";
import { dumpCanonicalJson } from "../../src/survey/canonical.js";
import { MemoryStore, Recorder } from "../../src/testing.js";
import { INVITED } from "../clients.js";
import { asText } from "../hpke.js";
import {
  brief, COLLECTOR_KEY, DIRECT, ENTRY, FakeRelay, LABEL, makeRelayed, PLAN, RELAY, relayedPlan, reported, ROW,
  URL_AT_RELAY,
} from "../relays.js";
import { readVectors, toBytes } from "../surveys.js";

const SYSTEM_CRYPTO = Object.getOwnPropertyDescriptor(globalThis, "crypto");

afterEach(() => Object.defineProperty(globalThis, "crypto", /** @type {any} */ (SYSTEM_CRYPTO)));

/**
 * The changes of the plan's entry and of the client's options, and the receipt of `grant`.
 *
 * @type {[string, any, any, any][]}
 */
const REFUSALS = [
  ["unavailable relay-unpinned", {}, { digest: undefined }, TransportError],
  ["unavailable relay-unsupported", {}, { route: null }, TransportError],
  ["rejected plan-changed", {}, { digest: "0".repeat(64) }, PlanError],
  ["rejected other-plan", { url: `https://other.example/${DIRECT.id}` }, {}, PlanError],
  ["rejected other-plan", { url: `https://relay.example:444/${DIRECT.id}` }, {}, PlanError],
  ["rejected epsilon-above-cap", {}, { maxEpsilon: 0.49 }, BudgetError],
  ["rejected epsilon-above-cap", {}, { route: throughRelay(RELAY, { maxLocalEpsilon: 3.9 }) }, BudgetError],
  ["rejected total-epsilon-spent", {}, { maxTotalEpsilon: 3.9 }, BudgetError],
  ...[{ epsilon: "0.2" }, { batch: 2000 }, { honest: "0.2" }, { epsilon: "0.3", delta: "0.00000001" }].map((changes) =>
    /** @type {[string, any, any, any]} */ (["rejected invalid-plan", changes, {}, PrivacyError])),
  ...[
    { url: `${RELAY}/other` },
    { url: `${RELAY}/x/${DIRECT.id}` },
    { url: `${URL_AT_RELAY}/` },
    { url: `https://a:b@relay.example/${DIRECT.id}` },
    { url: `http://relay.example/${DIRECT.id}` },
    { url: `https://relay.example:0/${DIRECT.id}` },
    { url: `https://relay.example:99999/${DIRECT.id}` },
    { url: null },
    { batch: 1, honest: "1" },
    { batch: "10000" },
    { batch: true },
    { batch: 10_000_001 },
    { honest: "0.00001" },
    { honest: "1.01" },
    { honest: "-0.73" },
    { honest: "NaN" },
    { honest: 1 },
    { epsilon: "0" },
    { epsilon: "32.1" },
    { delta: "0.0000000009" },
    { delta: "0.00002" },
    { delta: "1e-6" },
    { opens: 2_000_000_000 },
    { opens: "1700000000" },
    { opens: -1 },
    { closes: 2 ** 33 },
    { relay_key: COLLECTOR_KEY.text },
    { relay_key: "" },
    { relay_key: null },
    { collector_key: COLLECTOR_KEY.text.replace(/AQAB$/, "AQAC") },
    { collector_key: asText(1, new Uint8Array(32)) },
    { relay_key: asText(1, new Uint8Array(32)) },
    { mail: "" },
  ].map((changes) => /** @type {[string, any, any, any]} */ (["rejected invalid-plan", changes, {}, SurveyError])),
];

for (const [expected, changes, options, error] of REFUSALS) {
  const { route, ...shown } = options;
  const name = `refused: ${JSON.stringify({ ...changes, ...shown })}${route ? " by its relay" : ""}: ${expected}`;
  test(name, async () => {
    const served = relayedPlan(changes);
    const { digest } = readPlan(served, { check: () => {} });
    let draws = 0;
    const random = (/** @type {number} */ count) => (draws++, new Uint8Array(count));
    const made = () => makeRelayed({ relay: new FakeRelay(served), digest, random, ...options });
    const { client, relay } = made();
    assert.equal(brief(await client.grant()), expected);
    assert.equal((await client.report(ROW, LABEL)).state, "no_consent");
    await client.close();
    assert.equal(draws, 0);
    assert.ok(relay.requests.every(({ method, url }) => method === "GET" && url.startsWith(`${RELAY}/`)));
    const strict = makeRelayed({ relay, digest, ...options, strict: true }).client;
    await assert.rejects(strict.grant(), (/** @type {Error} */ thrown) => thrown.constructor === error);
  });
}

test("the message of a client without a relay names the option", async () => {
  const { why } = await makeRelayed({ route: null }).client.grant();
  assert.equal(why, "the survey needs the option relay");
});

test("a plan without a relay, or with an invitation, is refused", async () => {
  const direct = toBytes(dumpCanonicalJson(DIRECT));
  const { digest } = readPlan(direct);
  const made = makeRelayed({ relay: new FakeRelay(direct), digest });
  assert.equal(brief(await made.client.grant()), "rejected other-plan");
  const { id, ...invited } = JSON.parse(INVITED.plan);
  const survey = `${RELAY}/${id}`;
  const plan = relayedPlan({ url: survey }, { id, ...invited });
  const { client } = makeRelayed({ survey: plan, url: survey, digest: undefined });
  assert.equal(brief(await client.grant()), "rejected invalid-plan");
});

for (const relay of [null, 5, true, "none", {}, []]) {
  test(`a plan whose relay is ${JSON.stringify(relay)} is refused with and without the option`, async () => {
    const plan = toBytes(dumpCanonicalJson({ ...DIRECT, relay }));
    const made = makeRelayed({ survey: plan, url: URL_AT_RELAY, digest: undefined });
    assert.equal(brief(await made.client.grant()), "rejected invalid-plan");
    const direct = makeRelayed({ survey: plan, url: URL_AT_RELAY, digest: undefined, route: null });
    assert.equal(brief(await direct.client.grant()), "unavailable relay-unsupported");
  });
}

test("the core alone refuses a plan with a relay", () => {
  assert.throws(() => readPlan(PLAN), SurveyError);
});

test("an address has the one form that all readers understand alike", () => {
  const { bad, good } = readVectors("relay-addresses");
  assert.deepEqual(good.filter((/** @type {string} */ url) => !isRelayUrl(url)), []);
  assert.deepEqual([...bad, null, 5].filter(isRelayUrl), []);
});

test("the collector's address is named", () => {
  const survey = "https://collector.example/v1/surveys/vectors";
  assert.throws(() => makeRelayed({ survey }), /address at the relay, https:\/\/relay.example\/ID, not its address at/);
});

test("the number of honest reports is exact", () => {
  const entry = { ...ENTRY, batch: 100, honest: "0.29", epsilon: "0.3" };
  const [more, fewer] = [29, 28].map((reports) => shuffledDelta(1.5, reports, 0.3));
  const delta = ((more + fewer) / 2).toFixed(20).replace(/0+$/, "");
  assert.ok(fewer > Number(delta) && Number(delta) >= more);
  checkEntry({ ...entry, delta }, DIRECT.id, 1.5);
  assert.throws(() => checkEntry({ ...entry, delta, batch: 99 }, DIRECT.id, 1.5), PrivacyError);
});

test("a browser that cannot seal draws nothing", async () => {
  let draws = 0;
  const random = (/** @type {number} */ count) => (draws++, new Uint8Array(count));
  const { subtle } = crypto;
  const generateKey = () => Promise.reject(new DOMException("unknown", "NotSupportedError"));
  const value = { getRandomValues: crypto.getRandomValues.bind(crypto), subtle: new Proxy(subtle, {
    get: (target, name) => name === "generateKey" ? generateKey : Reflect.get(target, name).bind(target),
  }) };
  const granted = makeRelayed({ random });
  await granted.client.grant();
  Object.defineProperty(globalThis, "crypto", { configurable: true, value });
  assert.equal(brief(await makeRelayed({ random }).client.grant()), "unavailable relay-unsupported");
  const later = makeRelayed({ random, store: granted.store });
  assert.equal(brief(await later.client.report(ROW, LABEL)), "unavailable relay-unsupported");
  assert.equal(draws, 0);
});

const MISTAKES = /** @type {[string, any][]} */ ([
  ["a text in place of throughRelay", { route: RELAY }],
  ["an object", { route: {} }],
  ["a survey at another relay", { route: throughRelay("https://other.example") }],
  ["a survey at the relay's other port", { route: throughRelay("https://relay.example:444") }],
  ["a collector's address", { survey: `${RELAY}/v1/surveys/${DIRECT.id}` }],
]);
for (const [name, options] of MISTAKES) {
  test(`a mistake of the application throws bad-option: ${name}`, () => {
    const relay = new FakeRelay();
    assert.throws(() => makeRelayed({ relay, ...options }), { reason: "bad-option" });
    assert.equal(relay.requests.length, 0);
  });
}

for (const [origin, options] of /** @type {any[]} */ ([
  ["relay.example"], ["https://relay.example/x"], ["https://relay.example?x"], ["javascript:x"], [undefined],
  [RELAY, { maxLocalEpsilon: 0 }], [RELAY, { maxLocalEpsilon: "5" }],
])) {
  test(`throughRelay refuses ${origin} ${JSON.stringify(options)}`, () => {
    assert.throws(() => throughRelay(origin, options), { reason: "bad-option" });
  });
}

test("a client that has become stricter does not send the message of an earlier visit", async () => {
  const relay = new FakeRelay();
  relay.answers = ["no answer"];
  const { client, store } = await reported(makeRelayed({ relay }));
  await client.close();
  const stricter = makeRelayed({ relay, store, maxEpsilon: 0.4 }).client;
  assert.equal(brief(await stricter.flush(20)), "rejected epsilon-above-cap");
  const local = makeRelayed({ relay, store, route: throughRelay(RELAY, { maxLocalEpsilon: 3 }) }).client;
  assert.equal(brief(await local.flush(20)), "rejected epsilon-above-cap");
  assert.equal(relay.of("POST").length, 1);
});

test("a report without a seal is not sent by a client with a relay", async () => {
  const recorder = new Recorder(toBytes(dumpCanonicalJson(DIRECT)));
  const store = new MemoryStore();
  const options = { person: null, store, send: recorder.send, maxEpsilon: 5, spread: 3600 };
  const client = new Client(URL_AT_RELAY, options);
  await client.grant();
  await client.report(ROW, LABEL);
  recorder.isOffline = true;
  await client.close();
  const { digest } = readPlan(toBytes(dumpCanonicalJson(DIRECT)));
  const { client: relayed, relay } = makeRelayed({ store, digest });
  assert.equal(brief(await relayed.flush(20)), "rejected other-plan");
  assert.equal(relay.requests.length, 0);
});

