/** Clients of surveys with a relay: what they send, and when. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "../../src/index.js";
import { readPlan } from "../../src/core.js";
import { rehearse } from "../../src/rehearsal.js";
import { throughRelay } from "../../src/relay.js";
import { MemoryStore, Recorder } from "../../src/testing.js";
import {
  brief, DIGEST, ENTRY, FakeRelay, formatCode, LABEL, makeRelayed, openMessage, openReport, PLAN, RELAY, relayedPlan,
  reported, respond, ROW, sent, URL_AT_RELAY,
} from "../relays.js";
import { readVectors, toBytes } from "../surveys.js";

const HELD = "the relay has it; it is counted when enough others have answered";

/** @param {number} milliseconds */
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** @param {FakeRelay} relay */
function messages(relay) {
  return new Set(relay.of("POST").map(({ body }) => Buffer.from(body ?? []).toString("hex")));
}

test("a report goes through the relay: plan, one sealed message, and nothing to anybody else", async () => {
  /** @type {any[]} */
  const outcomes = [];
  const { client, relay } = await sent({ onOutcome: (/** @type {any} */ receipt) => outcomes.push(receipt) });
  const steps = relay.requests.map((/** @type {any} */ { method, url }) => `${method} ${url}`);
  assert.deepEqual(steps, [`GET ${URL_AT_RELAY}/plan`, `POST ${URL_AT_RELAY}/${DIGEST}`]);
  const [{ body }] = relay.of("POST");
  const report = await openReport(body);
  assert.deepEqual([...report.subarray(0, 4)], [0x95, 1, 0xc4, 32]);
  assert.equal(Buffer.from(report.subarray(4, 36)).toString("hex"), DIGEST);
  const receipt = await client.status();
  assert.equal(`${receipt}`, `sent (${HELD})`);
  assert.deepEqual(outcomes.map(String), ["queued", `sent (${HELD})`]);
});

test("all messages have one length, whatever the question", async () => {
  const lengths = new Set();
  const questions = new Set();
  for (let index = 0; index < 12; index++) {
    const { relay } = await sent();
    const [{ body }] = relay.of("POST");
    lengths.add(body.length);
    questions.add((await openReport(body))[36]);
  }
  assert.equal(lengths.size, 1);
  assert.ok(questions.size > 1);
});

test("every repetition sends the same bytes until the relay has them, and then nothing is sent", async () => {
  const relay = new FakeRelay();
  relay.answers = [
    "no answer",
    respond(503, { reason: "store-unavailable" }, 0),
    respond(404, { reason: "unknown-survey" }),
    { status: 200, body: toBytes("<!doctype html><title>Sign in</title>") },
    respond(429, { reason: "too-many-requests" }, 0),
  ];
  const { client, store } = await reported(makeRelayed({ relay }));
  const reasons = [];
  while (relay.answers.length) reasons.push((await client.flush(0)).reason);
  assert.deepEqual(reasons, [
    "relay-unreachable", "store-unavailable", "unknown-survey", "relay-unreachable", "too-many-requests",
  ]);
  const { state, why } = await client.flush(5);
  assert.equal(`${state}: ${why}`, `sent: ${HELD}`);
  assert.equal(relay.of("POST").length, 6);
  assert.equal(messages(relay).size, 1);
  const again = makeRelayed({ relay, store, spread: 0 }).client;
  for (const act of [() => again.flush(1), () => again.grant(), () => again.report(ROW, LABEL), () => client.close()]) {
    await act();
  }
  await wait(50);
  assert.equal(relay.of("POST").length, 6);
});

test("a later visit sends the bytes of the earlier one", async () => {
  const relay = new FakeRelay();
  relay.answers = ["no answer", "no answer"];
  const { client, store } = await reported(makeRelayed({ relay }));
  await client.flush(0);
  await client.close();
  const later = makeRelayed({ relay, store: Object.assign(new MemoryStore("later"), {
    read: () => store.read(), update: store.update.bind(store),
  }) }).client;
  assert.equal((await later.flush(60)).state, "sent");
  assert.ok(relay.of("POST").length >= 2);
  assert.equal(messages(relay).size, 1);
});

