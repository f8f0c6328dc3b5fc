/**
 * HPKE (RFC 9180) by WebCrypto: base mode, one message per key pair, no additional data.
 *
 * The only suite is DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM.
 */

import { concatenate, fromAscii } from "../bytes.js";
import { requireValid } from "../errors.js";

/** @typedef {Uint8Array<ArrayBuffer>} Bytes */

const VERSION = fromAscii("HPKE-v1");
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
 * Return a function that seals a text: it returns the public key of a new key pair, 32 bytes, and the encrypted text,
 * 16 bytes longer than the text. It throws SurveyError if the recipient's public key has a low order.
 *
 * What depends on recipient and info alone is computed once.
 *
 * @param {Bytes} publicKey of the recipient, 32 bytes
 * @param {Bytes} info
 */
export async function makeSealer(publicKey, info) {
  const recipient = await crypto.subtle.importKey("raw", publicKey, "X25519", false, []);
  // WebCrypto refuses an empty key; HMAC fills a key with zeros, so one zero is the same key
  const noSalt = await importHmac(Uint8Array.of(0));
  const noPsk = await extract(SUITE, noSalt, "psk_id_hash", NONE);
  const context = concatenate([0], noPsk, await extract(SUITE, noSalt, "info_hash", info));

  /**
   * @param {Bytes} plaintext
   * @param {CryptoKeyPair} [keyPair] a new one for each message
   */
  return async (plaintext, keyPair) => {
    const own = keyPair ?? await makeKeyPair();
    const enc = await exportPublicKey(own);
    const agreement = await agree(recipient, own.privateKey);
    const agreed = await importHmac(await extract(KEM_SUITE, noSalt, "eae_prk", agreement));
    const shared = await expand(KEM_SUITE, agreed, "shared_secret", concatenate(enc, publicKey), 32);
    const secret = await importHmac(await extract(SUITE, await importHmac(shared), "secret", NONE));
    const key = await expand(SUITE, secret, "key", context, 16);
    const iv = await expand(SUITE, secret, "base_nonce", context, 12);
    const imported = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt"]);
    const ciphertext = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, imported, plaintext);
    return concatenate(enc, new Uint8Array(ciphertext));
  };
}

/**
 * Return the secret of two keys. A public key of low order would make it zero.
 *
 * @param {CryptoKey} publicKey
 * @param {CryptoKey} privateKey
 */
async function agree(publicKey, privateKey) {
  const bits = crypto.subtle.deriveBits({ name: "X25519", public: publicKey }, privateKey, 256);
  // for a low order, some engines throw and others return zeros
  const secret = new Uint8Array(await bits.catch(() => NONE));
  requireValid(secret.some(Boolean));
  return secret;
}

/**
 * LabeledExtract of RFC 9180, section 4.
 *
 * @param {Bytes} suite
 * @param {CryptoKey} salt
 * @param {string} label
 * @param {Bytes} material
 */
function extract(suite, salt, label, material) {
  return sign(salt, VERSION, suite, fromAscii(label), material);
}

/**
 * LabeledExpand of RFC 9180, section 4.
 *
 * @param {Bytes} suite
 * @param {CryptoKey} secret
 * @param {string} label
 * @param {Bytes} info
 * @param {number} length at most 32, so that one block of HKDF is enough
 */
async function expand(suite, secret, label, info, length) {
  return (await sign(secret, [0, length], VERSION, suite, fromAscii(label), info, [1])).slice(0, length);
}

/** @param {Bytes} bytes */
function importHmac(bytes) {
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

/**
 * @param {CryptoKey} key
 * @param {...Iterable<number>} parts of the message
 */
async function sign(key, ...parts) {
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, concatenate(...parts)));
}
