/** Rehearsals: a client takes every step of a report up to its bytes, and sends and keeps nothing. */

import { fromAscii } from "./bytes.js";
import { MemoryStore } from "./client/journal/memory_store.js";
import { sendByFetch } from "./client/transport.js";

/** @typedef {import("./client/client.js").ClientOptions} ClientOptions */

/** A relay's answer if it has no report. */
const DELETED = { status: 204, body: new Uint8Array() };
const REFUSED = { status: 503, body: fromAscii('{"reason":"rehearsal"}') };

/**
 * Return the options of a client that rehearses: `new Client(url, rehearse({ person: null }))`.
 *
 * Its journal is in memory, so that reloading the page forgets it. Plan, texts and signature are fetched; every other
 * request is refused, so a report stays `queued`, with the reason `rehearsal`.
 *
 * @param {ClientOptions} options
 * @returns {ClientOptions}
 */
export function rehearse({ send = sendByFetch, ...options }) {
  return {
    ...options,
    store: new MemoryStore(),
    async send(request) {
      if (request.method === "DELETE") return DELETED;
      return request.method === "GET" ? send(request) : REFUSED;
    },
  };
}
