/** Finds the survey of a client, and fetches its plan from the collector or the relay. */

import { exchange } from "./collector_response.js";
import { ExpiredError, OptionError, TransportError } from "./errors.js";
import { originOfUrl } from "./survey_identity.js";

const SURVEY_URL = /^(?!.*\/v1\/surveys\/*$)(https?:\/\/[^?#]*[^?#/]\/([a-z0-9][a-z0-9-]{0,63}))\/*$/;

/**
 * Return a survey's URL without a final slash, the survey's id, which is the end of the URL, and its origin.
 *
 * @param {unknown} text
 */
export function checkSurveyUrl(text) {
  try {
    const [, url, survey] = /** @type {string[]} */ (SURVEY_URL.exec(/** @type {string} */ (text)));
    return { url, survey, origin: originOfUrl(url) };
  } catch {
    throw new OptionError("a survey's URL looks like https://host/v1/surveys/ID", "bad-option");
  }
}

/**
 * Return the bytes of a survey's plan, with a verified signature if a key is given; the plan is not checked.
 *
 * @param {import("./transport.js").Send} send
 * @param {string} url
 * @param {string} publicKey empty if no signature is required
 * @param {(bytes: Uint8Array) => Uint8Array} sha256
 * @param {"relay"} [relay] instead of the collector
 */
export async function fetchPlan(send, url, publicKey, sha256, relay) {
  const bytes = await fetchPage(send, relay ? `${url}/plan` : url, relay);
  if (publicKey) await (await import("./signature.js")).verify(sha256(bytes), publicKey, send, url, relay);
  return bytes;
}

/**
 * Fetch a URL from the collector or the relay; return the body of the response.
 *
 * Throws TransportError if the body is neither of the form nor JSON with a `format`, as a network's sign-in page.
 *
 * @param {import("./transport.js").Send} send
 * @param {string} url
 * @param {"relay"} [relay]
 * @param {RegExp} [form]
 */
export async function fetchPage(send, url, relay, form) {
  const { body, content, reason, state, status, why } = await exchange(send, url, undefined, relay);
  const isWanted = form ? form.test(new TextDecoder().decode(body)) : typeof content?.format === "number";
  if (status === 200 && isWanted) return body;
  if (state === "expired") throw new ExpiredError("the collector has closed the survey", reason);
  throw new TransportError(why, reason);
}
