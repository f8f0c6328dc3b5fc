/** Several clients of one journal in one page, and functions of the application that fail. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { MemoryStore, Recorder } from "../../src/testing.js";
import { LABEL, makeClient, optedOut, PLAN, ROW, URL_OF_SURVEY } from "../clients.js";

/** @param {number} milliseconds */
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Make a function that makes clients of one journal and one collector. */
function makeShared() {
  const shared = { recorder: new Recorder(PLAN), store: new MemoryStore() };
  return { ...shared, make: (/** @type {any} */ options) => makeClient({ ...shared, ...options }).client };
}

/** @param {import("../../src/client/client.js").Client} client */
async function report(client) {
  await client.grant();
  assert.equal((await client.report(ROW, LABEL)).state, "queued");
}

test("a report is sent although another client of its survey was closed", async () => {
  const { make, recorder } = makeShared();
  const client = make({ spread: 0.2 });
  await report(client);
  await make({ send: async () => { throw new TypeError("no network"); } }).close();
  await wait(500);
  assert.equal((await client.status()).state, "sent");
  assert.equal(recorder.bodies.length, 1);
});

test("the collector's answer goes to the client that made the report", async () => {
  const { make } = makeShared();
  /** @type {string[]} */
  const outcomes = [];
  const [earlier, client, later] = ["earlier", "client", "later"].map((name) =>
    () => make({ onOutcome: (/** @type {any} */ { state }) => outcomes.push(`${name} ${state}`) }));
  earlier();
  const made = client();
  await report(made);
  const other = later();
  assert.equal((await other.flush(60)).state, "sent");
  assert.deepEqual(outcomes, ["client queued", "client sent"]);
});

test("a report is sent if one of the open clients of its survey accepts it", async () => {
  const { make, recorder } = makeShared();
  await report(make({}));
  const stricter = make({ digest: "0".repeat(64) });
  assert.equal((await stricter.flush(60)).state, "sent");
  assert.equal(recorder.reports.length, 1);
});

test("a report waits if all open clients of its survey refuse it, although a closed one accepted it", async () => {
  const { make, recorder } = makeShared();
  const client = make({});
  await report(client);
  recorder.isOffline = true;
  const stricter = make({ digest: "0".repeat(64) });
  await client.close();
  recorder.isOffline = false;
  assert.equal((await stricter.flush(20)).reason, "plan-changed");
  await stricter.close();
  assert.equal(recorder.bodies.length, 0);
});

test("a report that is sent at the end of the page has no second attempt meanwhile", async () => {
  /** @type {string[]} */
  const outcomes = [];
  const recorder = new Recorder(PLAN);
  const send = async (/** @type {any} */ request) => {
    if (request.method === "POST") await wait(200);
    return recorder.send(request);
  };
  const ended = /** @type {(() => void)[]} */ ([]);
  Object.assign(globalThis, { addEventListener: (/** @type {string} */ _, /** @type {any} */ end) => ended.push(end) });
  try {
    const { client } = makeClient({ send, onOutcome: (/** @type {any} */ { state }) => outcomes.push(state) });
    await report(client);
    ended.forEach((end) => end()); // the page is hidden, and shown again
    assert.equal((await client.flush(60)).state, "sent");
  } finally {
    Reflect.deleteProperty(globalThis, "addEventListener");
  }
  assert.deepEqual(outcomes, ["queued", "sent"]);
  assert.equal(recorder.bodies.length, 1);
});

for (const [name, answer] of /** @type {[string, any][]} */ ([
  ["nothing", undefined],
  ["null", null],
  ["a text", "recorded"],
  ["a pause that is no number", { status: 503, body: new Uint8Array(), retryAfter: NaN }],
  ["a body that is a text", { status: 200, body: '{"status":"recorded"}' }],
])) {
  test(`a function \`send\` that returns ${name} is no answer, and sending goes on`, async () => {
    let posts = 0;
    const recorder = new Recorder(PLAN);
    const send = async (/** @type {any} */ request) =>
      request.method === "POST" && posts++ === 0 ? answer : recorder.send(request);
    const { client } = makeClient({ send });
    await report(client);
    assert.equal((await client.flush(60)).state, "sent");
    assert.equal(posts, 2);
  });
}

test("a plan that a function `send` does not return is a receipt", async () => {
  const { client } = makeClient({ send: async () => undefined });
  assert.equal((await client.grant()).reason, "collector-unreachable");
});

test("an error of an asynchronous onOutcome is logged by its type alone", async (context) => {
  const logged = context.mock.method(console, "error", () => {});
  const { client } = makeClient({ onOutcome: async () => { throw new RangeError("a value"); } });
  await report(client);
  await wait(10);
  assert.deepEqual(logged.mock.calls.map((call) => call.arguments), [["onOutcome failed: RangeError"]]);
});

test("a report that waits for another attempt is not sent once the browser forbids it", async () => {
  const recorder = new Recorder(PLAN);
  const send = async (/** @type {any} */ request) => (await wait(100), recorder.send(request));
  const { client } = makeClient({ send });
  await report(client);
  recorder.respond("busy", { retryAfter: 0 });
  const flushed = [client.flush(60), client.flush(60)];
  await wait(50); // the first one sends, the second one waits
  await optedOut(async () => {
    for (const each of flushed) assert.equal((await each).reason, "do-not-track");
  });
  assert.equal(recorder.bodies.length, 1);
});

test("a flush without an end waits for the collector's answer", async () => {
  const recorder = new Recorder(PLAN);
  const send = async (/** @type {any} */ request) => (await wait(50), recorder.send(request));
  const { client } = makeClient({ send });
  await report(client);
  assert.equal((await client.flush(Infinity)).state, "sent");
});

test("the journal stores the bytes of the plan, and nothing that is beside them in memory", async () => {
  const memory = new Uint8Array(PLAN.length + 100).fill(7);
  memory.set(PLAN, 50);
  const { client, store } = makeClient({ survey: memory.subarray(50, 50 + PLAN.length), url: URL_OF_SURVEY });
  await client.grant();
  const [entry] = await store.read();
  assert.deepEqual(new Uint8Array(entry.plan?.buffer ?? new ArrayBuffer(0)), new Uint8Array(PLAN));
});
