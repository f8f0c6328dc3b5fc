/** What the audit of the repository sees of this client: reports, retries, and whole requests, in Node. */

import { createServer } from "node:net";

import { toHex } from "../src/bytes.js";
import { makeReport, readPlan } from "../src/core.js";
import { Client } from "../src/index.js";
import { MemoryStore } from "../src/testing.js";
import { toBytes } from "./surveys.js";

const OFFLINE_SECONDS = 0.03;
const TIMEOUT_SECONDS = 60;
const RECORDED = JSON.stringify({ status: "recorded" });
const RESPONSE = `HTTP/1.1 200 OK\r\nContent-Length: ${RECORDED.length}\r\nConnection: close\r\n\r\n${RECORDED}`;

/**
 * One person's answer to a survey.
 *
 * @typedef {object} Answer
 * @property {string} plan
 * @property {Record<string, unknown>} row
 * @property {unknown} label
 * @property {string | null} token
 */

/** The calls of benchmarks/port_client.py, by path. @type {Record<string, (posted: any) => Promise<any>>} */
export const CALLS = {
  "/audit/reports": async ({ answer, tokens }) => makeReports(answer, tokens),
  "/audit/attempts": ({ answer }) => attempt(answer),
  "/audit/requests": ({ answers }) => captureRequests(answers),
};

/**
 * Return independent reports of one answer in hexadecimal, one for each invitation or null.
 *
 * Clocks stand still meanwhile: noise that is computed from the time would repeat.
 *
 * @param {Answer} answer
 * @param {(string | null)[]} tokens
 */
function makeReports({ plan: text, row, label }, tokens) {
  const plan = readPlan(toBytes(text));
  const clocks = [Date.now, performance.now];
  Date.now = performance.now = () => 0;
  try {
    return tokens.map((token) => toHex(makeReport(plan, row, label, { token })));
  } finally {
    [Date.now, performance.now] = clocks;
  }
}

/**
 * Return the bodies that a client posts while the network fails, and after a restart.
 *
 * @param {Answer} answer
 */
async function attempt(answer) {
  /** @type {string[]} */
  const bodies = [];
  const store = new MemoryStore();
  for (const isOffline of [true, false]) {
    // the second client has the name of another journal, because its page is another one
    const journal = { name: `${store.name}, ${isOffline}`, read: () => store.read(), update: store.update.bind(store) };
    const send = async (/** @type {import("../src/client/transport.js").Request} */ { body }) => {
      bodies.push(toHex(body ?? new Uint8Array()));
      if (isOffline) throw new TypeError("Failed to fetch");
      return { status: 200, body: toBytes(RECORDED) };
    };
    const client = makeClient(answer, "http://127.0.0.1:1", { store: journal, send });
    await client.grant();
    await client.report(answer.row, answer.label);
    await client.flush(isOffline ? OFFLINE_SECONDS : TIMEOUT_SECONDS);
    // a busy machine had no time for the first attempt
    for (let turn = 0; !bodies.length && turn < 1000; turn++) await client.flush(OFFLINE_SECONDS);
  }
  return bodies;
}

/**
 * Return all requests of a new browser in which a person answers surveys in turn.
 *
 * @param {Answer[]} answers
 */
async function captureRequests(answers) {
  collector ??= await startCollector();
  const { base, requests } = collector;
  requests.length = 0;
  const store = new MemoryStore();
  for (const answer of answers) {
    const client = makeClient(answer, base, { store });
    await client.grant();
    await client.report(answer.row, answer.label);
    await client.flush(TIMEOUT_SECONDS);
    await client.close();
  }
  return requests.map(({ head, body }) => ({ head: toHex(head), body: toHex(body) }));
}

/** @typedef {{ head: Uint8Array, body: Uint8Array }} Captured */

/** @type {{ base: string, requests: Captured[] } | undefined} */
let collector;

/**
 * Start a server that records the bytes of each request, and responds that the report was counted.
 *
 * @returns {Promise<{ base: string, requests: Captured[] }>}
 */
async function startCollector() {
  /** @type {Captured[]} */
  const requests = [];
  const server = createServer((connection) => {
    let received = Buffer.alloc(0);
    connection.on("data", (part) => {
      received = Buffer.concat([received, part]);
      const end = received.indexOf("\r\n\r\n");
      if (end < 0) return;
      const head = received.subarray(0, end);
      const body = received.subarray(end + 4);
      if (body.length < Number(/content-length: (\d+)/i.exec(head.toString("latin1"))?.[1] ?? 0)) return;
      requests.push({ head, body });
      connection.end(RESPONSE);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return { base: `http://127.0.0.1:${port}`, requests };
}

/**
 * Return a client that has the plan already, and sends to a collector at a base URL.
 *
 * @param {Answer} answer
 * @param {string} base
 * @param {object} options
 */
function makeClient({ plan: text, token }, base, options) {
  const { id, epsilon } = JSON.parse(text);
  const url = `${base}/v1/surveys/${id}`;
  const maxEpsilon = Number(epsilon);
  return new Client(toBytes(text), { person: null, url, token, maxEpsilon, spread: 0, strict: true, ...options });
}
