/** A web page in place of a collector's response is a fault of the network: nothing is lost, and it passes. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";

import { Client } from "../../src/index.js";
import { MemoryStore } from "../../src/testing.js";
import { LABEL, makeClient, PLAN, responding, ROW, SURVEY } from "../clients.js";
import { readVectors, toBytes } from "../surveys.js";

const TEXT = new TextDecoder().decode(PLAN);
const KEY = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const UNREACHABLE = "unavailable collector-unreachable";

/** Responses of networks. @type {[string, number, string | Uint8Array][]} */
const PAGES = [
  ["a sign-in page", 200, "<!doctype html><title>Sign in</title>"],
  ["an empty page", 200, ""],
  ["no content", 204, ""],
  ["other JSON", 200, '{"status":"ok"}'],
  ["JSON of a report", 200, '{"status":"recorded"}'],
  ["a list", 200, `[${TEXT}]`],
  ["a text", 200, JSON.stringify(TEXT)],
  ["null", 200, "null"],
  ["a format that is a text", 200, '{"format":"html"}'],
  ["a part of the plan", 200, TEXT.slice(0, -1)],
  ["a compressed page", 200, Uint8Array.of(31, 139, 8, 0, 255)],
  ["a part by a status", 206, TEXT],
  ["a plan that was not asked for", 203, TEXT],
  ["a page that moved", 301, ""],
  ["a page elsewhere", 302, "<a href='/login'>"],
  ["a page of a filter", 403, "<html>blocked</html>"],
  ["a missing page", 404, "<html>"],
  ["a proxy's demand", 407, "<html>"],
  ["a proxy's limit", 413, "<html>"],
  ["a proxy's failure", 502, "<html>"],
  ["a network's demand", 511, "<html>"],
  ["problem+json of another service", 403, '{"title":"Forbidden","reason":"policy","status":403}'],
];

for (const [name, status, content] of PAGES) {
  const page = { status, body: typeof content === "string" ? toBytes(content) : content };

  test(`in place of a plan: ${name}`, async () => {
    for (const options of [{}, { digest: "0".repeat(64) }, { publicKey: KEY }]) {
      let isPage = true;
      const send = async () => (isPage ? page : { status: 200, body: PLAN });
      const { client, store } = makeClient({ ...options, send });
      for (const call of [() => client.grant(), () => client.grant()]) {
        const { epsilon, reason, state } = await call();
        assert.equal(`${state} ${reason} ${epsilon}`, `${UNREACHABLE} 0`);
      }
      assert.equal((await client.report(ROW, LABEL)).state, "no_consent");
      await assert.rejects(client.plan(), { reason: "collector-unreachable" });
      assert.deepEqual(await store.read(), []);
      isPage = false;
      if (!Object.keys(options).length) assert.equal((await client.grant()).state, "ready");
    }
  });

  test(`in place of a signature: ${name}`, async () => {
    if (name === "null") return; // it is base64
    const whole = { status: 200, body: PLAN };
    const send = async (/** @type {any} */ { url }) => (url.endsWith("/signature") ? page : whole);
    const { reason, state } = await makeClient({ publicKey: KEY, send }).client.grant();
    assert.equal(`${state} ${reason}`, UNREACHABLE);
  });

  test(`in place of texts: ${name}`, async () => {
    const { plan, texts } = readVectors("good-texts");
    let body = page;
    const whole = { status: 200, body: toBytes(plan) };
    const send = async (/** @type {any} */ { url }) => (url.endsWith("/texts") ? body : whole);
    const { client } = makeClient({ survey: `https://collector.example/v1/surveys/${JSON.parse(plan).id}`, send });
    await assert.rejects(client.texts(), { reason: "collector-unreachable" });
    body = { status: 200, body: toBytes(texts) };
    assert.notEqual((await client.texts()).language, "");
  });

  test(`in place of the answer to a report: ${name}`, async () => {
    if (name === "JSON of a report") return; // it is the answer
    const { client } = makeClient({ send: responding(status, content) });
    await client.grant();
    await client.report(ROW, LABEL);
    const { reason, state } = await client.flush(0.2);
    assert.equal(`${state} ${reason}`, "queued collector-unreachable");
  });
}

test("a plan that is not valid, or not the pinned one, is rejected", async () => {
  const other = { ...JSON.parse(TEXT), format: 2 };
  const serve = (/** @type {string} */ text) => async () => ({ status: 200, body: toBytes(text) });
  for (const [text, options, reason] of /** @type {[string, any, string][]} */ ([
    [JSON.stringify(other), {}, "invalid-plan"],
    [`${TEXT}\n`, {}, "invalid-plan"],
    [TEXT, { digest: "0".repeat(64) }, "plan-changed"],
  ])) {
    const receipt = await makeClient({ send: serve(text), ...options }).client.grant();
    assert.equal(`${receipt.state} ${receipt.reason}`, `rejected ${reason}`);
  }
});

test("a redirection to a page is not followed", async () => {
  const server = createServer((request, response) => {
    response.writeHead(request.url === "/login" ? 200 : 302, { Location: "/login" });
    response.end(PLAN);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  try {
    const { port } = /** @type {any} */ (server.address());
    const url = `http://127.0.0.1:${port}/v1/surveys/${SURVEY}`;
    const client = new Client(url, { person: null, store: new MemoryStore(), maxEpsilon: 100 });
    const { reason, state } = await client.grant();
    assert.equal(`${state} ${reason}`, UNREACHABLE);
  } finally {
    server.close();
  }
});