test("two clients on one store make one message", async () => {
  const [relay, store] = [new FakeRelay(), new MemoryStore()];
  const clients = Array.from({ length: 5 }, () => makeRelayed({ relay, store }).client);
  await clients[0].grant();
  const receipts = await Promise.all(clients.map((each) => each.report(ROW, LABEL)));
  assert.deepEqual(receipts.map(({ state }) => state).sort(), [...Array(4).fill("already_reported"), "queued"]);
  await Promise.all(clients.map((each) => each.flush(5)));
  assert.equal(messages(relay).size, 1);
  assert.equal(relay.held.size, 1);
});

test("the journal has the sealed message alone, and the local epsilon", async () => {
  const { relay, store } = await sent();
  const [{ body }] = relay.of("POST");
  const [entry] = await store.read();
  assert.deepEqual(entry.report, body);
  assert.equal(entry.epsilon, "4");
  assert.equal(JSON.stringify(entry).includes(`"plan"`), false);
});

/**
 * Flush until the relay was asked, which takes long on a busy machine.
 *
 * @param {any} client
 * @param {FakeRelay} relay
 */
async function flushOnce(client, relay) {
  while (!relay.of("POST").length) await client.flush(0.05);
  return client.flush(0);
}

for (const [answer, state] of /** @type {[any, string][]} */ ([
  [respond(404, { reason: "other-plan" }), "rejected other-plan"],
  [respond(400, { reason: "bad-seal" }), "rejected bad-seal"],
  [respond(400, { reason: "malformed" }), "rejected malformed"],
  [respond(403, { reason: "survey-not-open" }, 60), "queued survey-not-open"],
  [respond(410, { reason: "survey-closed" }), "queued closed-once"],
  [respond(429, { reason: "too-many-requests" }, 60), "queued too-many-requests"],
  [respond(503, { reason: "store-unavailable" }), "queued store-unavailable"],
  [respond(404, { reason: "unknown-survey" }), "queued unknown-survey"],
  [respond(502, "a proxy"), "queued relay-unreachable"],
  [respond(202, { status: "recorded" }), "queued relay-unreachable"],
])) {
  test(`the relay answers ${answer.status} ${Buffer.from(answer.body)}: ${state}`, async () => {
    const relay = new FakeRelay();
    relay.answers = Array(100).fill(answer); // random pauses can be short
    const { client } = await reported(makeRelayed({ relay }));
    assert.equal(brief(await flushOnce(client, relay)), state);
    assert.equal(messages(relay).size, 1);
  });
}

test("a full network is said, and the message waits for hours", async () => {
  const relay = new FakeRelay();
  relay.answers = [respond(429, { reason: "network-full" }, 28_800)];
  const { client } = await reported(makeRelayed({ relay }));
  const why = "too many people have answered from your network; try another one";
  for (let attempt = 0; attempt < 2; attempt++) {
    assert.equal(String(await flushOnce(client, relay)), `queued (network-full: ${why})`);
  }
  assert.equal(relay.of("POST").length, 1);
});

test("only the relay's own words of a code or a network count", async () => {
  for (const answer of [respond(200, { reason: "code-used" }), respond(503, { reason: "network-full" })]) {
    const relay = new FakeRelay();
    relay.answers = Array(100).fill(answer);
    const { client } = await reported(makeRelayed({ relay }));
    assert.equal(brief(await flushOnce(client, relay)), "queued relay-unreachable");
  }
});

const CODE = Uint8Array.from({ length: 16 }, (_, index) => 255 - index);

