/**
 * Prints when the reports of 100 simulated browsers are sent, as a JSON list of [seconds, browser, survey, is taken].
 *
 * `node tests/sending_times.js SCENE` runs the whole client with a clock and random bytes of its own. Each browser
 * answers two surveys of one collector.
 */

import { createHash } from "node:crypto";

import { Client } from "../src/index.js";
import { MemoryStore } from "../src/testing.js";
import { readVectors, toBytes } from "./surveys.js";

const BROWSERS = 100;
const HOUR = 3600;
const UNTIL = 400 * HOUR;
const SURVEYS = ["good-de", "good-values"].map(readVectors);
const RECORDED = toBytes('{"status":"recorded"}');
const DOWN = toBytes('{"reason":"store-unavailable"}');

/**
 * @typedef {{ start: number, end?: number, spread?: number, retryAfter?: number, isLater?: boolean,
 *   isFlushed?: boolean }} Scene
 */

/**
 * Browsers start within `start` seconds. The collector responds with 503 until `end`, or to the first request of each
 * browser if `retryAfter` is given. With `isLater` the reports are of an earlier visit. With `isFlushed` the page
 * calls `flush` for both surveys when the collector works again, which links them: the test must detect it.
 *
 * @type {Record<string, Scene>}
 */
const SCENES = {
  "a long outage": { start: HOUR, end: 2 * HOUR },
  "a short outage": { start: 10, end: 15 },
  "one 503 for each browser": { start: HOUR, spread: HOUR, retryAfter: 1.5 * HOUR },
  "a later visit": { start: 600, isLater: true },
  "a network that returns": { start: 0, end: 1200 },
  "flush after an outage": { start: HOUR, end: 2 * HOUR, isFlushed: true },
};

let time = 1000;
/** @type {{ due: number, act: () => void }[]} */
const timers = [];
let blocks = 0;

performance.now = () => time * 1000;
Object.defineProperty(globalThis, "navigator", { configurable: true, value: {} }); // without locks, in any Node
Object.defineProperty(globalThis.crypto, "getRandomValues", { value: fillRandomly });
globalThis.setTimeout = /** @type {any} */ ((/** @type {() => void} */ act, milliseconds = 0) => {
  timers.push({ due: time + Math.max(0, milliseconds) / 1000, act });
  return { unref() {} };
});

/**
 * Fill an array with bytes that follow from the number of calls.
 *
 * @template {ArrayBufferView} T
 * @param {T} array
 */
function fillRandomly(array) {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  for (let start = 0; start < bytes.length; start += 32) {
    const block = createHash("sha256").update(`bytes ${blocks++}`).digest();
    bytes.set(block.subarray(0, bytes.length - start), start);
  }
  return array;
}

function uniform() {
  return fillRandomly(new Uint32Array(1))[0] / 2 ** 32;
}

/** Let all promises run that wait for no timer. */
function settle() {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Run the timers in their order. */
async function runTimers() {
  for (await settle(); timers.length; await settle()) {
    timers.sort((one, other) => other.due - one.due);
    const { due, act } = /** @type {{ due: number, act: () => void }} */ (timers.pop());
    if (due > UNTIL) return;
    time = Math.max(time, due);
    act();
  }
}

/**
 * Start one browser, which appends its attempts to a list.
 *
 * @param {Scene} scene
 * @param {number} number
 * @param {[number, number, number, boolean][]} attempts
 */
async function startBrowser({ end = 0, spread = 2, retryAfter, isLater, isFlushed }, number, attempts) {
  const store = new MemoryStore();
  let count = 0;
  const send = async (/** @type {{ url: string }} */ { url }) => {
    const fails = retryAfter ? count++ === 0 : time < 1000 + end;
    const survey = SURVEYS.findIndex(({ plan }) => url.includes(`/${JSON.parse(plan).id}/`));
    attempts.push([time, number, survey, !fails]);
    return fails ? { status: 503, body: DOWN, retryAfter } : { status: 200, body: RECORDED };
  };
  if (isLater) {
    const clients = visit(store, store.name, spread, async () => { throw new TypeError("Failed to fetch"); });
    await answer(clients);
    await Promise.all(clients.map((client) => client.close()));
    visit(store, `later ${store.name}`, spread, send);
    return;
  }
  const clients = visit(store, store.name, spread, send);
  await answer(clients);
  if (!isFlushed) return;
  setTimeout(() => clients.forEach((client) => void client.flush()), (1000 + end + HOUR * uniform() - time) * 1000);
}

/**
 * Return the clients of a page, one for each survey.
 *
 * @param {MemoryStore} journal
 * @param {string} name the journal's name in this page
 * @param {number} spread
 * @param {any} send
 */
function visit(journal, name, spread, send) {
  const store = { name, read: () => journal.read(), update: journal.update.bind(journal) };
  return SURVEYS.map(({ plan }) => {
    const url = `https://collector.example/v1/surveys/${JSON.parse(plan).id}`;
    return new Client(toBytes(plan), { person: null, url, maxEpsilon: 100, spread, store, send, strict: true });
  });
}

/** @param {Client[]} clients */
async function answer(clients) {
  for (const [index, client] of clients.entries()) {
    const { row, label } = SURVEYS[index].cases.find((/** @type {any} */ each) => each.report);
    await client.grant();
    await client.report(row, label);
  }
}

const scene = SCENES[process.argv[2]];
/** @type {[number, number, number, boolean][]} */
const attempts = [];
for (let number = 0; number < BROWSERS; number++) {
  setTimeout(() => void startBrowser(scene, number, attempts), scene.start * uniform() * 1000);
}
await runTimers();
console.log(JSON.stringify(attempts));
