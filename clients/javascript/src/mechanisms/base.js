/** The interface of every mechanism, as the device uses it. */

/** @typedef {import("../arithmetic.js").Fraction} Fraction */
/** @typedef {Readonly<Record<string, unknown>>} Tables the integers of a mechanism, as decimal strings */

/**
 * A mechanism randomises one answer. The lengths of its payload and of its randomness are fixed.
 *
 * A value is a list of one index below the domain of a frequency oracle, or of code * k + c for each number
 * of a mechanism for numbers, where c is the label's code. `perturb` does not branch on the value. Neither
 * JavaScript nor its big integers promise a constant time.
 *
 * @typedef {object} Mechanism
 * @property {number} payloadBytes length of a payload
 * @property {number} randomBytes number of random bytes that `perturb` takes
 * @property {Fraction} ratio exact worst likelihood ratio over all inputs and outputs
 * @property {(value: readonly number[], random: Uint8Array) => Uint8Array} perturb returns the payload
 */

/**
 * Returns the value that an earlier question of the plan made for a key, or calls `make`. A key is an object or a text.
 *
 * Thousands of questions may share a table, whose noise needs time and memory.
 *
 * @typedef {(key: unknown, make: () => any) => any} Share
 */

/**
 * Return the number of bytes of an index below `count`: 1 or 2.
 *
 * @param {number} count
 */
export function indexBytes(count) {
  return count <= 256 ? 1 : 2;
}
