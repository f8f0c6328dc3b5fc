/** Withdrawals of reports that go through a relay: what it is asked, and what its answers mean. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { MemoryStore } from "../../src/testing.js";
import { brief, DIGEST, FakeRelay, LABEL, makeRelayed, reported, respond, ROW, sent, URL_AT_RELAY } from "../relays.js";
import { toBytes } from "../surveys.js";

const GONE = "the relay will not pass the report on";

/** @param {number} milliseconds */
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

test("a report that the relay has is deleted there when the person withdraws", async () => {
  const { client, relay, store } = await sent();
  const receipt = await client.withdraw();
  assert.equal(String(receipt), `withdrawn (${GONE})`);
  const [{ body, url }] = relay.of("DELETE");
  assert.equal(url, `${URL_AT_RELAY}/${DIGEST}`);
  assert.deepEqual(body, relay.of("POST")[0].body);
  assert.equal(relay.held.size, 0);
  assert.equal((await store.read())[0].report, undefined);
  assert.equal((await client.withdraw()).state, "withdrawn");
  assert.equal((await client.report(ROW, LABEL)).state, "withdrawn");
  assert.equal(relay.requests.length, 3);
});

for (const [name, answer, reason] of /** @type {[string, any, string][]} */ ([
  ["has passed the report on", respond(409, { reason: "passed-on" }), "passed-on"],
  ["does not answer", "no answer", "relay-unreachable"],
  ["answers nonsense", respond(200, "a sign-in page"), "relay-unreachable"],
  ["is busy", respond(503, { reason: "store-unavailable" }), "relay-unreachable"],
  ["has too many senders", respond(429, { reason: "too-many-requests" }), "relay-unreachable"],
  ["has too many messages of a network", respond(429, { reason: "network-full" }), "relay-unreachable"],
  ["is behind a proxy", { status: 409, body: toBytes("a proxy's page") }, "relay-unreachable"],
  ["is over", respond(410, { reason: "survey-closed" }), "survey-closed"],
  ["knows another use of the code", respond(409, { reason: "code-used" }), ""],
  ["does not know the code", respond(403, { reason: "code-unknown" }), ""],
  ["misses the code", respond(403, { reason: "code-missing" }), ""],
])) {
  test(`a withdrawal does not depend on a relay that ${name}`, async () => {
    const { client, relay } = await sent();
    relay.answers = [answer];
    const receipt = await client.withdraw();
    assert.equal(brief(receipt), `withdrawn ${reason}`);
    assert.ok(receipt.why);
    assert.equal(receipt.why.endsWith("so it is counted"), reason === "passed-on");
    const isUncertain = reason === "relay-unreachable";
    const again = String(await client.withdraw());
    assert.equal(again, isUncertain ? `withdrawn (${GONE})` : "withdrawn");
    assert.equal(relay.of("DELETE").length, isUncertain ? 2 : 1);
    assert.equal((await client.flush(20)).state, "withdrawn");
    assert.equal(relay.of("POST").length, 1);
    assert.equal((await client.status()).state, "withdrawn");
  });
}

test("the relay is asked about a report that this page has not sent: another tab may send it", async () => {
  const { client, relay } = await reported(makeRelayed());
  relay.answers = ["no answer"];
  assert.equal(brief(await client.withdraw()), "withdrawn relay-unreachable");
  assert.equal(String(await client.withdraw()), `withdrawn (${GONE})`);
  await client.flush(0.05);
  await client.close();
  assert.deepEqual(relay.requests.map(({ method }) => method), ["GET", "DELETE", "DELETE"]);
});

test("a report that another tab has just begun to send is deleted at the relay", async () => {
  const [relay, store] = [new FakeRelay(), new MemoryStore()];
  const { client } = await reported(makeRelayed({ relay, store }));
  const shared = { read: () => store.read(), update: store.update.bind(store) };
  const other = makeRelayed({
    relay, store: Object.assign(new MemoryStore("other tab"), shared),
    send: (/** @type {any} */ request) => relay.send(request).then(() => new Promise(() => {})), // its answer is late
  }).client;
  void other.flush(5);
  while (!relay.held.size) await wait(1);
  assert.equal(String(await client.withdraw()), `withdrawn (${GONE})`);
  assert.equal(relay.held.size, 0);
});

for (const isSent of [true, false]) {
  test(`a tab that is closed during a withdrawal leaves the message to the next, sent: ${isSent}`, async () => {
    const relay = new FakeRelay();
    /** @type {() => void} */
    let ask = () => {};
    const asked = new Promise((resolve) => { ask = () => resolve(undefined); });
    const { client, store } = await reported(makeRelayed({
      relay,
      send(/** @type {any} */ request) {
        if (request.method !== "DELETE") return relay.send(request);
        ask();
        return new Promise(() => {});
      },
    }));
    if (isSent) await client.flush(5);
    void client.withdraw();
    await asked;
    const next = makeRelayed({ relay, store }).client;
    assert.equal((await next.status()).state, "withdrawn");
    assert.equal(String(await next.withdraw()), `withdrawn (${GONE})`);
    assert.equal(relay.held.size, 0);
    assert.equal((await store.read())[0].report, undefined);
  });
}

test("a report whose delivery is uncertain is deleted at the relay, after the attempt", async () => {
  const relay = new FakeRelay();
  const send = async (/** @type {any} */ request) => {
    if (request.method === "POST") await wait(50);
    return relay.send(request);
  };
  const { client } = await reported(makeRelayed({ relay, send }));
  const flushed = client.flush(5);
  await wait(10);
  assert.equal(String(await client.withdraw()), `withdrawn (${GONE})`);
  await flushed;
  assert.deepEqual(relay.requests.map(({ method }) => method), ["GET", "POST", "DELETE"]);
  assert.equal(relay.held.size, 0);
  assert.equal((await client.status()).state, "withdrawn");
});

test("a person who never answered withdraws without a request", async () => {
  const { client, relay } = makeRelayed();
  assert.equal((await client.withdraw()).state, "no_consent");
  await client.grant();
  assert.equal((await client.withdraw()).state, "no_consent");
  assert.deepEqual(relay.requests.map(({ method }) => method), ["GET"]);
});
