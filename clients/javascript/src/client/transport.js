/**
 * The client's HTTP: fetches a plan and posts a report.
 *
 * Requests have no cookies, no referrer and no redirects. A report is sent as `text/plain`, which needs no
 * preflight, so that the last request of a page arrives.
 */

import { TransportError } from "./errors.js";
import { parseRetryAfter } from "./retry_after.js";

const MAX_RESPONSE_BYTES = 1 << 20; // a plan is never larger

/**
 * A request. Applications can inject a function that sends it, as the option `send`.
 *
 * @typedef {object} Request
 * @property {"GET" | "POST"} method
 * @property {string} url
 * @property {Uint8Array} [body] is sent unchanged, as `text/plain`
 * @property {number} timeout seconds after which the request must fail
 */

/**
 * @typedef {object} Response
 * @property {number} status
 * @property {Uint8Array} body
 * @property {number} [retryAfter] seconds to wait before the next attempt, if the server gave them
 */

/**
 * Returns the server's response, or throws if there is none; redirects are not followed.
 *
 * @callback Send
 * @param {Request} request
 * @returns {Promise<Response>}
 */

/**
 * Send one request with `fetch`.
 *
 * @type {Send}
 */
export async function sendByFetch({ method, url, body, timeout }) {
  const response = await fetch(url, {
    method,
    // a text would be encoded again, and a blob keeps every byte
    body: body && new Blob([/** @type {any} */ (body)], { type: "text/plain" }),
    keepalive: Boolean(body),
    credentials: "omit",
    referrerPolicy: "no-referrer",
    cache: "no-store",
    redirect: "error",
    signal: AbortSignal.timeout(timeout * 1000),
  });
  const { headers, status } = response;
  const retryAfter = parseRetryAfter(headers.get("Retry-After") ?? "", headers.get("Date") ?? "");
  return { status, body: await readBody(response), retryAfter };
}

/** @param {globalThis.Response} response */
async function readBody({ body }) {
  const reader = body?.getReader();
  let bytes = new Uint8Array();
  for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
    const longer = new Uint8Array(bytes.length + part.value.length);
    longer.set(bytes);
    longer.set(part.value, bytes.length);
    bytes = longer;
    if (bytes.length > MAX_RESPONSE_BYTES) {
      await reader?.cancel();
      throw new TransportError("the response is too long");
    }
  }
  return bytes;
}
