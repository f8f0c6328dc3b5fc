// Formats numbers, times and rejection reasons as text.

const integerFormat = new Intl.NumberFormat("en");
const signedFormat = new Intl.NumberFormat("en", { signDisplay: "exceptZero" });
const UNKNOWN = "unknown";
const NO_BREAK_SPACE = "\u00a0";

export const count = (n) => integerFormat.format(n);
export const change = (n) => (n === null ? "–" : n === 0 ? "no change" : signedFormat.format(n));
export const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;
export const clock = (date) => date.toLocaleTimeString("en", { hourCycle: "h23" });

/** Write a share as a percentage with one decimal. */
export const percent = (x) => (x === null ? UNKNOWN : `${typographicMinus((100 * x).toFixed(1))}%`);

/** Write a number to four digits. */
export function number(x) {
  if (x === null) return UNKNOWN;
  return typographicMinus(new Intl.NumberFormat("en", { maximumSignificantDigits: 4 }).format(x));
}

/** Write an estimate with its interval. */
export const withInterval = (write, value, low, high) =>
  value === null ? UNKNOWN : `${write(value)} (${write(low)}${NO_BREAK_SPACE}to${NO_BREAK_SPACE}${write(high)})`;

const compactFormat = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** Write a number at an axis. */
export const axisLabel = (x) => typographicMinus(compactFormat.format(x));

/** Write a margin to two digits: of a share in percentage points, without the word. */
export function margin(x, isShare) {
  const size = isShare ? 100 * x : x;
  return `±${new Intl.NumberFormat("en", { maximumSignificantDigits: 2 }).format(size)}`;
}

const typographicMinus = (text) => (/^-0(\.0+)?$/.test(text) ? text.slice(1) : text.replace("-", "−"));

const REASONS = {
  "not-enrolled": "No invitation: its token was never given out here (a device tries again every hour)",
  "too-many-requests": "Too many posts from one address in a minute",
  "too-many-reports": "Several reports in one request, without a gateway's token",
  "not-authorised": "Sent with a wrong gateway's token",
  "malformed": "No report at all: bytes that cannot be read",
  "too-large": "Larger than any report or batch may be",
  "wrong-plan": "Made for another plan, or another version of this one",
  "unknown-question": "Answers a question that the plan does not ask",
  "bad-payload": "An answer that no device would send",
  "id-reused": "Another report was counted under the same id",
  "length-required": "Sent without its length",
  "incomplete-body": "Cut off on the way; devices send it again",
  "unsupported-media-type": "Sent as something else than a report",
  "survey-closed": "Came after the survey was closed",
  "store-unavailable": "Could not be stored then; devices send it again",
};

/** Describe why reports were rejected; an unknown reason is shown as it is. */
export const reason = (code) => REASONS[code] ?? code.replaceAll("-", " ");