test("a code is before the message for the collector, and the report does not contain it", async () => {
  const text = formatCode(CODE).toUpperCase();
  const { client, relay } = await sent({ token: `${text.slice(0, 9)}-${text.slice(9)} ` });
  const [{ body }] = relay.of("POST");
  const { code } = await openMessage(body, 16);
  assert.deepEqual(code, CODE);
  const report = await openReport(body, 16);
  assert.deepEqual([...report.subarray(0, 4)], [0x95, 1, 0xc4, 32]);
  assert.equal(Buffer.from(report).includes(Buffer.from(CODE)), false);
  assert.ok(String(await client.preview(ROW, LABEL)).includes("What would be sent"));
});

for (const token of ["", "a", `b${formatCode(CODE).slice(1)}`, formatCode(CODE, "0".repeat(64))]) {
  test(`the code "${token.length > 1 ? "b..." : token}" is refused before anything is drawn`, async () => {
    let draws = 0;
    const random = (/** @type {number} */ count) => (draws++, new Uint8Array(count));
    const { client, store } = makeRelayed({ random, token });
    const receipt = await client.grant();
    assert.equal(`${receipt.state} ${receipt.field}`, "invalid token");
    await makeRelayed({ store }).client.grant();
    assert.equal((await client.report(ROW, LABEL)).state, "invalid");
    assert.equal(draws, 0);
  });
}

for (const [status, reason, why] of /** @type {[number, string, string][]} */ ([
  [403, "code-missing", "the survey needs a code: use the link that you received"],
  [403, "code-unknown", "the relay did not give this code: use the link that you received"],
  [409, "code-used", "this code was used before, and the first answer counts"],
])) {
  test(`the relay's refusal ${reason} is final`, async () => {
    const relay = new FakeRelay();
    relay.answers = [respond(status, { reason })];
    /** @type {string[]} */
    const outcomes = [];
    const onOutcome = (/** @type {any} */ receipt) => outcomes.push(String(receipt));
    const { client, store } = await reported(makeRelayed({ relay, onOutcome, token: formatCode(CODE) }));
    assert.equal(String(await client.flush(5)), `rejected (${reason}: ${why})`);
    assert.equal(outcomes.at(-1), `rejected (${reason}: ${why})`);
    await client.flush(0.05);
    assert.equal(relay.of("POST").length, 1);
    assert.equal((await store.read())[0].report, undefined);
  });
}

test("a message is deleted seven days after the relay's end, and not while it waits", async (context) => {
  const { relay, store } = await sent();
  const waiting = await reported(makeRelayed());
  context.mock.timers.enable({ apis: ["Date"] });
  const { closes } = ENTRY;
  for (const [seconds, why] of /** @type {[number, string][]} */ ([
    [closes + 7 * 86_400 - 1, HELD],
    [closes + 7 * 86_400, "the relay has passed the report on, or deleted it because too few answered"],
  ])) {
    context.mock.timers.setTime(seconds * 1000);
    const { client } = makeRelayed({ relay, store });
    await wait(20);
    assert.equal(String(await client.status()), `sent (${why})`);
    assert.equal(Boolean((await store.read())[0].report), why === HELD);
    makeRelayed({ store: waiting.store });
    await wait(20);
    assert.ok((await waiting.store.read())[0].report);
  }
  const { client } = makeRelayed({ relay, store });
  assert.equal((await client.report(ROW, LABEL)).state, "already_reported");
  assert.equal((await client.withdraw()).state, "sent");
  assert.deepEqual(relay.requests.map(({ method }) => method), ["GET", "POST"]);
});

