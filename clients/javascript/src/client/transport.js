/**
 * The client's HTTP: fetches a plan and posts a report.
 *
 * Requests have no cookies, no referrer and no redirects. A report is sent as `text/plain`, which needs no
 * preflight, so that the last request of a page arrives.
 */

const MAX_RESPONSE_BYTES = 1 << 20; // a plan is never larger

/**
 * A request. Applications can inject a function that sends it, as the option `send`.
 *
 * @typedef {object} Request
 * @property {"GET" | "POST" | "DELETE"} method
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
 * Returns the server's response, and does not follow redirects. Throws if the server does not respond.
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
  const retryAfter = parseRetryAfter(headers.get("Retry-After"), headers.get("Date"));
  return { status, body: await readBody(response), retryAfter };
}

/**
 * Return the body of a response; throws without reading the rest if it is too long.
 *
 * @param {globalThis.Response} response
 */
async function readBody({ body }) {
  const reader = body?.getReader();
  const parts = [];
  let left = MAX_RESPONSE_BYTES;
  for (let part; (part = (await reader?.read())?.value); parts.push(part)) {
    left -= part.length;
    if (left < 0) {
      void reader?.cancel();
      throw new RangeError("the response is too long");
    }
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/**
 * Return the seconds of a Retry-After header; 0 if it asks for none.
 *
 * A date is compared with the response's `Date` header.
 *
 * @param {string | null} retryAfter
 * @param {string | null} date
 */
export function parseRetryAfter(retryAfter, date) {
  const seconds = Number(retryAfter) || (Date.parse(retryAfter ?? "") - Date.parse(date ?? "")) / 1000;
  return seconds > 0 ? seconds : 0; // NaN is not above 0
}
