/** A rehearsal takes every step up to the bytes of a report, and sends and keeps nothing. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "../../src/index.js";
import { rehearse } from "../../src/rehearsal.js";
import { MemoryStore, Recorder } from "../../src/testing.js";
import { LABEL, PLAN, ROW, URL_OF_SURVEY } from "../clients.js";

test("a rehearsed report waits with a reason, and reaches neither collector nor journal", async () => {
  const recorder = new Recorder(PLAN);
  const store = new MemoryStore();
  const options = { person: null, maxEpsilon: 100, spread: 0, send: recorder.send, store };
  const client = new Client(URL_OF_SURVEY, rehearse(options));
  assert.equal((await client.grant()).state, "ready");
  assert.equal((await client.report(ROW, LABEL)).state, "queued");
  const { reason, state } = await client.flush(0.05);
  assert.deepEqual([state, reason], ["queued", "rehearsal"]);
  await client.close();
  assert.deepEqual([recorder.bodies, await store.read()], [[], []]);
});
