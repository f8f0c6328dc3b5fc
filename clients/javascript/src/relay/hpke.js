/**
 * HPKE (RFC 9180) by WebCrypto: base mode, one message per key pair, no additional data.
 *
 * The only suite is DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM.
 */

import { concatenate, fromAscii } from "../bytes.js";
import { requireValid } from "../errors.js";

/** @typedef {Uint8Array<ArrayBuffer>} Bytes */

const KEM_SUITE = fromAscii("KEM\0\x20");
const SUITE = fromAscii("HPKE\0\x20\0\x01\0\x01");
const NONE = new Uint8Array();

/** Return a new key pair for one message. */
export function makeKeyPair() {
  return /** @type {Promise<CryptoKeyPair>} */ (crypto.subtle.generateKey("X25519", false, ["deriveBits"]));
}

/**
 * Return the public key of a key pair, 32 bytes.
 *
 * @param {CryptoKeyPair} keyPair
 */
export async function exportPublicKey({ publicKey }) {
  return new Uint8Array(await crypto.subtle.exportKey("raw", publicKey));
}

/**
 * Return the public key of a new key pair, 32 bytes, and the encrypted text, 16 bytes longer than the text.
 *
 * Throws SurveyError if the recipient's public key has a low order.
 *
 * @param {Bytes} publicKey of the recipient, 32 bytes
 * @param {CryptoKeyPair} keyPair a new one for each message
 * @param {Bytes} info
 * @param {Bytes} plaintext
 */
export async function sealTo(publicKey, keyPair, info, plaintext) {
  const enc = await exportPublicKey(keyPair);
  const agreed = await extract(KEM_SUITE, NONE, "eae_prk", await agree(publicKey, keyPair.privateKey));
  const shared = await expand(KEM_SUITE, agreed, "shared_secret", concatenate(enc, publicKey), 32);
  const noPsk = await extract(SUITE, NONE, "psk_id_hash", NONE);
  const context = concatenate([0], noPsk, await extract(SUITE, NONE, "info_hash", info));
  const secret = await extract(SUITE, shared, "secret", NONE);
  const key = await expand(SUITE, secret, "key", context, 16);
  const iv = await expand(SUITE, secret, "base_nonce", context, 12);
  const imported = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt"]);
  const ciphertext = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, imported, plaintext);
  return concatenate(enc, new Uint8Array(ciphertext));
}

/**
 * Return the secret of two keys. A public key of low order would make it zero.
 *
 * @param {Bytes} publicKey
 * @param {CryptoKey} privateKey
 */
async function agree(publicKey, privateKey) {
  const imported = await crypto.subtle.importKey("raw", publicKey, "X25519", false, []);
  const bits = crypto.subtle.deriveBits({ name: "X25519", public: imported }, privateKey, 256);
  // for a low order, some engines throw and others return zeros
  const secret = new Uint8Array(await bits.catch(() => NONE));
  requireValid(secret.some(Boolean));
  return secret;
}

/**
 * LabeledExtract of RFC 9180, section 4.
 *
 * @param {Bytes} suite
 * @param {Bytes} salt
 * @param {string} label
 * @param {Bytes} material
 */
function extract(suite, salt, label, material) {
  // WebCrypto refuses an empty key; HMAC fills a key with zeros, so one zero is the same key
  return hmac(salt.length ? salt : Uint8Array.of(0), fromAscii("HPKE-v1"), suite, fromAscii(label), material);
}

/**
 * LabeledExpand of RFC 9180, section 4.
 *
 * @param {Bytes} suite
 * @param {Bytes} secret
 * @param {string} label
 * @param {Bytes} info
 * @param {number} length at most 32, so that one block of HKDF is enough
 */
async function expand(suite, secret, label, info, length) {
  const block = await hmac(secret, [0, length], fromAscii("HPKE-v1"), suite, fromAscii(label), info, [1]);
  return block.slice(0, length);
}

/**
 * @param {Bytes} key
 * @param {...Iterable<number>} parts of the message
 */
async function hmac(key, ...parts) {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, concatenate(...parts)));
}
