/** A client with an author's key takes only plans that were signed with it. The vector is that of the Python tests. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { MemoryStore, Recorder } from "../../src/testing.js";
import { makeClient } from "../clients.js";
import { readVectors, toBytes } from "../surveys.js";

const { plan, cases } = readVectors("good-de");
const { row, label } = cases[0];
const KEY = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const SIGNATURE = "kBFWy+i39Q69H2tgQ9UCcfLMiCKrgw9dq7Z46nHePnvlcNOz9/uWEqn7Zpk1lJC3FwQimjEOcfKSqT1ON70cAw==\n";
const PATH = `/v1/surveys/${JSON.parse(plan).id}`;

/**
 * @param {string} line the signature that the collector sends; without one it has none
 * @param {any} [options]
 */
function makeSigned(line, { host = "collector.example", ...options } = {}) {
  const recorder = new Recorder(plan);
  const send = async (/** @type {any} */ request) => {
    if (!request.url.endsWith("/signature")) return recorder.send(request);
    if (line) return { status: 200, body: toBytes(line) };
    return { status: 404, body: toBytes('{"reason":"no-signature"}') };
  };
  return makeClient({ survey: `https://${host}${PATH}`, publicKey: KEY, send, ...options });
}

test("a plan that the author signed is accepted", async () => {
  const { client } = makeSigned(SIGNATURE);
  assert.equal(String(await client.grant()), "ready");
});

for (const line of ["", SIGNATURE.replace("k", "l"), SIGNATURE.slice(4), SIGNATURE.replace("70cAw", "70cIw")]) {
  test(`another signature is refused: ${line.trim() || "none"}`, async () => {
    assert.equal((await makeSigned(line).client.grant()).reason, "bad-signature");
  });
}

test("a plan whose bytes the application ships is not taken for a signed one", () => {
  const options = { publicKey: KEY, url: `https://collector.example${PATH}` };
  assert.throws(() => makeClient({ survey: toBytes(plan), ...options }), { reason: "bad-option" });
});

test("a signed survey is the same survey at another host", async () => {
  const store = new MemoryStore();
  const { client } = makeSigned(SIGNATURE, { store });
  await client.grant();
  assert.equal((await client.report(row, label)).state, "queued");
  const moved = makeSigned(SIGNATURE, { store, host: "other.example" }).client;
  assert.equal((await moved.report(row, label)).state, "already_reported");
  assert.equal((await moved.withdraw()).state, "withdrawn");
  assert.equal((await client.status()).state, "withdrawn");
});

test("a person who agreed to an unsigned plan is asked again", async () => {
  const store = new MemoryStore();
  const { client } = makeSigned(SIGNATURE, { store, publicKey: null });
  await client.grant();
  const signed = makeSigned(SIGNATURE, { store }).client;
  assert.equal((await signed.report(row, label)).reason, "no-consent");
  assert.equal((await signed.grant()).state, "ready");
  assert.equal((await signed.report(row, label)).state, "queued");
});
