/** A relay in memory, which opens the outer seal; surveys that go through it; and the collector's opening. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";

import { readPlan } from "../src/core.js";
import { dumpCanonicalJson } from "../src/survey/canonical.js";
import { Client } from "../src/index.js";
import { throughRelay } from "../src/relay.js";
import { MemoryStore } from "../src/testing.js";
import { join, makeRecipient, open } from "./hpke.js";
import { readVectors, toBytes } from "./surveys.js";

export const RELAY = "https://relay.example";
export const COLLECTOR_KEY = await makeRecipient(1);
export const RELAY_KEY = await makeRecipient(2);
const { cases, plan } = readVectors("good-the-0.25");
/** The survey's plan without a relay. Its local epsilon is 4. */
export const DIRECT = JSON.parse(plan);
export const { row: ROW, label: LABEL } = cases[0];
export const URL_AT_RELAY = `${RELAY}/${DIRECT.id}`;
export const ENTRY = {
  url: URL_AT_RELAY, batch: 10_000, honest: "0.73", epsilon: "0.5", delta: "0.000001", opens: 1_700_000_000,
  closes: 2_000_000_000, collector_key: COLLECTOR_KEY.text, relay_key: RELAY_KEY.text,
};

/**
 * Return the bytes of the plan with a relay.
 *
 * @param {object} [changes] of the plan's entry
 * @param {any} [document] the plan without a relay
 */
export function relayedPlan(changes, document = DIRECT) {
  return toBytes(dumpCanonicalJson({ ...document, relay: { ...ENTRY, ...changes } }));
}

/** The plan of the tests, and its digest. */
export const PLAN = relayedPlan();
export const DIGEST = readPlan(PLAN, { check: () => {} }).digest;

/** A relay, as the option `send`. It remembers every request. */
export class FakeRelay {
  /** @type {import("../src/client/transport.js").Request[]} */
  requests = [];
  /** Answers to requests other than GET; "no answer" throws. @type {any[]} */
  answers = [];
  /** Each message that is held, in hexadecimal. @type {Set<string>} */
  held = new Set();
  isPassedOn = false;
  /** What else it serves, by path. @type {Record<string, Uint8Array>} */
  pages = {};

  /** @param {Uint8Array} served the plan */
  constructor(served = PLAN) {
    this.pages = { plan: served, "": served }; // collectors serve a plan at the survey's URL
    this.send = this.send.bind(this);
  }

  /** The requests of a method. @param {string} method */
  of(method) {
    return this.requests.filter((each) => each.method === method);
  }

  /** @param {import("../src/client/transport.js").Request} request */
  async send(request) {
    this.requests.push(request);
    const { body = new Uint8Array(), method, url } = request;
    const path = url.slice(URL_AT_RELAY.length + 1);
    if (method === "GET") {
      const page = this.pages[path];
      return page ? { status: 200, body: page } : respond(404, { reason: "no-such-page" });
    }
    const answer = this.answers.shift();
    if (answer === "no answer") throw new TypeError("Failed to fetch");
    if (answer) return answer;
    if (path !== DIGEST) return respond(404, { reason: "other-plan" });
    const key = Buffer.from(body).toString("hex");
    if (method === "DELETE") {
      if (this.isPassedOn) return respond(409, { reason: "passed-on" });
      this.held.delete(key);
      return { status: 204, body: new Uint8Array() };
    }
    await openOuter(body);
    this.held.add(key);
    return respond(202, { status: "held" });
  }
}

/**
 * Return what the relay finds in a message.
 *
 * @param {Uint8Array} message
 * @param {number} codeBytes
 */
export async function openMessage(message, codeBytes) {
  const content = await openOuter(message);
  return { code: content.subarray(0, codeBytes), inner: content.subarray(codeBytes) };
}

/** @param {Uint8Array} message */
function openOuter(message) {
  return open(RELAY_KEY.privateKey, RELAY_KEY.bytes, infoOf("relay"), message.subarray(1));
}

/**
 * Return a code of the relay as text, as `encoders/survey/invitation.py` writes it.
 *
 * @param {Uint8Array} code 16 bytes
 * @param {string} [digest] of the plan
 */
export function formatCode(code, digest = DIGEST) {
  const hash = createHash("sha256").update("ldp-bayes token check\0").update(digest, "hex").update(code).digest();
  const bits = [...code, ...hash.subarray(0, 4)].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const letters = "abcdefghijklmnopqrstuvwxyz234567";
  return Array.from({ length: 32 }, (_, index) => letters[parseInt(bits.slice(5 * index, 5 * index + 5), 2)]).join("");
}

/**
 * Return the report in a message, without its padding, and the code before it.
 *
 * @param {Uint8Array} message
 * @param {number} [codeBytes]
 */
export async function openReport(message, codeBytes = 0) {
  const { code, inner } = await openMessage(message, codeBytes);
  assert.equal(code.length, codeBytes);
  const text = await open(COLLECTOR_KEY.privateKey, COLLECTOR_KEY.bytes, infoOf("report"), inner.subarray(1));
  return text.subarray(2, 2 + 256 * text[0] + text[1]);
}

/** @param {string} purpose */
function infoOf(purpose) {
  return join(`ldp-bayes ${purpose}\0`, Buffer.from(DIGEST, "hex"));
}

/**
 * Return a response.
 *
 * @param {number} status
 * @param {unknown} content
 * @param {number} [retryAfter]
 */
export function respond(status, content, retryAfter) {
  return { status, body: toBytes(JSON.stringify(content)), retryAfter };
}

/**
 * Return a client of the survey with a relay, with its relay and its store.
 *
 * @param {any} [options] of the client, `survey`, `relay`, and `route`: the option `relay`, or null for none
 */
export function makeRelayed({ survey = URL_AT_RELAY, relay = new FakeRelay(), route, ...options } = {}) {
  const store = options.store ?? new MemoryStore();
  const client = new Client(survey, {
    person: null, send: relay.send, digest: DIGEST, spread: 3600,
    relay: route === undefined ? throughRelay(RELAY) : route ?? undefined,
    ...options, store,
  });
  return { client, relay, store };
}

/** Grant and report; return what `makeRelayed` made. @param {any} made */
export async function reported(made) {
  assert.equal(String(await made.client.grant()), "ready");
  const receipt = await made.client.report(ROW, LABEL);
  assert.equal(`${receipt.state} ${receipt.epsilon}`, "queued 4");
  return made;
}

/** Report and send; return what `makeRelayed` made. @param {any} [options] of `makeRelayed` */
export async function sent(options) {
  const made = await reported(makeRelayed(options));
  assert.equal((await made.client.flush(60)).state, "sent");
  return made;
}

/** State and reason. @param {import("../src/index.js").Receipt} receipt */
export const brief = ({ reason, state }) => `${state} ${reason}`;
