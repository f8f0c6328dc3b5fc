/** Finds the survey of a client, and fetches its plan from the collector or the relay. */

import { concatenate, fromAscii } from "../bytes.js";
import { exchange } from "./collector_response.js";
import { ExpiredError, OptionError, SignatureError, TransportError } from "./errors.js";
import { originOfUrl } from "./survey_identity.js";

const BASE64 = /^\s*([\w+/=]{4})+\s*$/;
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
  if (publicKey) await verify(sha256(bytes), await fetchPage(send, `${url}/signature`, relay, BASE64), publicKey);
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
  if (reason === "no-signature") throw unsigned();
  throw new TransportError(why, reason);
}

/**
 * Throw SignatureError unless a plan was signed with a key; see docs/wire-format.md.
 *
 * @param {Uint8Array} digest of the plan
 * @param {Uint8Array} line the signature, one line of base64
 * @param {string} publicKey
 */
async function verify(digest, line, publicKey) {
  const { subtle } = crypto;
  const message = concatenate(fromAscii("ldp-bayes plan v1\0"), digest);
  try {
    const key = await subtle.importKey("raw", fromBase64(publicKey), "Ed25519", false, ["verify"]);
    if (await subtle.verify("Ed25519", key, fromBase64(new TextDecoder().decode(line)), message)) return;
  } catch {
    // a malformed signature, or a browser without Ed25519
  }
  throw unsigned();
}

function unsigned() {
  return new SignatureError("the plan lacks the required signature: sign it, or update the browser", "bad-signature");
}

/** @param {string} text */
function fromBase64(text) {
  return fromAscii(atob(text));
}
