/** Sealed reports, opened by another implementation of HPKE, which uses WebCrypto's HKDF. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { SurveyError } from "../../src/core.js";
import { makeSealer } from "../../src/relay/hpke.js";
import { columnLengths, envelopeBytes, isSealingSupported, sealEnvelope } from "../../src/relay/sealing.js";
import { asText, fromHex, importPrivate, importPublic, join, makeRecipient, open } from "../hpke.js";

const { subtle } = crypto;
/** RFC 9180, appendix A.1.1, with its first encryption. */
const VECTOR = {
  info: fromHex("4f6465206f6e2061204772656369616e2055726e"),
  enc: fromHex("37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431"),
  skEm: fromHex("52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736"),
  pkRm: fromHex("3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d"),
  skRm: fromHex("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8"),
  key: fromHex("4531685d41d65f03dc48f6b8302c05b0"),
  baseNonce: fromHex("56d890e5accaaf011cff4b7d"),
  pt: fromHex("4265617574792069732074727574682c20747275746820626561757479"),
  aad: fromHex("436f756e742d30"),
  ct: fromHex("f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a"),
};
const DIGEST = new Uint8Array(32).map((_, index) => 7 * index);
const REPORT = Uint8Array.of(1, 2, 3, 0, 0);
/** Bytes of a report without its payload, for payloads and questions that need no longer lengths. */
const HEAD = 57;
const LONGEST = HEAD + 33;
/** The points of order 1, 2, 4 and 8 of the curve and its twist, some of them twice in other bytes. */
const LOW_ORDER = [
  "00".repeat(32),
  `01${"00".repeat(31)}`,
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  `ec${"ff".repeat(30)}7f`,
  `ed${"ff".repeat(30)}7f`,
  `ee${"ff".repeat(30)}7f`,
  `${"00".repeat(31)}80`,
];
const SYSTEM_CRYPTO = Object.getOwnPropertyDescriptor(globalThis, "crypto");

afterEach(() => Object.defineProperty(globalThis, "crypto", /** @type {any} */ (SYSTEM_CRYPTO)));

test("the first vector of RFC 9180 is opened here, and sealed with its keys, its key and its nonce", async () => {
  const { aad, baseNonce, ct, enc, info, key, pkRm, pt, skEm, skRm } = VECTOR;
  const recipient = await importPrivate(skRm, pkRm);
  assert.deepEqual(await open(recipient, pkRm, info, join(enc, ct), aad), pt);
  const keyPair = { privateKey: await importPrivate(skEm, enc), publicKey: await importPublic(enc) };
  const message = await (await makeSealer(pkRm, info))(pt, keyPair);
  // the published message has additional data, which changes only its last 16 bytes
  assert.deepEqual(message.subarray(0, -16), join(enc, ct).subarray(0, -16));
  const aes = await subtle.importKey("raw", key, "AES-GCM", false, ["encrypt"]);
  const expected = await subtle.encrypt({ name: "AES-GCM", iv: baseNonce }, aes, pt);
  assert.deepEqual(message, join(enc, new Uint8Array(expected)));
  assert.deepEqual(await open(recipient, pkRm, info, message), pt);
});

/**
 * Return as much of a plan as sealing reads, with questions whose payloads have these lengths.
 *
 * @param {string} collectorKey
 * @param {string} relayKey
 * @param {number[]} [payloads]
 * @param {"all"} [ask]
 */
function planOf(collectorKey, relayKey, payloads = [LONGEST - HEAD], ask = undefined) {
  const questions = payloads.map((payloadBytes) => ({ mechanism: { payloadBytes } }));
  return { digestBytes: DIGEST, questions, relay: { ask, collector_key: collectorKey, relay_key: relayKey } };
}

/** @param {string} name */
const infoOf = (name) => join(`ldp-bayes ${name}\0`, DIGEST);

test("the relay opens the outer seal, and the collector the inner one", async () => {
  const [collector, relay] = [await makeRecipient(3), await makeRecipient(250)];
  for (const length of [0, 1, LONGEST - 1, LONGEST, 300]) {
    const report = crypto.getRandomValues(new Uint8Array(length));
    const longest = Math.max(length, LONGEST);
    const message = await sealEnvelope(planOf(collector.text, relay.text, [0, longest - HEAD]), [report]);
    assert.equal(message.length, longest + 100);
    assert.equal(message[0], 250);
    const inner = await open(relay.privateKey, relay.bytes, infoOf("relay"), message.subarray(1));
    assert.equal(inner.length, longest + 51);
    assert.equal(inner[0], 3);
    const text = await open(collector.privateKey, collector.bytes, infoOf("report"), inner.subarray(1));
    assert.deepEqual(text, join([length >> 8, length & 255], report, new Uint8Array(longest - length)));
  }
});

test("an envelope has one message for each question, of exactly its length, in the order of the plan", async () => {
  const [collector, relay] = [await makeRecipient(3), await makeRecipient(4)];
  const payloads = [1, 300, 0, 2];
  const plan = planOf(collector.text, relay.text, payloads, "all");
  const columns = columnLengths(plan);
  assert.deepEqual(columns, [HEAD + 1, HEAD + 301, HEAD, HEAD + 2]);
  const reports = columns.map((length, index) => new Uint8Array(length).fill(index + 1));
  const code = crypto.getRandomValues(new Uint8Array(16));
  const message = await sealEnvelope(plan, reports, code);
  assert.equal(message.length, envelopeBytes(columns) + 16);
  const content = await open(relay.privateKey, relay.bytes, infoOf("relay"), message.subarray(1));
  assert.deepEqual(content.subarray(0, 16), code);
  const keys = new Set();
  let start = 16;
  for (const report of reports) {
    const inner = content.subarray(start, start += report.length + 51);
    assert.equal(inner[0], 3);
    keys.add(Buffer.from(inner.subarray(1, 33)).toString("hex"));
    const text = await open(collector.privateKey, collector.bytes, infoOf("report"), inner.subarray(1));
    assert.deepEqual(text, join([report.length >> 8, report.length & 255], report));
  }
  assert.equal(keys.size, payloads.length); // a key for several messages would show that one person sent them
  assert.equal(start, content.length);
});

