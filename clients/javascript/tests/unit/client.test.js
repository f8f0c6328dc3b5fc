/** Rules of the client that no browser is needed for: options, journal, family, budget, transport. */

import assert from "node:assert/strict";
import { Socket } from "node:net";
import { afterEach, test } from "node:test";

import { Client } from "../../src/index.js";
import { parseRetryAfter, sendByFetch } from "../../src/client/transport.js";
import { MemoryStore, Recorder } from "../../src/testing.js";
import { LABEL, makeClient, PLAN, responding, ROW, SURVEY, URL_OF_SURVEY } from "../clients.js";
import { readVectors, toBytes } from "../surveys.js";

const systemFetch = globalThis.fetch;

afterEach(() => {
  globalThis.fetch = systemFetch;
  Reflect.deleteProperty(globalThis, "isSecureContext");
});

const MISTAKES = /** @type {[string, any, any][]} */ ([
  ["bad-person", URL_OF_SURVEY, {}],
  ["bad-person", URL_OF_SURVEY, undefined],
  ["bad-person", URL_OF_SURVEY, { person: "" }],
  ["bad-person", URL_OF_SURVEY, { person: "a b" }],
  ["bad-person", URL_OF_SURVEY, { person: 7 }],
  ["bad-option", "sleep", { person: null }],
  ["bad-option", "https://collector.example/v1/surveys/", { person: null }],
  ["bad-option", "https://collector.example/v1/surveys/sleep?x", { person: null }],
  ["bad-option", "ftp://collector.example/v1/surveys/sleep", { person: null }],
  ["bad-option", PLAN, { person: null }],
  ["bad-option", URL_OF_SURVEY, { person: null, maxEpsilon: 0 }],
  ["bad-option", URL_OF_SURVEY, { person: null, maxTotalEpsilon: NaN }],
  ["bad-option", URL_OF_SURVEY, { person: null, spread: -1 }],
  ["bad-option", URL_OF_SURVEY, { person: null, token: 7 }],
  ["bad-option", URL_OF_SURVEY, { person: null, onOutcome: "log" }],
  ["bad-option", URL_OF_SURVEY, { person: null, publicKey: "key" }],
  ["bad-option", URL_OF_SURVEY, { person: null, max_epsilon: 1 }],
  ["bad-option", URL_OF_SURVEY, { person: null, publickey: "key" }],
  ["bad-digest", URL_OF_SURVEY, { person: null, digest: "5824" }],
]);

for (const [reason, survey, options] of MISTAKES) {
  test(`a mistake of the application throws ${reason}: ${survey} ${JSON.stringify(options)}`, () => {
    assert.throws(() => new Client(survey, options), { reason });
  });
}

test("a client with the recorder connects to nothing", async (context) => {
  const connect = context.mock.method(Socket.prototype, "connect");
  const recorder = new Recorder(PLAN);
  for (const behaviour of /** @type {const} */ (["normal", "busy", "closed", "rejected", "sign-in page"])) {
    recorder.respond("normal");
    const { client } = makeClient({ recorder, spread: 0 });
    await client.grant();
    recorder.respond(behaviour);
    await client.report(ROW, LABEL);
    await client.flush(0.01);
    recorder.isOffline = true;
    await client.close();
    recorder.isOffline = false;
  }
  assert.ok(recorder.bodies.length >= 4);
  assert.equal(connect.mock.callCount(), 0);
  await fetch("http://127.0.0.1:65534/").catch(() => {});
  assert.equal(connect.mock.callCount(), 1, "the mock sees connections");
});

test("an unknown option is named", () => {
  const options = /** @type {any} */ ({ person: null, max_total_epsilon: 1 });
  assert.throws(() => new Client(URL_OF_SURVEY, options), { message: /max_total_epsilon/ });
});

test("an insecure context is a clear error", () => {
  Object.defineProperty(globalThis, "isSecureContext", { configurable: true, value: false });
  assert.throws(() => makeClient(), { reason: "insecure-context", message: /https/ });
});

test("the row is read when report is called", async () => {
  const { client, recorder, store } = makeClient();
  await client.grant();
  const row = { ...ROW };
  const waiting = client.report(row, LABEL);
  for (const name of Object.keys(row)) row[name] = "changed";
  assert.equal((await waiting).state, "queued");
  assert.equal((await store.read()).length, 1);
  assert.equal(recorder.bodies.length, 0);
});

