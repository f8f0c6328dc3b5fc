/** Interprets the response of a collector or a relay: the outcome of a report, or why the attempt failed. */

/** @typedef {import("./receipt.js").State} State */
/** @typedef {import("./transport.js").Response} Response */

const TIMEOUT_SECONDS = 10;
/** @typedef {import("../errors.js").Reason} Reason */

/** Reasons of collectors that reject a report for good; any other reason may pass. @type {readonly Reason[]} */
const FINAL_REASONS = ["malformed", "too-large", "unknown-question", "bad-payload", "id-reused"];
/** What other final responses of collectors and relays mean. @type {Record<string, State>} */
const OUTCOMES = {
  "200 recorded": "sent", "202 held": "sent", "200 duplicate": "duplicate", "410 survey-closed": "expired",
};
/** @type {readonly Reason[]} */
const REASONS = [
  ...FINAL_REASONS,
  "survey-closed",
  "wrong-plan",
  "not-enrolled",
  "length-required",
  "incomplete-body",
  "unsupported-media-type",
  "unknown-survey",
  "no-signature",
  "no-texts",
  "survey-not-open",
  "too-many-requests",
  "too-many-reports",
  "store-unavailable",
  "not-authorised",
  "no-such-page",
  "rehearsal",
  "internal-error",
];

/**
 * Send one request, and interpret the response. Without a response, the status is 0.
 *
 * Only the recipient's own response about these bytes, or about the end of this survey, has a final state. The
 * page of a proxy and the "200 OK" of a network's sign-in page have none.
 *
 * @param {import("./transport.js").Send} send
 * @param {string} url
 * @param {Uint8Array} [report] is posted
 * @param {"collector" | "relay"} [recipient]
 */
export async function exchange(send, url, report, recipient = "collector") {
  /** @type {Partial<Response>} */
  let response = {};
  try {
    response = (await send({ method: report ? "POST" : "GET", url, body: report, timeout: TIMEOUT_SECONDS })) ?? {};
  } catch {
    // there is no response; the error may be of the application's own function
  }
  const { body = new Uint8Array(), retryAfter, status = 0 } = response; // its result may be anything
  const content = parseJson(body);
  const word = REASONS.find((each) => each === content?.reason);
  const state = finalState(status, word ?? content?.status);
  const why = word
    ? `the ${recipient} responded: ${word}`
    : status
      ? `a response with status ${status}, not from a ${recipient}`
      : `the ${recipient} did not respond`;
  return {
    body,
    content,
    retryAfter,
    status,
    state,
    /** Empty if the recipient took the report. */
    reason: /** @type {Reason} */ (word ?? (report && state ? "" : `${recipient}-unreachable`)),
    why,
    /** Whether a failure concerns all surveys of the recipient: it is busy, or cannot be reached. */
    isShared: !word || status === 429 || status >= 500,
  };
}

/**
 * Return a report's final state; undefined if it must be sent again.
 *
 * @param {number} status
 * @param {unknown} word
 * @returns {State | undefined}
 */
function finalState(status, word) {
  const isRejected = status >= 400 && status < 500 && FINAL_REASONS.includes(/** @type {Reason} */ (word));
  return isRejected ? "rejected" : OUTCOMES[`${status} ${word}`];
}

/**
 * @param {Uint8Array} bytes
 * @returns {any}
 */
function parseJson(bytes) {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
