/** Interprets a collector's response to one attempt: the outcome of the report, or why it still waits. */

/** @typedef {import("./receipt.js").State} State */
/** @typedef {import("./transport.js").Response} Response */

/** Reasons that reject the bytes of a report for good; any other reason may pass. */
const FINAL_REASONS = ["malformed", "too-large", "unknown-question", "bad-payload", "id-reused"];
const CLOSED = "survey-closed";
const REASONS = [
  ...FINAL_REASONS,
  CLOSED,
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
  "internal-error",
];

/**
 * Return an entry of the JSON object in a response; undefined if there is no such object or entry.
 *
 * @param {Response} response
 * @param {"reason" | "status"} name
 * @returns {unknown}
 */
function entryOf({ body }, name) {
  try {
    return JSON.parse(new TextDecoder().decode(body))?.[name];
  } catch {
    return undefined;
  }
}

/**
 * Return the reason in a collector's response, or an empty text if it is not a collector's.
 *
 * @param {Response} response
 */
export function collectorReason(response) {
  const reason = entryOf(response, "reason");
  return REASONS.find((each) => each === reason) ?? "";
}

/**
 * Return whether the collector says that the survey is closed.
 *
 * @param {Response | undefined} response
 */
export function isSurveyClosed(response) {
  return response?.status === 410 && collectorReason(response) === CLOSED;
}

/**
 * Return a report's final state and the reason of a rejection; undefined if it must be sent again.
 *
 * Only the collector's own response about these bytes, or about the end of this survey, is final. The page of
 * a proxy and the "200 OK" of a network's sign-in page are not.
 *
 * @param {Response} response
 * @returns {{ state: State, reason: string } | undefined}
 */
export function parseOutcome(response) {
  const status = entryOf(response, "status");
  const reason = collectorReason(response);
  if (response.status === 200 && status === "recorded") return { state: "sent", reason: "" };
  if (response.status === 200 && status === "duplicate") return { state: "duplicate", reason: "" };
  if (response.status >= 400 && response.status < 500 && FINAL_REASONS.includes(reason)) {
    return { state: "rejected", reason };
  }
  return isSurveyClosed(response) ? { state: "expired", reason } : undefined;
}

/**
 * Return whether a failure concerns all surveys of a collector: it is busy, or cannot be reached.
 *
 * @param {Response | undefined} response
 */
export function concernsCollector(response) {
  return !response || response.status === 429 || response.status >= 500 || !collectorReason(response);
}

/**
 * Return why an attempt did not deliver a report: a stable word (reason), and a sentence for people.
 *
 * @param {Response | undefined} response
 */
export function explainFailure(response) {
  const reason = response && collectorReason(response);
  const cause = reason
    ? `the collector did not accept the report now (${reason})`
    : response
      ? `the response with HTTP status ${response.status} is not from a collector`
      : "the collector did not respond";
  return { reason: reason || "collector-unreachable", why: `${cause}; the report stays here and will be sent again` };
}
