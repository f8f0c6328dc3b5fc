/** Computes the pause before the next attempt: the collector's Retry-After, and exponential backoff. */

const FIRST_BACKOFF_SECONDS = 0.5;
export const MAX_BACKOFF_SECONDS = 300;
const MAX_RETRY_AFTER_SECONDS = 86_400;

/**
 * Return the seconds of a Retry-After header, at most a day; 0 if it asks for none.
 *
 * A date is compared with the response's `Date` header.
 *
 * @param {string} retryAfter
 * @param {string} date
 */
export function parseRetryAfter(retryAfter, date) {
  const text = retryAfter.trim();
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.parse(date)) / 1000;
  return limitRetryAfter(seconds);
}

/**
 * Limit the seconds that a collector asks a device to wait.
 *
 * @param {number | undefined} seconds
 */
export function limitRetryAfter(seconds = 0) {
  return seconds > 0 ? Math.min(seconds, MAX_RETRY_AFTER_SECONDS) : 0; // NaN is not above 0
}

/**
 * Round seconds up to a step that all devices share; by exact times, a collector could mark a device.
 *
 * @param {number} seconds at most a day
 */
export function roundUpRetryAfter(seconds) {
  return [0, 60, 3600].find((step) => step >= seconds) ?? MAX_RETRY_AFTER_SECONDS;
}

/** Draw a number uniformly from [0, 1); sending times are drawn with it, independently of the report. */
export function drawUniform() {
  return crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;
}

/**
 * Return the longest backoff after a number of failures in a row; it doubles with every failure.
 *
 * @param {number} failures
 */
export function backoffLimit(failures) {
  return Math.min(MAX_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2 ** failures);
}
