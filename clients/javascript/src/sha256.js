/**
 * SHA-256 (FIPS 180-4). It is synchronous and needs no secure context, unlike `crypto.subtle`.
 *
 * It hashes plans and tokens, which are public or random. It never hashes a value of a row.
 */

/** The first 64 primes. @type {number[]} */
const PRIMES = [];
for (let number = 2; PRIMES.length < 64; number++) {
  if (PRIMES.every((prime) => number % prime)) PRIMES.push(number);
}
/** First 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const ROUND_CONSTANTS = Uint32Array.from(PRIMES, (prime) => rootFraction(prime, 3));
/** First 32 bits of the fractional parts of the square roots of the first 8 primes. */
const INITIAL_STATE = Uint32Array.from(PRIMES.slice(0, 8), (prime) => rootFraction(prime, 2));

/**
 * Return the digest of bytes, 32 bytes.
 *
 * @param {Uint8Array} bytes
 * @returns {Uint8Array}
 */
export function sha256(bytes) {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  const state = Uint32Array.from(INITIAL_STATE);
  const words = new Uint32Array(64);
  for (let start = 0; start < padded.length; start += 64) {
    for (let t = 0; t < 64; t++) {
      words[t] = t < 16 ? view.getUint32(start + 4 * t) : expandedWord(words, t);
    }
    compress(state, words);
  }
  // the last block has been read: its memory holds the digest
  state.forEach((word, index) => view.setUint32(4 * index, word));
  return padded.slice(0, 32);
}

/**
 * @param {Uint32Array} words
 * @param {number} t
 */
function expandedWord(words, t) {
  const early = words[t - 15];
  const late = words[t - 2];
  const fromEarly = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3);
  const fromLate = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10);
  return words[t - 16] + fromEarly + words[t - 7] + fromLate;
}

/**
 * Add one block of 64 bytes, already expanded to 64 words, to the state.
 *
 * @param {Uint32Array} state
 * @param {Uint32Array} words
 */
function compress(state, words) {
  let [a, b, c, d, e, f, g, h] = state;
  for (let t = 0; t < 64; t++) {
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const fromE = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const fromA = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const first = (h + fromE + choice + ROUND_CONSTANTS[t] + words[t]) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + fromA + majority) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((word, index) => (state[index] += word));
}

/**
 * @param {number} word
 * @param {number} count
 */
function rotate(word, count) {
  return (word >>> count) | (word << (32 - count));
}

/**
 * Return the first 32 bits of the fractional part of a root.
 *
 * In units of 2^-32, no root of these primes is within 2^-11 of a whole number, and doubles are exact to
 * 2^-17. So rounding changes no bit, and a power function that is off by a few units in its last place is
 * accurate enough.
 *
 * @param {number} prime
 * @param {number} degree 2 or 3
 */
function rootFraction(prime, degree) {
  return prime ** (1 / degree) % 1 * 2 ** 32;
}
