/** The wire format of a report: one msgpack array of five entries in its shortest encoding. */

import { concatenate } from "./bytes.js";

/** Largest length of a payload: a report has at most 4,096 bytes, of which 64 are for everything else. */
export const MAX_PAYLOAD_BYTES = 4032;

/**
 * Return a report's bytes.
 *
 * @param {Uint8Array} planDigest 32 bytes
 * @param {number} question index of the question in the plan
 * @param {Uint8Array} id 16 bytes, by which the collector counts the report once
 * @param {Uint8Array} payload output of the question's mechanism
 */
export function packReport(planDigest, question, id, payload) {
  return concatenate([0x95, 1], packBytes(planDigest), packIndex(question), packBytes(id), packBytes(payload));
}

/** @param {number} index */
function packIndex(index) {
  return [...(index < 0x80 ? [] : index < 0x100 ? [0xcc] : [0xcd, index >> 8]), index & 255];
}

/** @param {Uint8Array} bytes */
function packBytes(bytes) {
  return [...(bytes.length < 0x100 ? [0xc4] : [0xc5, bytes.length >> 8]), bytes.length & 255, ...bytes];
}
