/** Clients with fakes of everything outside, for tests. */

import { Client } from "../src/index.js";
import { MemoryStore, Recorder } from "../src/testing.js";
import { readVectors, toBytes } from "./surveys.js";

const VECTORS = readVectors("good-values");
export const PLAN = toBytes(VECTORS.plan);
export const { row: ROW, label: LABEL } = VECTORS.cases[0];
export const SURVEY = JSON.parse(VECTORS.plan).id;
export const URL_OF_SURVEY = `https://collector.example/v1/surveys/${SURVEY}`;
export const INVITED = readVectors("tokens");

/**
 * Return a client of the survey of the tests, with its recorder and store.
 *
 * @param {any} [options] options of the client, `survey` and `recorder`
 */
export function makeClient({ survey = URL_OF_SURVEY, recorder = new Recorder(PLAN), ...options } = {}) {
  const store = options.store ?? new MemoryStore();
  const client = new Client(survey, {
    person: null, send: recorder.send, maxEpsilon: 100, spread: 3600, ...options, store,
  });
  return { client, recorder, store };
}

/**
 * Return a function that responds to each report in one way, and serves the plan.
 *
 * @param {number} status
 * @param {unknown} content
 * @param {number} [retryAfter]
 */
export function responding(status, content, retryAfter) {
  return async (/** @type {any} */ { method }) =>
    method === "GET"
      ? { status: 200, body: PLAN }
      : { status, body: toBytes(typeof content === "string" ? content : JSON.stringify(content)), retryAfter };
}

/**
 * Run a function in a browser with Global Privacy Control.
 *
 * @template T
 * @param {() => Promise<T>} act
 */
export async function optedOut(act) {
  const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { configurable: true, value: { globalPrivacyControl: true } });
  try {
    return await act();
  } finally {
    if (before) Object.defineProperty(globalThis, "navigator", before);
    else Reflect.deleteProperty(globalThis, "navigator");
  }
}
