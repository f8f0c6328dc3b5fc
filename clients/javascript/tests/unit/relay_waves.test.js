/** Surveys with waves and a relay: each wave has an address, a seal and an end of its own. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { readPlan } from "../../src/core.js";
import { Client } from "../../src/index.js";
import { throughRelay } from "../../src/relay.js";
import { columnLengths } from "../../src/relay/sealing.js";
import { MemoryStore } from "../../src/testing.js";
import { join, open } from "../hpke.js";
import {
  COLLECTOR_KEY, DIRECT, LABEL, RELAY, RELAY_KEY, relayedPlan, respond, ROW, URL_AT_RELAY,
} from "../relays.js";

const LIST = [0, 1, 2].map((index) => ({
  name: `wave-${index}`, opens: 1_800_000_000 + 1000 * index, closes: 1_800_000_500 + 1000 * index,
}));
const WAVES = { assign: "drawn", list: LIST };
const TIMES = { opens: LIST[0].opens, closes: LIST[2].closes };
const PLAN = relayedPlan(TIMES, { ...DIRECT, waves: WAVES });
const { digest: DIGEST } = readPlan(PLAN, { check: () => {} });
const { now: systemNow } = Date;

afterEach(() => {
  Date.now = systemNow;
});

/** @param {any} [options] of the client */
function makeRelayed(options) {
  /** @type {import("../../src/client/transport.js").Request[]} */
  const requests = [];
  const send = async (/** @type {import("../../src/client/transport.js").Request} */ request) => {
    requests.push(request);
    if (request.method === "GET") return { status: 200, body: PLAN };
    return request.method === "DELETE"
      ? { status: 204, body: new Uint8Array() }
      : respond(202, { status: "held" });
  };
  const store = new MemoryStore();
  const random = (/** @type {number} */ count) => new Uint8Array(count).fill(255); // draws the last wave
  const client = new Client(URL_AT_RELAY, {
    person: null, send, digest: DIGEST, spread: 0, relay: throughRelay(RELAY), random, store, ...options,
  });
  return { client, requests, store };
}

/** @param {number} seconds */
const setClock = (seconds) => {
  Date.now = () => 1000 * seconds;
};

test("a message is sealed for its wave, and sent to the address of the wave", async () => {
  setClock(LIST[0].opens);
  const { client, requests, store } = makeRelayed();
  assert.equal((await client.grant()).state, "waiting");
  setClock(LIST[2].opens);
  assert.equal((await client.report(ROW, LABEL)).state, "queued");
  assert.equal((await client.flush()).state, "sent");
  const [{ body, url }] = requests.filter(({ method }) => method === "POST");
  assert.equal(url, `${URL_AT_RELAY}/${DIGEST}/wave-2`);
  const message = /** @type {Uint8Array} */ (body);
  const end = Buffer.from(DIGEST, "hex");
  const unseal = (/** @type {number[]} */ ...suffix) => {
    const info = join("ldp-bayes relay\0", end, Uint8Array.from(suffix));
    return open(RELAY_KEY.privateKey, RELAY_KEY.bytes, info, message.subarray(1));
  };
  const inner = await unseal(0, 2);
  await assert.rejects(unseal());
  await assert.rejects(unseal(0, 1));
  const text = await open(
    COLLECTOR_KEY.privateKey, COLLECTOR_KEY.bytes, join("ldp-bayes report\0", end), inner.subarray(1));
  const questions = DIRECT.questions.length;
  assert.equal(Math.floor(text[2 + 36] / questions), 2);
  const [entry] = await store.read();
  assert.equal(entry.relay?.closes, LIST[2].closes); // after which the message is forgotten
  assert.ok(entry.report);
  await client.withdraw();
  assert.equal(requests.at(-1)?.method, "DELETE");
  assert.equal(requests.at(-1)?.url, url);
});

test("a message that is forgotten after its wave", async () => {
  setClock(LIST[2].opens);
  const { client, store } = makeRelayed();
  await client.grant();
  await client.report(ROW, LABEL);
  await client.flush();
  setClock(LIST[2].closes + 6 * 86_400);
  makeRelayed({ store });
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.ok((await store.read())[0].report);
  setClock(LIST[2].closes + 8 * 86_400);
  makeRelayed({ store });
  while ((await store.read())[0].report) await new Promise((resolve) => setTimeout(resolve, 5));
});

test("a wave that ends while the message is sealed leaves none", async () => {
  setClock(LIST[2].opens);
  const { client, requests, store } = makeRelayed();
  await client.grant();
  const { update } = store;
  store.update = (change) => (setClock(LIST[2].closes), update.call(store, change));
  const receipt = await client.report(ROW, LABEL);
  assert.deepEqual([receipt.state, receipt.epsilon], ["missed", 0]);
  assert.equal((await store.read())[0].report, undefined);
  assert.deepEqual(requests.filter(({ method }) => method !== "GET"), []);
});

test("the relay's times are those of the waves", async () => {
  for (const changes of [{ opens: TIMES.opens - 1 }, { closes: TIMES.closes + 1 }]) {
    const plan = relayedPlan({ ...TIMES, ...changes }, { ...DIRECT, waves: WAVES });
    const { digest } = readPlan(plan, { check: () => {} });
    const send = async () => ({ status: 200, body: plan });
    const { client } = makeRelayed({ digest, send });
    assert.equal((await client.grant()).reason, "invalid-plan");
  }
});

test("the columns are as long as the longest report of any wave", () => {
  const list = Array.from({ length: 400 }, (_, index) => ({ name: `w${index}`, opens: 1 + index, closes: 2 + index }));
  const document = { ...DIRECT, waves: { assign: "now", list } };
  const plan = readPlan(relayedPlan({ opens: 1, closes: 401 }, document), { check: () => {} });
  const { waves: _waves, ...alone } = document;
  const other = readPlan(relayedPlan({ opens: 1, closes: 401 }, alone), { check: () => {} });
  assert.equal(columnLengths(plan)[0], columnLengths(other)[0] + 2);
});
