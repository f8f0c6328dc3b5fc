/** Fakes for an application's own tests: a collector and a journal in memory, and fixed random bytes. */

import { LdpError } from "./errors.js";
import { toHex } from "./bytes.js";
import { MemoryStore } from "./client/journal/memory_store.js";

export { MemoryStore };

/** @typedef {import("./client/transport.js").Request} Request */
/** @typedef {import("./client/transport.js").Response} Response */

/**
 * What a recorder does with reports: "normal" counts them. "busy" responds with 429 and Retry-After. "closed" has
 * closed the survey. "rejected" refuses reports for good. "sign-in page" answers everything with HTML and 200.
 *
 * @typedef {"normal" | "busy" | "closed" | "rejected" | "sign-in page"} Behaviour
 */

/**
 * A collector in memory, which counts equal bytes once. It does not check reports. With the option `relay`, it is a
 * relay, which also deletes a report.
 *
 * Pass `recorder.send` as the option `send`.
 */
export class Recorder {
  /** Every body that was posted, including repeated ones. @type {Uint8Array[]} */
  bodies = [];
  /** While true, every request fails, as without a network. */
  isOffline = false;
  #plan;
  /** @type {Behaviour} */
  #behaviour = "normal";
  #retryAfter = 0;
  /** @type {Set<string>} */
  #reports = new Set();

  /** @param {Uint8Array | string} plan the plan that the collector serves, at any URL */
  constructor(plan) {
    this.#plan = typeof plan === "string" ? new TextEncoder().encode(plan) : plan;
    this.send = this.send.bind(this);
  }

  /** Each counted report, once, in hexadecimal. */
  get reports() {
    return [...this.#reports];
  }

  /**
   * Choose how the collector responds from now on.
   *
   * @param {Behaviour} behaviour
   * @param {{ retryAfter?: number }} [options] seconds that a busy collector asks for
   */
  respond(behaviour, { retryAfter = 30 } = {}) {
    this.#behaviour = behaviour;
    this.#retryAfter = retryAfter;
  }

  /**
   * @param {Request} request
   * @returns {Promise<Response>}
   */
  async send({ method, body }) {
    if (this.isOffline) throw new LdpError("there is no network", "collector-unreachable");
    if (method === "POST" && body) this.bodies.push(body.slice());
    if (method === "DELETE" && body && this.#behaviour === "normal") {
      this.#reports.delete(toHex(body));
      return response(204, "");
    }
    if (this.#behaviour === "sign-in page") return response(200, "<!doctype html><title>Sign in</title>");
    if (this.#behaviour === "closed") return response(410, { reason: "survey-closed" });
    if (method === "GET" || !body) return { status: 200, body: this.#plan };
    if (this.#behaviour === "busy") {
      return { ...response(429, { reason: "too-many-requests" }), retryAfter: this.#retryAfter };
    }
    if (this.#behaviour === "rejected") return response(400, { reason: "bad-payload" });
    const isDuplicate = this.#reports.has(toHex(body));
    this.#reports.add(toHex(body));
    return response(200, { status: isDuplicate ? "duplicate" : "recorded" });
  }
}

/**
 * Return a source of fixed bytes for the option `random`, which throws when they are used up.
 *
 * @param {Uint8Array} bytes
 */
export function fixedRandom(bytes) {
  let next = 0;
  return (/** @type {number} */ count) => {
    if (next + count > bytes.length) throw new RangeError("more random bytes are needed");
    next += count;
    return bytes.slice(next - count, next);
  };
}

/**
 * @param {number} status
 * @param {object | string} content
 * @returns {Response}
 */
function response(status, content) {
  return { status, body: new TextEncoder().encode(typeof content === "string" ? content : JSON.stringify(content)) };
}