test("a message opens for its plan alone, and only if it is intact", async () => {
  const [collector, relay] = [await makeRecipient(1), await makeRecipient(2)];
  const message = (await sealEnvelope(planOf(collector.text, relay.text), [REPORT])).subarray(1);
  const info = infoOf("relay");
  await open(relay.privateKey, relay.bytes, info, message);
  const otherInfo = infoOf("report");
  await assert.rejects(open(relay.privateKey, relay.bytes, otherInfo, message), { name: "OperationError" });
  await assert.rejects(open(relay.privateKey, relay.bytes, info.with(20, 1), message), { name: "OperationError" });
  await assert.rejects(open(relay.privateKey, relay.bytes, info, message.with(40, 1)), { name: "OperationError" });
  await assert.rejects(open(collector.privateKey, collector.bytes, info, message), { name: "OperationError" });
});

test("all messages of a survey have one length, and two of one report share no part", async () => {
  const [collector, relay] = [await makeRecipient(1), await makeRecipient(1)];
  const seen = new Set();
  for (let length = 0; length < 20; length++) {
    const message = await sealEnvelope(planOf(collector.text, relay.text, [0]), [new Uint8Array(length % 10)]);
    assert.equal(message.length, HEAD + 100);
    const inner = await open(relay.privateKey, relay.bytes, infoOf("relay"), message.subarray(1));
    for (const part of [message.subarray(1, 33), message.subarray(33), inner.subarray(1, 33), inner.subarray(33)]) {
      seen.add(Buffer.from(part).toString("hex"));
    }
  }
  assert.equal(seen.size, 80);
});

for (const digits of LOW_ORDER) {
  test(`a public key of low order is refused: ${digits}`, async () => {
    const good = (await makeRecipient(1)).text;
    const low = asText(1, fromHex(digits));
    await assert.rejects(sealEnvelope(planOf(low, good), [REPORT]), SurveyError);
    await assert.rejects(sealEnvelope(planOf(good, low), [REPORT]), SurveyError);
  });
}

test("an engine that derives zeros from a public key of low order gives no message either", async () => {
  const good = (await makeRecipient(1)).text;
  replaceSubtle({ deriveBits: async () => new ArrayBuffer(32) });
  await assert.rejects(sealEnvelope(planOf(good, good), [REPORT]), SurveyError);
});

test("a key of another form or suite is refused", async () => {
  const { bytes, text } = await makeRecipient(1);
  const suites = [[0, 0x10, 0, 1, 0, 1], [1, 0x20, 0, 1, 0, 1], [0, 0x20, 0, 2, 0, 1], [0, 0x20, 0, 1, 0, 2]];
  const others = suites.map((suite) => join([1], suite.slice(0, 2), bytes, suite.slice(2)));
  const wrong = [...others, bytes].map((each) => Buffer.from(each).toString("base64"));
  for (const each of ["", ` ${text}`, `${text}\n`, text.slice(4), `${text}AAAA`, text.replace(/./, "-"), ...wrong]) {
    await assert.rejects(sealEnvelope(planOf(each, text), [REPORT]), SurveyError);
    await assert.rejects(sealEnvelope(planOf(text, each), [REPORT]), SurveyError);
  }
  await assert.rejects(sealEnvelope(planOf(/** @type {any} */ (undefined), text), [REPORT]), SurveyError);
});

test("a report that is too long, or another number of reports, is the caller's mistake", async () => {
  const { text } = await makeRecipient(1);
  const [one, all] = [planOf(text, text, [0, 1]), planOf(text, text, [0, 1], "all")];
  const [short, long] = [new Uint8Array(HEAD), new Uint8Array(HEAD + 1)];
  await sealEnvelope(one, [long]);
  await sealEnvelope(all, [short, long]);
  const tooLong = new Uint8Array(HEAD + 2);
  const wrong = [[one, [tooLong]], [one, []], [one, [short, long]], [all, [long, short]], [all, [short]]];
  for (const [plan, reports] of /** @type {any[]} */ (wrong)) {
    await assert.rejects(sealEnvelope(plan, reports), RangeError);
  }
});

test("sealing is supported here, but not in an insecure context or without X25519", async () => {
  assert.equal(await isSealingSupported(), true);
  const refuse = () => Promise.reject(new DOMException("unknown algorithm", "NotSupportedError"));
  for (const name of ["generateKey", "deriveBits"]) {
    replaceSubtle({ [name]: refuse });
    assert.equal(await isSealingSupported(), false);
  }
  for (const value of [{ getRandomValues() {} }, undefined]) {
    Object.defineProperty(globalThis, "crypto", { configurable: true, value });
    assert.equal(await isSealingSupported(), false);
  }
});

/**
 * Replace methods of crypto.subtle until the end of the test.
 *
 * @param {Record<string, any>} methods
 */
function replaceSubtle(methods) {
  const replaced = new Proxy(subtle, {
    get: (target, name) => methods[String(name)] ?? Reflect.get(target, name).bind(target),
  });
  Object.defineProperty(globalThis, "crypto", { configurable: true, value: { subtle: replaced } });
}
