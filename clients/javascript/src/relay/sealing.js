/**
 * Seals reports for a relay: an inner seal that the collector opens, and an outer one that the relay opens.
 *
 * A seal is the id of a public key and a message of hpke.js. All messages of a survey have one length.
 */

import { concatenate, fromAscii, toHex } from "../bytes.js";
import { requireValid } from "../errors.js";
import { hasForm } from "../text_form.js";
import { exportPublicKey, makeKeyPair, sealTo } from "./hpke.js";

/** Base64 of 39 bytes. */
const KEY_FORM = /^[A-Za-z0-9+/]{52}$/;
/** What a key contains before and after the public key: the only suite, in hexadecimal digits. */
const SUITE = "002000010001";
const DIGEST_BYTES = 32;

/**
 * Return the message for the relay: longest + 100 bytes, and the code. Two messages of one report differ.
 *
 * Throws SurveyError for a key that the plan must not have, and RangeError for a mistake of the caller.
 *
 * @param {Uint8Array} report
 * @param {number} longest number of bytes of the plan's longest report, below 65,536
 * @param {Uint8Array} digest of the plan, 32 bytes
 * @param {string} collectorKey base64 of the key's id (1 byte), 0020, the public key (32 bytes) and 0001 0001
 * @param {string} relayKey likewise
 * @param {Iterable<number>} [code] that the relay gave to the person; the collector never gets it
 * @returns {Promise<Uint8Array>}
 */
export async function sealReport(report, longest, digest, collectorKey, relayKey, code = []) {
  const { length } = report;
  if (!(length <= longest && longest < 2 ** 16)) throw new RangeError("the report is too long");
  if (digest.length !== DIGEST_BYTES) throw new RangeError("the digest has the wrong length");
  const padded = concatenate([length >> 8, length & 255], report, new Uint8Array(longest - length));
  const inner = await seal(collectorKey, "ldp-bayes report\0", digest, padded);
  return seal(relayKey, "ldp-bayes relay\0", digest, concatenate(code, inner));
}

/** Return whether this browser can seal: not in an insecure context, nor without X25519. */
export async function isSealingSupported() {
  try {
    const keyPair = await makeKeyPair();
    await sealTo(await exportPublicKey(keyPair), keyPair, new Uint8Array(), new Uint8Array());
    return true;
  } catch {
    return false;
  }
}

/**
 * Return the id of a key and a text that is sealed to it.
 *
 * @param {string} key
 * @param {string} purpose
 * @param {Uint8Array} digest
 * @param {Uint8Array<ArrayBuffer>} text
 */
async function seal(key, purpose, digest, text) {
  requireValid(hasForm(key, KEY_FORM));
  const bytes = fromAscii(atob(key));
  requireValid(toHex(concatenate(bytes.subarray(1, 3), bytes.subarray(35))) === SUITE);
  const info = concatenate(fromAscii(purpose), digest);
  return concatenate([bytes[0]], await sealTo(bytes.subarray(3, 35), await makeKeyPair(), info, text));
}