test("a list of ticked choices is read when report is called", async () => {
  const { cases, plan } = readVectors("good-choices");
  const bytes = toBytes(plan);
  const survey = `https://collector.example/v1/surveys/${JSON.parse(plan).id}`;
  const { client } = makeClient({ survey, recorder: new Recorder(bytes) });
  await client.grant();
  const [{ row, label }] = cases;
  const cups = ["small"];
  const waiting = client.report({ ...row, cups }, label);
  cups.push("secret");
  assert.equal((await waiting).state, "queued");
});

test("a survey without a label is answered with the row alone", async () => {
  const { cases, plan } = readVectors("good-unlabelled");
  const survey = `https://collector.example/v1/surveys/${JSON.parse(plan).id}`;
  const { client } = makeClient({ survey, recorder: new Recorder(toBytes(plan)) });
  await client.grant();
  const [{ row }] = cases;
  const refused = await client.report(row, "yes");
  assert.equal(`${refused}`, "invalid (label: the survey has no label)");
  assert.ok(String(await client.preview(row)).includes("What would be sent"));
  assert.equal((await client.report(row)).state, "queued");
});

test("calls at once draw one report", async () => {
  let draws = 0;
  const random = (/** @type {number} */ count) => (draws++, new Uint8Array(count));
  const { client, store } = makeClient({ random });
  await client.grant();
  const clients = [client, ...Array.from({ length: 7 }, () => makeClient({ random, store }).client)];
  const receipts = await Promise.all(clients.map((each) => each.report(ROW, LABEL)));
  assert.deepEqual(receipts.map(({ state }) => state).sort(), [...Array(7).fill("already_reported"), "queued"]);
  assert.equal(draws, 3); // the question, the id, the mechanism
});

test("a source of randomness that fails spends nothing", async () => {
  const { client, store } = makeClient({ random: () => new Uint8Array() });
  await client.grant();
  const receipt = await client.report(ROW, LABEL);
  assert.equal(`${receipt.state} ${receipt.reason}`, "unavailable no-randomness");
  assert.equal((await client.status()).state, "ready");
  assert.equal((await store.read())[0].epsilon, "0");
});

test("a store that fails after the draw spends nothing, and the next call draws anew", async () => {
  const store = new MemoryStore();
  const random = (/** @type {number} */ count) => {
    store.isBroken = true;
    return new Uint8Array(count);
  };
  const { client } = makeClient({ store, random });
  await client.grant();
  assert.equal((await client.report(ROW, LABEL)).reason, "journal-unavailable");
  store.isBroken = false;
  assert.equal((await client.status()).state, "ready");
  assert.equal((await makeClient({ store }).client.report(ROW, LABEL)).state, "queued");
});

test("another round of the survey at the same origin is answered already", async () => {
  const { client, store } = makeClient();
  await client.grant();
  await client.report(ROW, LABEL);
  const document = JSON.parse(new TextDecoder().decode(PLAN));
  const text = JSON.stringify({ ...document, id: "second-round", family: document.family ?? SURVEY });
  const sorted = toBytes(canonical(JSON.parse(text)));
  const options = { store, recorder: new Recorder(sorted) };
  const next = makeClient({ ...options, survey: "https://collector.example/v1/surveys/second-round" }).client;
  await next.grant();
  const receipt = await next.report(ROW, LABEL);
  assert.equal(`${receipt.state} ${receipt.survey}`, `already_reported ${SURVEY}`);
  const elsewhere = makeClient({ ...options, survey: "https://other.example/v1/surveys/second-round" }).client;
  assert.equal((await elsewhere.grant()).state, "ready");
  assert.equal((await elsewhere.report(ROW, LABEL)).state, "queued");
});

