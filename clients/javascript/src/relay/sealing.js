/**
 * Seals reports for a relay: inner seals that the collector opens, and an outer one that the relay opens.
 *
 * A seal is the id of a public key and a message of hpke.js. A person sends one sealed report for each column: if each
 * person answers all questions, column j is for question j; otherwise the only column is for all. All messages of a
 * column have one length.
 */

import { concatenate, fromAscii, toHex } from "../bytes.js";
import { requireValid } from "../errors.js";
import { packReport } from "../report.js";
import { hasForm } from "../text_form.js";
import { exportPublicKey, makeKeyPair, makeSealer } from "./hpke.js";

/**
 * @typedef {object} SealedPlan
 * @property {Uint8Array} digestBytes 32 bytes
 * @property {readonly { mechanism: { payloadBytes: number } }[]} questions
 * @property {Pick<import("./plan_entry.js").RelayEntry, "ask" | "collector_key" | "relay_key">} [relay]
 * @property {{ readonly list: readonly object[] }} [waves]
 * @property {{ readonly index: number }} [wave] of the person; a relay mixes no messages of two waves
 */

/** Base64 of 39 bytes. */
const KEY_FORM = /^[A-Za-z0-9+/]{52}$/;
/** What a key contains before and after the public key: the only suite, in hexadecimal digits. */
const SUITE = "002000010001";
const NO_ID = new Uint8Array(16);
const LENGTH_BYTES = 2;
/** Bytes that a seal adds: the key's id, the public key of the message, and the tag of AES-GCM. */
const SEAL_BYTES = 1 + 32 + 16;

/**
 * Return the length of the longest report of each column of a plan in bytes.
 *
 * @param {SealedPlan} plan with a relay
 */
export function columnLengths({ digestBytes, questions, relay, waves }) {
  // indices are longest in the last wave
  const first = waves ? (waves.list.length - 1) * questions.length : 0;
  const lengths = questions.map(({ mechanism: { payloadBytes } }, index) =>
    packReport(digestBytes, first + index, NO_ID, new Uint8Array(payloadBytes)).length);
  return relay?.ask ? lengths : [Math.max(...lengths)];
}

/**
 * Return the length of an envelope without a code in bytes.
 *
 * @param {readonly number[]} columns from `columnLengths`
 */
export function envelopeBytes(columns) {
  return columns.reduce((sum, each) => sum + LENGTH_BYTES + each + SEAL_BYTES, SEAL_BYTES);
}

/**
 * Return the message for the relay: an envelope with all reports of a person. Two messages of one report differ.
 *
 * Throws SurveyError for a key that the plan must not have, and RangeError for a mistake of the caller.
 *
 * @param {SealedPlan} plan with a relay
 * @param {readonly Uint8Array[]} reports one for each column
 * @param {Iterable<number>} [code] that the relay gave to the person; the collector never gets it
 * @returns {Promise<Uint8Array>}
 */
export async function sealEnvelope(plan, reports, code = []) {
  const { collector_key: collectorKey, relay_key: relayKey } = /** @type {any} */ (plan.relay);
  const columns = columnLengths(plan);
  // a longer message would show the question
  if (reports.length !== columns.length || reports.some(({ length }, index) => length > columns[index])) {
    throw new RangeError("these are not the reports of one person");
  }
  const sealInner = await makeSeal(collectorKey, "ldp-bayes report\0", plan);
  const inner = await Promise.all(reports.map((report, index) => {
    const { length } = report;
    return sealInner(concatenate([length >> 8, length & 255], report, new Uint8Array(columns[index] - length)));
  }));
  const end = plan.wave ? [plan.wave.index >> 8, plan.wave.index & 255] : [];
  const sealOuter = await makeSeal(relayKey, "ldp-bayes relay\0", plan, end);
  return sealOuter(concatenate(code, ...inner));
}

/** Return whether this browser can seal: not in an insecure context, nor without X25519. */
export async function isSealingSupported() {
  try {
    const seal = await makeSealer(await exportPublicKey(await makeKeyPair()), new Uint8Array());
    await seal(new Uint8Array());
    return true;
  } catch {
    return false;
  }
}

/**
 * Return a function that returns the id of a key and a text that is sealed to it.
 *
 * @param {string} key base64 of the key's id (1 byte), 0020, the public key (32 bytes) and 0001 0001
 * @param {string} purpose
 * @param {SealedPlan} plan
 * @param {number[]} [end] of the information that is sealed with the text
 */
async function makeSeal(key, purpose, { digestBytes }, end = []) {
  requireValid(hasForm(key, KEY_FORM));
  const bytes = fromAscii(atob(key));
  requireValid(toHex(concatenate(bytes.subarray(1, 3), bytes.subarray(35))) === SUITE);
  const seal = await makeSealer(bytes.subarray(3, 35), concatenate(fromAscii(purpose), digestBytes, end));
  return async (/** @type {Uint8Array<ArrayBuffer>} */ text) => concatenate([bytes[0]], await seal(text));
}
