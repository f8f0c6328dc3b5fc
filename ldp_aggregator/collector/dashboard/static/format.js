// Formats numbers, times and rejection reasons as text.

const integerFormat = new Intl.NumberFormat("en");
const signedFormat = new Intl.NumberFormat("en", { signDisplay: "exceptZero" });
const UNKNOWN = "unknown";

export const count = (n) => integerFormat.format(n);
export const change = (n) => (n === null ? "–" : n === 0 ? "no change" : signedFormat.format(n));
export const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;
export const clock = (date) => date.toLocaleTimeString("en", { hourCycle: "h23" });

/** Write a share as a percentage with one decimal; only shares of 0 and 1 are 0.0% and 100.0%. */
export function percent(x) {
  if ((0 < x && x < 0.0005) || (0.9995 < x && x < 1)) return x < 0.5 ? "<0.1%" : ">99.9%";
  return x === null ? UNKNOWN : `${typographicMinus((100 * x).toFixed(1))}%`;
}

/** Write a number with four significant digits. */
export function number(x) {
  if (x === null) return UNKNOWN;
  return typographicMinus(new Intl.NumberFormat("en", { maximumSignificantDigits: 4 }).format(x));
}

const compactFormat = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** Write a number or a share at an axis. */
export const axisNumber = (x) => typographicMinus(compactFormat.format(x));
export const axisPercent = (x) => `${Number((100 * x).toPrecision(4))}%`;

/** Write a margin with two significant digits; a share in percentage points, without the unit. */
export function margin(x, isShare) {
  const size = isShare ? 100 * x : x;
  return `±${new Intl.NumberFormat("en", { maximumSignificantDigits: 2 }).format(size)}`;
}

const typographicMinus = (text) => (/^-0(\.0+)?$/.test(text) ? text.slice(1) : text.replace("-", "−"));

const REASONS = {
  "not-enrolled": "Without a valid invitation: this collector did not issue its token (a device tries again every hour)",
  "too-many-requests": "Too many posts from one address in a minute",
  "too-many-reports": "Several reports in one request, without a gateway token",
  "not-authorised": "Sent with a wrong gateway token",
  "malformed": "Not a report: bytes that cannot be read",
  "too-large": "Larger than any report or batch may be",
  "wrong-plan": "Made for another plan, or for another version of this plan",
  "unknown-question": "Answers a question that the plan does not ask",
  "bad-payload": "A payload that no device would send",
  "id-reused": "Another report with the same id was counted",
  "length-required": "Sent without its length",
  "incomplete-body": "Incomplete request; devices send the report again",
  "unsupported-media-type": "Sent with a wrong content type",
  "survey-closed": "Received after the survey was closed",
  "store-unavailable": "Could not be stored; devices send the report again",
};

/** Describe a rejection reason; an unknown reason is shown as its code. */
export const reason = (code) => REASONS[code] ?? code.replaceAll("-", " ");
