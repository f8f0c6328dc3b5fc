/**
 * Canonical JSON: a plan has one encoding, so that programs in all languages compute the same digest.
 *
 * Keys are sorted. There is no white space and there are no floats; the encoding is UTF-8.
 */

import { requireValid } from "../errors.js";

/**
 * Return the canonical text of a document whose keys are ASCII.
 *
 * @param {any} document
 * @returns {string}
 */
export function dumpCanonicalJson(document) {
  if (Array.isArray(document)) return `[${document.map(dumpCanonicalJson)}]`;
  if (Object(document) !== document) return JSON.stringify(document); // no object
  const keys = Object.keys(document).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${dumpCanonicalJson(document[key])}`)}}`;
}

/**
 * Read canonical bytes; throws if they are not JSON, or not canonical.
 *
 * Floats, repeated keys, integers above 2^53 and white space do not survive reading and writing. Names and values are
 * in Unicode's normal form C, which `isText` checks: the form of a whole plan could take minutes to compute.
 *
 * @param {Uint8Array} bytes
 * @returns {any}
 */
export function loadCanonicalJson(bytes) {
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  const document = JSON.parse(text);
  requireValid(text === dumpCanonicalJson(document));
  return document;
}
