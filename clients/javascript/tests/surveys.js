/** Plans and rows for tests, from the vectors that all clients share. */

import { readFileSync } from "node:fs";

const VECTORS = new URL("../../../tests/vectors/", import.meta.url);

/**
 * Return the content of a file of vectors.
 *
 * @param {string} name
 * @returns {any}
 */
export function readVectors(name) {
  return JSON.parse(readFileSync(new URL(`${name}.json`, VECTORS), "utf8"));
}

/**
 * Return the bytes of a text.
 *
 * @param {string} text
 */
export function toBytes(text) {
  return new TextEncoder().encode(text);
}
