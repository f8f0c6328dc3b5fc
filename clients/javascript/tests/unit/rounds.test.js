/** Repeated answers, other rounds, and withdrawals: what receipts and outcomes say of one report. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { readPlan } from "../../src/core.js";
import { dumpCanonicalJson } from "../../src/survey/canonical.js";
import { MemoryStore, Recorder } from "../../src/testing.js";
import { LABEL, makeClient, PLAN, responding, ROW, SURVEY, URL_OF_SURVEY } from "../clients.js";
import * as relays from "../relays.js";
import { toBytes } from "../surveys.js";

/** Return a function that makes clients of the rounds of one family, on one store. */
function rounds() {
  const { family: _family, ...document } = JSON.parse(new TextDecoder().decode(PLAN));
  const store = new MemoryStore();
  return (/** @type {string} */ id) => {
    const plan = toBytes(dumpCanonicalJson(id === SURVEY ? document : { ...document, id, family: SURVEY }));
    return makeClient({ recorder: new Recorder(plan), survey: URL_OF_SURVEY.replace(SURVEY, id), store });
  };
}

test("a second answer says why the first still waits", async () => {
  const makeRound = rounds();
  const { client, recorder } = makeRound(SURVEY);
  await client.grant();
  await client.report(ROW, LABEL);
  recorder.respond("busy", { retryAfter: 600 });
  await client.flush(20);
  const status = await client.status();
  assert.equal(`${status.state} ${status.reason}`, "queued too-many-requests");
  const expected = { ...status, state: "already_reported" };
  assert.deepEqual({ ...(await client.report(ROW, LABEL)) }, expected);
  const later = makeRound("second-round").client;
  await later.grant();
  for (const call of [later.status(), later.report(ROW, LABEL), later.flush(20)]) {
    assert.deepEqual({ ...(await call) }, expected);
  }
});

for (const [answered, other] of [[SURVEY, "third-round"], ["second-round", SURVEY]]) {
  test(`withdrawing ${other}, which was never granted, deletes the waiting report of ${answered}`, async () => {
    const makeRound = rounds();
    const { client, recorder, store } = makeRound(answered);
    await client.grant();
    await client.report(ROW, LABEL);
    const { client: never } = makeRound(other);
    if (other !== SURVEY) {
      assert.equal((await never.status()).state, "no_consent"); // only its plan names the family
      await never.plan();
    }
    assert.equal(`${(await never.status()).state} ${(await never.status()).survey}`, `already_reported ${answered}`);
    assert.equal((await never.withdraw()).state, "withdrawn");
    assert.equal((await client.status()).state, "withdrawn");
    assert.deepEqual((await store.read()).map(({ report }) => report), [undefined]);
    await client.flush(20);
    await client.close();
    assert.equal(recorder.bodies.length, 0);
  });
}

test("withdrawing keeps the report of a family that has the name of this round", async () => {
  const store = new MemoryStore();
  const document = JSON.parse(new TextDecoder().decode(PLAN));
  const make = (/** @type {string} */ id, /** @type {string} */ family) => makeClient({
    store,
    survey: URL_OF_SURVEY.replace(SURVEY, id),
    recorder: new Recorder(toBytes(dumpCanonicalJson({ ...document, id, family }))),
  }).client;
  const client = make("c", "b");
  await client.grant();
  await client.report(ROW, LABEL);
  await make("b", SURVEY).grant();
  assert.equal((await make("b", SURVEY).withdraw()).state, "no_consent");
  assert.equal((await client.status()).state, "queued");
});

test("withdrawing a direct round keeps what a relay needs to delete the report of another round", async () => {
  const store = new MemoryStore();
  const served = relays.relayedPlan({}, { ...relays.DIRECT, family: "first" });
  const relay = new relays.FakeRelay(served);
  const { digest } = readPlan(served, { check() {} });
  const { client } = relays.makeRelayed({ relay, store, digest });
  await client.grant();
  const publicKey = `${"A".repeat(43)}=`;
  await store.update((entries, write) => entries.forEach((each) => write({ ...each, signer: publicKey })));
  await client.report(relays.ROW, relays.LABEL);
  relay.answers = [{ status: 202, body: toBytes(JSON.stringify({ status: "held" })) }];
  assert.equal((await client.flush(60)).state, "sent");
  const survey = URL_OF_SURVEY.replace(SURVEY, "first");
  const { client: first } = makeClient({ survey, store, publicKey });
  assert.equal((await first.withdraw()).state, "already_reported");
  relay.answers = [{ status: 204, body: new Uint8Array() }];
  assert.equal((await client.withdraw()).why, "the relay will not pass the report on");
  assert.equal(relay.of("DELETE").length, 1);
});

for (const grantsAgain of [false, true]) {
  test(`a journal that is deleted during the post has no outcome, granted again: ${grantsAgain}`, async () => {
    /** @type {string[]} */
    const outcomes = [];
    const store = new MemoryStore();
    const respond = responding(200, { status: "recorded" });
    let posts = 0;
    const { client } = makeClient({
      store,
      spread: 0,
      onOutcome: (/** @type {any} */ receipt) => outcomes.push(String(receipt)),
      send: async (/** @type {any} */ request) => {
        if (request.method === "POST" && !posts++) {
          await store.update((entries, _write, remove) => entries.forEach(remove));
          if (grantsAgain) await client.grant();
        }
        return respond(request);
      },
    });
    await client.grant();
    await client.report(ROW, LABEL);
    await client.flush(1);
    assert.deepEqual(outcomes, ["queued"]);
    await client.grant();
    await client.report(ROW, LABEL);
    assert.equal((await client.flush(60)).state, "sent"); // without the pause that follows a failure
    await client.close();
  });
}

test("withdrawing from another survey, or at another origin, keeps the report", async () => {
  const makeRound = rounds();
  const { client, store } = makeRound("second-round");
  await client.grant();
  await client.report(ROW, LABEL);
  const document = JSON.parse(new TextDecoder().decode(PLAN));
  const other = toBytes(dumpCanonicalJson({ ...document, id: "other" }));
  for (const [plan, survey] of [
    [other, URL_OF_SURVEY.replace(SURVEY, "other")],
    [PLAN, URL_OF_SURVEY.replace("collector", "elsewhere")],
  ]) {
    const { client: stranger } = makeClient({ survey, store, recorder: new Recorder(plan) });
    await stranger.plan();
    assert.equal((await stranger.withdraw()).state, "no_consent");
  }
  assert.equal((await client.status()).state, "queued");
});

for (const [status, content] of /** @type {[number, any][]} */ ([
  [200, { status: "recorded" }],
  [400, { reason: "bad-payload" }],
])) {
  test(`a report that is withdrawn during its post has the outcome of the journal, not ${status}`, async () => {
    /** @type {any[]} */
    const outcomes = [];
    const respond = responding(status, content);
    /** @type {any} */
    const { client } = makeClient({
      onOutcome: (/** @type {any} */ receipt) => outcomes.push(String(receipt)),
      send: async (/** @type {any} */ request) => {
        if (request.method === "POST") assert.equal((await client.withdraw()).state, "withdrawn");
        return respond(request);
      },
    });
    await client.grant();
    await client.report(ROW, LABEL);
    assert.equal(String(await client.flush(1)), "withdrawn");
    assert.deepEqual(outcomes, ["queued", "withdrawn"]);
  });
}
