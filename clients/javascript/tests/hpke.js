/** Another implementation of HPKE, which uses WebCrypto's HKDF, and opens what the package seals. */

const { subtle } = crypto;

/** @param {string} digits */
export function fromHex(digits) {
  return new Uint8Array(Buffer.from(digits, "hex"));
}

/** @param {any[]} parts */
export function join(...parts) {
  return new Uint8Array(Buffer.concat(parts.map((part) => Buffer.from(part))));
}

/**
 * @param {Uint8Array} secret
 * @param {Uint8Array} publicKey
 */
export function importPrivate(secret, publicKey) {
  const [d, x] = [secret, publicKey].map((bytes) => Buffer.from(bytes).toString("base64url"));
  return subtle.importKey("jwk", { kty: "OKP", crv: "X25519", d, x }, "X25519", false, ["deriveBits"]);
}

/** @param {Uint8Array} bytes */
export function importPublic(bytes) {
  return subtle.importKey("raw", bytes, "X25519", true, []);
}

/**
 * Return a key as a plan has it.
 *
 * @param {number} id
 * @param {Uint8Array} publicKey
 */
export function asText(id, publicKey) {
  return Buffer.from(join([id, 0, 0x20], publicKey, [0, 1, 0, 1])).toString("base64");
}

/** @param {number} id */
export async function makeRecipient(id) {
  const { publicKey, privateKey } = /** @type {any} */ (await subtle.generateKey("X25519", true, ["deriveBits"]));
  const bytes = new Uint8Array(await subtle.exportKey("raw", publicKey));
  return { bytes, privateKey, text: asText(id, bytes) };
}

/**
 * Return the decrypted text; throws if the message was changed.
 *
 * @param {any} privateKey of the recipient
 * @param {Uint8Array} publicKey of the recipient
 * @param {Uint8Array} info
 * @param {Uint8Array} message
 */
export async function open(privateKey, publicKey, info, message, additionalData = new Uint8Array()) {
  const [enc, ciphertext] = [message.slice(0, 32), message.slice(32)];
  const kem = ["HPKE-v1KEM", [0, 32]];
  const suite = ["HPKE-v1HPKE", [0, 32, 0, 1, 0, 1]];
  const dh = await subtle.deriveBits({ name: "X25519", public: await importPublic(enc) }, privateKey, 256);
  const shared = await hkdf([], [...kem, "eae_prk", dh], [[0, 32], ...kem, "shared_secret", enc, publicKey], 32);
  const context = [[0], await hash(...suite, "psk_id_hash"), await hash(...suite, "info_hash", info)];
  const key = await hkdf(shared, [...suite, "secret"], [[0, 16], ...suite, "key", ...context], 16);
  const iv = await hkdf(shared, [...suite, "secret"], [[0, 12], ...suite, "base_nonce", ...context], 12);
  const aes = await subtle.importKey("raw", key, "AES-GCM", false, ["decrypt"]);
  return new Uint8Array(await subtle.decrypt({ name: "AES-GCM", iv, additionalData }, aes, ciphertext));
}

/**
 * @param {any} salt
 * @param {any[]} material
 * @param {any[]} info
 * @param {number} length
 */
async function hkdf(salt, material, info, length) {
  const key = await subtle.importKey("raw", join(...material), "HKDF", false, ["deriveBits"]);
  const algorithm = { name: "HKDF", hash: "SHA-256", salt: join(salt), info: join(...info) };
  return new Uint8Array(await subtle.deriveBits(algorithm, key, 8 * length));
}

/**
 * HKDF-Extract without a salt.
 *
 * @param {any[]} parts
 */
async function hash(...parts) {
  const key = await subtle.importKey("raw", new Uint8Array(32), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await subtle.sign("HMAC", key, join(...parts)));
}
