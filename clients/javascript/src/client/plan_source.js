/** Finds the survey of a client, and fetches its plan from the collector. */

import { concatenate, fromAscii } from "../bytes.js";
import { ExpiredError, OptionError, SignatureError, TransportError } from "./errors.js";
import { collectorReason, isSurveyClosed } from "./collector_response.js";
import { originOfUrl } from "./survey_identity.js";

const TIMEOUT_SECONDS = 10;
const SURVEY_URL = /^https?:\/\/[^?#]*[^?#/]\/([a-z0-9][a-z0-9-]{0,63})\/*$/;

/**
 * Return a survey's URL without a final slash, the survey's id, which is the end of the URL, and its origin.
 *
 * @param {unknown} url
 */
export function checkSurveyUrl(url) {
  const text = typeof url === "string" && !/\/v1\/surveys\/*$/.test(url) ? url : "";
  const survey = SURVEY_URL.exec(text)?.[1];
  try {
    if (survey) return { url: text.replace(/\/+$/, ""), survey, origin: originOfUrl(text) };
  } catch {
    // the host or the port is malformed
  }
  throw new OptionError("a survey's URL looks like https://host/v1/surveys/ID");
}

/**
 * Return the bytes of a survey's plan, with a verified signature if a key is given; the plan is not checked.
 *
 * @param {import("./transport.js").Send} send
 * @param {string} url
 * @param {string} publicKey empty if no signature is required
 * @param {(bytes: Uint8Array) => Uint8Array} sha256
 */
export async function fetchPlan(send, url, publicKey, sha256) {
  const bytes = await fetchPage(send, url);
  if (publicKey) await verify(sha256(bytes), await fetchPage(send, `${url}/signature`), publicKey);
  return bytes;
}

/**
 * @param {import("./transport.js").Send} send
 * @param {string} url
 */
async function fetchPage(send, url) {
  const response = await send({ method: "GET", url, timeout: TIMEOUT_SECONDS }).catch(() => {
    throw new TransportError("the collector did not respond");
  });
  const reason = collectorReason(response);
  if (isSurveyClosed(response)) throw new ExpiredError();
  if (reason === "no-signature") throw new SignatureError("the collector has no signature of the plan");
  if (reason) throw new TransportError(`the collector does not send the plan now (${reason})`, reason);
  if (response.status !== 200) {
    throw new TransportError(`the response with HTTP status ${response.status} is not from a collector`);
  }
  return response.body;
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
  let isSigned = false;
  try {
    const key = await subtle.importKey("raw", fromBase64(publicKey), "Ed25519", false, ["verify"]);
    isSigned = await subtle.verify("Ed25519", key, fromBase64(new TextDecoder().decode(line)), message);
  } catch {
    // a malformed signature, or a browser without Ed25519
  }
  if (!isSigned) throw new SignatureError("the plan is not signed with the key, or this browser has no Ed25519");
}

/** @param {string} text */
function fromBase64(text) {
  return fromAscii(atob(text));
}