/** @param {any} value @returns {string} */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (!value || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)}}`;
}

test("a preview shows a report, and stores and sends nothing", async () => {
  const { client, recorder, store } = makeClient();
  const shown = await client.preview(ROW, LABEL);
  assert.ok(shown.report.length > 50);
  assert.deepEqual(await store.read(), []);
  assert.equal(recorder.bodies.length, 0);
  await assert.rejects(client.preview({}, LABEL), { reason: "invalid-row" });
});

test("the budget of all surveys is exact", async () => {
  const { epsilon } = JSON.parse(new TextDecoder().decode(PLAN));
  const store = new MemoryStore();
  const elsewhere = URL_OF_SURVEY.replace("collector", "other");
  for (const survey of [URL_OF_SURVEY, elsewhere]) {
    const { client } = makeClient({ store, survey, maxTotalEpsilon: 2 * Number(epsilon) });
    await client.grant();
    assert.equal((await client.report(ROW, LABEL)).state, "queued");
  }
  const survey = URL_OF_SURVEY.replace("collector", "third");
  const third = makeClient({ store, survey, maxTotalEpsilon: 2 * Number(epsilon) });
  assert.equal((await third.client.grant()).reason, "total-epsilon-spent");
});

test("consent to one URL is not consent to another", async () => {
  const { client, store } = makeClient();
  await client.grant();
  const moved = makeClient({ store, survey: URL_OF_SURVEY.replace("/v1", "/proxy/v1") }).client;
  assert.equal((await moved.report(ROW, LABEL)).reason, "no-consent");
});

test("a shipped plan needs no network, and another plan of the survey is refused", async () => {
  const { client, recorder, store } = makeClient({ survey: PLAN, url: URL_OF_SURVEY });
  recorder.isOffline = true;
  assert.equal((await client.grant()).state, "ready");
  const document = JSON.parse(new TextDecoder().decode(PLAN));
  const other = toBytes(canonical({ ...document, family: "changed" }));
  const changed = makeClient({ store, survey: other, url: URL_OF_SURVEY }).client;
  assert.equal((await changed.grant()).reason, "plan-changed");
  assert.equal((await changed.report(ROW, LABEL)).reason, "plan-changed");
});

test("a client that pins another plan does not send the report of an earlier version", async () => {
  const { client, recorder: former, store } = makeClient();
  await client.grant();
  await client.report(ROW, LABEL);
  former.isOffline = true;
  await client.close();
  const { client: stricter, recorder } = makeClient({ store, digest: "0".repeat(64) });
  assert.equal((await stricter.flush(20)).reason, "plan-changed");
  assert.equal(recorder.bodies.length, 0);
});

test("the bytes are equal at every attempt", async () => {
  const { client, recorder } = makeClient();
  await client.grant();
  await client.report(ROW, LABEL);
  recorder.respond("busy", { retryAfter: 0 });
  await client.flush(1);
  recorder.respond("sign-in page");
  await client.flush(1);
  recorder.respond("normal");
  assert.equal((await client.flush(60)).state, "sent");
  assert.ok(recorder.bodies.length >= 3);
  assert.equal(new Set(recorder.bodies.map(String)).size, 1);
});

test("flush does not wait for a longer pause than its own, and sends nothing before its end", async () => {
  const { client, recorder } = makeClient();
  await client.grant();
  await client.report(ROW, LABEL);
  recorder.respond("busy", { retryAfter: 3600 });
  await client.flush(0.2);
  recorder.respond("normal");
  const start = performance.now();
  assert.equal((await client.flush(600)).reason, "too-many-requests");
  assert.ok(performance.now() - start < 100_000);
  assert.equal(recorder.bodies.length, 1);
});

test("an error in onOutcome is logged by its type alone", async (context) => {
  const logged = context.mock.method(console, "error", () => {});
  const onOutcome = () => { throw new RangeError("a value"); };
  const { client } = makeClient({ onOutcome, send: responding(200, { status: "recorded" }) });
  await client.grant();
  await client.report(ROW, LABEL);
  assert.equal((await client.flush(60)).state, "sent");
  assert.deepEqual(logged.mock.calls.map((call) => call.arguments), Array(2).fill(["onOutcome failed: RangeError"]));
});

test("close tries to send a report that was never tried", async () => {
  const { client, recorder } = makeClient();
  await client.grant();
  await client.report(ROW, LABEL);
  await client.close();
  assert.equal(recorder.reports.length, 1);
});

test("a request has no credentials, no referrer and no redirects, and keeps its bytes", async () => {
  /** @type {any[]} */
  const calls = [];
  globalThis.fetch = /** @type {any} */ (async (/** @type {any[]} */ ...call) => {
    calls.push(call);
    return new Response("{}", { status: 503, headers: { "Retry-After": "7" } });
  });
  const body = Uint8Array.of(0x95, 0xff, 0);
  const response = await sendByFetch({ method: "POST", url: `${URL_OF_SURVEY}/reports`, body, timeout: 1 });
  assert.deepEqual({ ...response, body: [...response.body] }, { status: 503, retryAfter: 7, body: [123, 125] });
  const [[url, { body: blob, signal, ...options }]] = calls;
  assert.equal(url, `${URL_OF_SURVEY}/reports`);
  assert.equal(blob.type, "text/plain");
  assert.deepEqual(new Uint8Array(await blob.arrayBuffer()), body);
  assert.ok(signal instanceof AbortSignal);
  assert.deepEqual(options, {
    method: "POST", keepalive: true, credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store",
    redirect: "error",
  });
});

test("a response of more than a mebibyte is refused", async () => {
  globalThis.fetch = /** @type {any} */ (async () => new Response(new Uint8Array((1 << 20) + 1)));
  await assert.rejects(sendByFetch({ method: "GET", url: URL_OF_SURVEY, timeout: 1 }));
});

test("a response without an end is refused after a mebibyte, and cancelled", async () => {
  let pulled = 0;
  let isCancelled = false;
  const body = new ReadableStream({
    pull: (stream) => (pulled++, stream.enqueue(new Uint8Array(1 << 16))),
    cancel: () => void (isCancelled = true),
  });
  globalThis.fetch = /** @type {any} */ (async () => new Response(body));
  await assert.rejects(sendByFetch({ method: "GET", url: URL_OF_SURVEY, timeout: 1 }));
  assert.ok(isCancelled);
  assert.ok(pulled < 20);
});

test("a response in parts, or without a body, is read whole", async () => {
  const parts = [PLAN.slice(0, 7), PLAN.slice(7, 7), PLAN.slice(7)];
  const body = new ReadableStream({ pull: (stream) => parts.length ? stream.enqueue(parts.shift()) : stream.close() });
  for (const [given, expected] of [[body, PLAN], [null, new Uint8Array()]]) {
    globalThis.fetch = /** @type {any} */ (async () => new Response(given));
    const response = await sendByFetch({ method: "GET", url: URL_OF_SURVEY, timeout: 1 });
    assert.deepEqual(response.body, new Uint8Array(/** @type {Uint8Array} */ (expected)));
  }
});

test("Retry-After is seconds or a date", () => {
  const date = "Sun, 22 Nov 2026 20:00:00 GMT";
  assert.equal(parseRetryAfter("30", null), 30);
  assert.equal(parseRetryAfter("Sun, 22 Nov 2026 20:01:00 GMT", date), 60);
  assert.equal(parseRetryAfter("Sun, 22 Nov 2026 19:00:00 GMT", date), 0);
  for (const text of [null, "", "0", "-5", "soon", "Sun, 22 Nov 2026 20:01:00 GMT"]) {
    assert.equal(parseRetryAfter(text, null), 0);
  }
});

test("flush leaves no timer behind, for which Node would wait", async () => {
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  const timers = new Set();
  const timerOf = /** @type {any} */ ((/** @type {() => void} */ call, /** @type {number} */ delay) => {
    const timer = set(() => (timers.delete(timer), call()), delay);
    return timers.add(timer), timer;
  });
  globalThis.setTimeout = timerOf;
  globalThis.clearTimeout = /** @type {any} */ ((/** @type {any} */ timer) => (timers.delete(timer), clear(timer)));
  try {
    const { client } = makeClient();
    await client.grant();
    await client.report(ROW, LABEL);
    assert.equal((await client.flush(60)).state, "sent");
    assert.deepEqual([...timers].filter((timer) => timer.hasRef()), []);
  } finally {
    Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
  }
});

test("consent and report while a slow preview runs are recorded, and the preview follows", async () => {
  const store = new MemoryStore();
  let release = () => {};
  const held = new Promise((resolve) => (release = () => resolve(undefined)));
  const slow = { name: store.name, update: store.update.bind(store), read: async () => store.read() };
  const { client } = makeClient({ store: slow, spread: 0 });
  slow.read = async () => (await held, store.read());
  const shown = client.preview(ROW, LABEL);
  slow.read = async () => store.read();
  assert.equal((await client.grant()).state, "ready");
  assert.equal((await client.report(ROW, LABEL)).state, "queued");
  release();
  assert.ok((await shown).possibleAnswers.length > 1);
  assert.equal((await client.flush()).state, "sent");
});