test("a failed grant is named by the report that misses the consent", async () => {
  const { client, relay } = makeRelayed({ digest: undefined });
  assert.equal(brief(await client.grant()), "unavailable relay-unpinned");
  for (const receipt of [await client.report(ROW, LABEL), await client.status()]) {
    assert.equal(brief(receipt), "no_consent no-consent");
    assert.match(receipt.why, /^grant\(\) failed: unavailable \(relay-unpinned: /);
  }
  relay.pages = {};
  const away = makeRelayed({ relay });
  await away.client.grant();
  assert.match((await away.client.report(ROW, LABEL)).why, /^grant\(\) failed: unavailable \(no-such-page: /);
  relay.pages = { plan: PLAN };
  assert.equal((await away.client.grant()).state, "ready");
  assert.equal(String(await away.client.withdraw()), "no_consent (no-consent)");
});

test("a relay may be written with a final slash, a port or a dot", async () => {
  for (const origin of [`${RELAY}/`, `${RELAY}:443`, "https://relay.example."]) {
    assert.equal((await makeRelayed({ route: throughRelay(origin) }).client.grant()).state, "ready");
  }
});

test("a shipped plan needs no digest, and no network until the report is sent", async () => {
  const { client, relay } = await reported(makeRelayed({ survey: PLAN, url: URL_AT_RELAY, digest: undefined }));
  assert.equal(relay.requests.length, 0);
  assert.equal((await client.flush(60)).state, "sent");
});

test("texts and signature come from the relay", async () => {
  const { privateKey, publicKey } = /** @type {any} */ (
    await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]));
  const { plan, texts } = readVectors("good-texts");
  const document = JSON.parse(plan);
  const survey = `${RELAY}/${document.id}`;
  const served = relayedPlan({ url: survey }, document);
  const message = Buffer.from(`ldp-bayes plan v1\0${"\0".repeat(32)}`);
  message.set(readPlan(served, { check: () => {} }).digestBytes, message.length - 32);
  const signature = Buffer.from(await crypto.subtle.sign("Ed25519", privateKey, message)).toString("base64");
  /** @type {string[]} */
  const paths = [];
  const send = async (/** @type {any} */ { url }) => {
    const path = url.slice(survey.length);
    paths.push(path);
    return { status: 200, body: path === "/plan" ? served : toBytes(path === "/texts" ? texts : signature) };
  };
  const key = Buffer.from(await crypto.subtle.exportKey("raw", publicKey)).toString("base64");
  const { client } = makeRelayed({ survey, send, digest: undefined, publicKey: key });
  assert.equal((await client.grant()).state, "ready");
  assert.ok((await client.texts("de")).title);
  assert.deepEqual(paths, ["/plan", "/signature", "/texts"]);
});

test("texts that the relay does not send are an error of the relay", async () => {
  const { plan } = readVectors("good-texts");
  const document = JSON.parse(plan);
  const survey = `${RELAY}/${document.id}`;
  const served = relayedPlan({ url: survey }, document);
  const send = async () => { throw new TypeError("Failed to fetch"); };
  const { client } = makeRelayed({ survey: served, url: survey, send, digest: undefined });
  await assert.rejects(client.texts("de"), { reason: "relay-unreachable" });
});

test("a relay that does not serve the plan is a receipt", async () => {
  const send = async () => { throw new TypeError("Failed to fetch"); };
  const receipt = await makeRelayed({ send }).client.grant();
  assert.equal(`${receipt}`, "unavailable (relay-unreachable: the relay did not respond)");
});

test("a preview needs the relay's rules too, and sends nothing", async () => {
  const { client, relay } = makeRelayed();
  assert.ok(String(await client.preview(ROW, LABEL)).includes("What would be sent"));
  assert.deepEqual(relay.requests.map(({ method }) => method), ["GET"]);
});

test("a rehearsal sends nothing to the relay", async () => {
  const relay = new FakeRelay();
  const { client } = await reported({ client: new Client(URL_AT_RELAY, rehearse({
    person: null, send: relay.send, digest: DIGEST, relay: throughRelay(RELAY),
  })) });
  assert.equal(brief(await client.flush(0)), "queued rehearsal");
  assert.equal(brief(await client.withdraw()), "withdrawn ");
  assert.deepEqual(relay.requests.map(({ method }) => method), ["GET"]);
});

test("the fake of an application's tests is a relay too", async () => {
  const recorder = new Recorder(PLAN);
  const { client } = await reported(makeRelayed({ send: recorder.send }));
  assert.equal((await client.flush(60)).state, "sent");
  assert.equal(recorder.reports.length, 1);
  assert.equal(brief(await client.withdraw()), "withdrawn ");
  assert.deepEqual(recorder.reports, []);
});
