/** Helpers for arrays of bytes: hexadecimal digits, words, concatenation. */

/**
 * Return bytes as hexadecimal digits in lower case.
 *
 * @param {Uint8Array} bytes
 */
export function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Return the bytes of an ASCII text.
 *
 * @param {string} text
 */
export function fromAscii(text) {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/**
 * Return several arrays of bytes as one.
 *
 * @param {...Iterable<number>} parts
 */
export function concatenate(...parts) {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

/**
 * Return the 64-bit word, little-endian, that begins at byte 8 * index.
 *
 * @param {Uint8Array} bytes
 * @param {number} index
 */
export function readWord(bytes, index) {
  return viewOf(bytes).getBigUint64(8 * index, true);
}

/**
 * Return the highest `bits` bits, 1 to 32, of the word with an index.
 *
 * @param {Uint8Array} bytes
 * @param {number} index
 * @param {number} bits
 */
export function readHighBits(bytes, index, bits) {
  return viewOf(bytes).getUint32(8 * index + 4, true) >>> (32 - bits);
}

/**
 * Return an index as `count` bytes, little-endian.
 *
 * @param {number} index
 * @param {number} count 1 or 2
 */
export function indexToBytes(index, count) {
  return Uint8Array.of(index, index >> 8).subarray(0, count);
}

/**
 * Return whole numbers as signed 16-bit integers, little-endian.
 *
 * @param {readonly number[]} numbers
 */
export function integersToBytes(numbers) {
  const bytes = new Uint8Array(2 * numbers.length);
  numbers.forEach((number, index) => viewOf(bytes).setInt16(2 * index, number, true));
  return bytes;
}

/** @param {Uint8Array} bytes */
function viewOf(bytes) {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
