/** Checks that the author of a survey signed its plan; loaded for applications that pin the author's key. */

import { concatenate, fromAscii } from "../bytes.js";
import { SignatureError } from "./errors.js";
import { fetchPage } from "./plan_source.js";

const BASE64 = /^\s*([\w+/=]{4})+\s*$/;

/**
 * Throw SignatureError unless a plan was signed with a key; see docs/wire-format.md.
 *
 * @param {Uint8Array} digest of the plan
 * @param {string} publicKey
 * @param {import("./transport.js").Send} send
 * @param {string} url of the survey
 * @param {"relay"} [relay] instead of the collector
 */
export async function verify(digest, publicKey, send, url, relay) {
  const line = await fetchPage(send, `${url}/signature`, relay, BASE64).catch((error) => {
    throw error.reason === "no-signature" ? unsigned() : error;
  });
  const { subtle } = crypto;
  const message = concatenate(fromAscii("ldp-bayes plan v1\0"), digest);
  try {
    const key = await subtle.importKey("raw", fromAscii(atob(publicKey)), "Ed25519", false, ["verify"]);
    if (await subtle.verify("Ed25519", key, fromAscii(atob(new TextDecoder().decode(line))), message)) return;
  } catch {
    // a malformed signature, or a browser without Ed25519
  }
  throw unsigned();
}

function unsigned() {
  return new SignatureError("the plan lacks the required signature: sign it, or update the browser", "bad-signature");
}
