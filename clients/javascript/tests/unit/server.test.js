/** On a server there is no window and no browser storage: the package can be imported, and every call says why. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { makeClient, URL_OF_SURVEY } from "../clients.js";

const ROOT = new URL("../../", import.meta.url);
const { exports: ENTRIES } = JSON.parse(readFileSync(new URL("package.json", ROOT), "utf8"));
const WHY = "no browser storage: give a store; nothing was spent";

test("every entry can be imported without a window", async () => {
  assert.deepEqual(["window", "document", "indexedDB"].filter((name) => name in globalThis), []);
  for (const { default: path } of Object.values(ENTRIES)) assert.ok(await import(new URL(path, ROOT).href));
});

test("a client on a server says that there is no browser storage, sends nothing and lets the process end", () => {
  const program = `
    import { Client } from ${JSON.stringify(new URL("src/index.js", ROOT).href)};
    const send = () => { throw new Error("a request was sent") };
    const client = new Client(${JSON.stringify(URL_OF_SURVEY)}, { person: null, send });
    const receipts = [];
    for (const call of ["status", "grant", "report", "withdraw", "flush"]) receipts.push(await client[call]());
    console.log(JSON.stringify(receipts));
    await client.plan().catch(({ message }) => console.log(message));
  `;
  const options = /** @type {const} */ ({ encoding: "utf8", timeout: 120_000 });
  const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", program], options);
  const [receipts, message] = printed.trim().split("\n");
  for (const { state, reason, why } of JSON.parse(receipts)) {
    assert.deepEqual([state, reason, why], ["unavailable", "journal-unavailable", WHY]);
  }
  assert.equal(message, WHY);
});

test("a store of the application that fails on a server is not called a browser's missing storage", async () => {
  const { client, store } = makeClient();
  store.isBroken = true;
  const receipts = [await client.status(), await client.grant()];
  for (const { reason, why } of receipts) {
    assert.equal(reason, "journal-unavailable");
    assert.notEqual(why, WHY);
  }
});

test("a client shows nothing of its parts but the survey's id", () => {
  assert.deepEqual(Object.keys(makeClient().client), ["survey"]);
});
