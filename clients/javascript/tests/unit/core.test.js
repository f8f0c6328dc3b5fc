/** The core refuses what must not become a report, and never repeats a value of a row. */

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { afterEach, test } from "node:test";
import { Worker } from "node:worker_threads";

import { makeReport, LdpError, readPlan, RowError, sha256 } from "../../src/core.js";
import { SurveyError, systemRandom, TokenError } from "../../src/core.js";
import { dumpCanonicalJson } from "../../src/survey/canonical.js";
import { answer } from "../answer.js";
import { readVectors, toBytes } from "../surveys.js";

const VALUES = readVectors("good-values");
const PLAN = readPlan(toBytes(VALUES.plan));
const { row: ROW, label: LABEL } = VALUES.cases[0];
const INVITED = readVectors("tokens");
/** Entries without which a plan may be another valid plan. */
const OPTIONAL = ["enrolment", "family", "projection", "texts", "validation"];
const SYSTEM_CRYPTO = Object.getOwnPropertyDescriptor(globalThis, "crypto");

afterEach(() => Object.defineProperty(globalThis, "crypto", /** @type {any} */ (SYSTEM_CRYPTO)));

/** A source that must not be used. */
function noRandom() {
  assert.fail("random bytes were drawn");
}

/** @param {any} value */
function replaceCrypto(value) {
  Object.defineProperty(globalThis, "crypto", { configurable: true, value });
}

test("the digest is the SHA-256 of Node for every length of padding", () => {
  for (let length = 0; length < 200; length++) {
    const bytes = new Uint8Array(randomBytes(length));
    assert.deepEqual(Buffer.from(sha256(bytes)), createHash("sha256").update(bytes).digest());
  }
  const long = new Uint8Array(randomBytes(1 << 20));
  assert.deepEqual(Buffer.from(sha256(long)), createHash("sha256").update(long).digest());
});

test("an injected SHA-256 computes all digests of a plan and its tokens", () => {
  let calls = 0;
  const counted = (/** @type {Uint8Array} */ bytes) => {
    calls++;
    return new Uint8Array(createHash("sha256").update(bytes).digest());
  };
  const plan = readPlan(toBytes(INVITED.plan), { sha256: counted });
  const tables = Object.keys(JSON.parse(INVITED.plan).tables).length;
  assert.equal(calls, tables + 1);
  assert.equal(plan.digest, readPlan(toBytes(INVITED.plan)).digest);
  const { row, label, token } = INVITED.cases.find((/** @type {any} */ each) => each.report);
  makeReport(plan, row, label, { token });
  assert.equal(calls, tables + 2);
});

test("a table of noise is read once, whatever the number of its questions", (context) => {
  for (const name of ["good-she", "good-numeric-sampled-laplace"]) {
    const { plan: text } = readVectors(name);
    const { questions, tables } = JSON.parse(text);
    // a square has another ratio than its number, and so other noise
    const used = new Set(questions.map((/** @type {any} */ each) => `${each.tables} ${each.moment ?? 0}`));
    const weights = Object.values(tables).flatMap((table) => table.weights ?? []);
    const read = context.mock.method(globalThis, "BigInt");
    readPlan(toBytes(text));
    const calls = read.mock.calls.filter(({ arguments: [value] }) => weights[0] === value);
    read.mock.restore();
    const noises = [...used].filter((each) => tables[each.split(" ")[0]].weights?.includes(weights[0]));
    assert.equal(calls.length, noises.length);
    assert.ok(noises.length < questions.length);
  }
});

test("two reports of one row differ in their ids and have equal lengths for a question", () => {
  const reports = Array.from({ length: 200 }, () => makeReport(PLAN, ROW, LABEL));
  const ids = reports.map((report) => Buffer.from(report.subarray(39, 55)).toString("hex"));
  assert.equal(new Set(ids).size, 200);
  const lengths = new Map(reports.map((report) => [report[36], report.length]));
  assert.ok(reports.every((report) => report.length === lengths.get(report[36])));
});

test("without crypto.getRandomValues no report is made", () => {
  for (const missing of [undefined, {}, null]) {
    replaceCrypto(missing);
    assert.throws(() => makeReport(PLAN, ROW, LABEL), { reason: "no-randomness" });
  }
});

test("random bytes beyond 65536 are requested in parts", () => {
  /** @type {number[]} */
  const requested = [];
  replaceCrypto({
    getRandomValues(/** @type {Uint8Array} */ bytes) {
      requested.push(bytes.length);
      return bytes.fill(7);
    },
  });
  assert.deepEqual(systemRandom(150_000), new Uint8Array(150_000).fill(7));
  assert.deepEqual(requested, [65536, 65536, 18928]);
});

test("a source of randomness that returns too few bytes is refused", () => {
  /** @type {any[]} */
  const sources = [() => new Uint8Array(3), () => undefined, () => "12345678", () => Array(8)];
  for (const random of sources) {
    assert.throws(() => makeReport(PLAN, ROW, LABEL, { random }), { reason: "no-randomness" });
  }
});

test("a source of randomness may fill the same array each time", () => {
  const all = new Uint8Array(1 << 16);
  let filled = 0;
  const taken = (/** @type {number} */ count) => all.subarray(0, count).fill(++filled);
  const fresh = (/** @type {number} */ count) => new Uint8Array(taken(count));
  const expected = makeReport(PLAN, ROW, LABEL, { random: fresh });
  filled = 0;
  assert.deepEqual(makeReport(PLAN, ROW, LABEL, { random: taken }), expected);
});

test("a row with several mistakes is refused with a problem for each, before anything is drawn", () => {
  const { bin, kind, ...row } = ROW;
  const wrong = { ...row, text: "secret answer", bin: "12 secret" };
  assert.throws(
    () => makeReport(PLAN, wrong, "secret label", { random: noRandom }),
    (error) => {
      assert.ok(error instanceof RowError);
      assert.equal(error.reason, "invalid-row");
      const fields = error.problems.map(({ field }) => field);
      assert.deepEqual(fields.sort(), ["bin", "kind", PLAN.rowSchema.label.name, "text"].sort());
      const written = `${error} ${error.stack} ${JSON.stringify(error)}`;
      assert.ok(!written.includes("secret"));
      return true;
    },
  );
});

test("an inherited property is no entry of a row", () => {
  const { text, ...rest } = ROW;
  const inherited = Object.assign(Object.create({ text }), rest);
  const expected = { field: "text", reason: "invalid-row" };
  assert.throws(() => makeReport(PLAN, inherited, LABEL, { random: noRandom }), expected);
  assert.throws(() => makeReport(PLAN, Object.create(ROW), LABEL, { random: noRandom }), RowError);
});

test("an entry of a row is read once, so that a getter cannot change it", () => {
  let reads = 0;
  const row = { ...ROW };
  Object.defineProperty(row, "text", { enumerable: true, get: () => (reads++, ROW.text) });
  makeReport(PLAN, row, LABEL);
  assert.equal(reads, 1);
});

test("a row or value of another type is refused", () => {
  for (const row of [null, undefined, "text", 7, true]) {
    assert.throws(() => makeReport(PLAN, /** @type {any} */ (row), LABEL, { random: noRandom }), { field: "row" });
  }
  const objects = [{}, [], new Date(), Symbol("secret"), () => 1, Object("A")];
  for (const value of [...objects, Infinity, -Infinity, 0.5, 10n ** 100n]) {
    assert.throws(() => makeReport(PLAN, { ...ROW, text: value }, LABEL, { random: noRandom }), { field: "text" });
  }
  for (const value of [{}, [], "1", " ", true, new Date(), Symbol("secret"), Object(1), Infinity, -Infinity]) {
    assert.throws(() => makeReport(PLAN, { ...ROW, bin: value }, LABEL, { random: noRandom }), { field: "bin" });
  }
});

test("null, undefined, NaN and an empty text are the same missing value", () => {
  const codes = [null, undefined, NaN, ""].map((value) => PLAN.encode({ ...ROW, text: value }, LABEL).codes[0]);
  assert.deepEqual(new Set(codes), new Set([PLAN.rowSchema.features[0].size - 1]));
});

test("a list of ticked choices is read once, and holes, objects and other lists are refused", () => {
  const { cases, plan: text } = readVectors("good-choices");
  const plan = readPlan(toBytes(text));
  const [{ row, label }] = cases;
  let reads = 0;
  const ticked = new Proxy(["small", "3"], {
    get: (list, name) => (name === "1" && reads++, Reflect.get(list, name)),
  });
  assert.deepEqual(plan.encode({ ...row, cups: ticked }, label).codes.slice(4, 8), [1, 1, 0, 0]);
  assert.equal(reads, 1);
  const holed = Array(2).fill("small", 1);
  const others = [new Set(["small"]), { small: true }, "small", Object("small")];
  const wrong = [holed, ["secret"], [Symbol("secret")], ...others];
  for (const cups of wrong) {
    assert.throws(() => makeReport(plan, { ...row, cups }, label, { random: noRandom }), (error) => {
      assert.ok(error instanceof RowError && error.field === "cups" && !String(error.stack).includes("secret"));
      return true;
    });
  }
});

test("a survey without a label takes the row alone, and refuses a label", () => {
  const { cases, plan: text } = readVectors("good-unlabelled");
  const plan = readPlan(toBytes(text));
  const [{ row }] = cases;
  assert.ok(makeReport(plan, row).length > 50);
  const message = "label: the survey has no label";
  assert.throws(() => makeReport(plan, row, "yes", { random: noRandom }), { field: "label", message });
  assert.throws(() => makeReport(PLAN, ROW, undefined, { random: noRandom }), { field: PLAN.rowSchema.label.name });
  assert.deepEqual([plan.rowSchema.label.name, plan.rowSchema.label.values], ["", []]);
  assert.deepEqual(plan.entries.filter(({ kind }) => kind === "choices").map(({ name }) => name), ["cups", "snacks"]);
});

test("only a plan that readPlan checked makes a report", () => {
  const copy = { ...PLAN, encode: PLAN.encode };
  assert.throws(() => makeReport(/** @type {any} */ (copy), ROW, LABEL, { random: noRandom }), LdpError);
  assert.throws(() => /** @type {any} */ (PLAN).epsilon = "32", TypeError);
});

test("a token is refused before anything is drawn, without repeating it", () => {
  const plan = readPlan(toBytes(INVITED.plan));
  const { row, label, token } = INVITED.cases.find((/** @type {any} */ each) => each.report);
  const misspelt = [`${token}a`, token.slice(1), token.replace(/./, "1"), token.replace(/s/, "\u017f")];
  const wrong = [undefined, null, "", 7, {}, ...misspelt];
  for (const each of wrong) {
    assert.throws(
      () => makeReport(plan, row, label, { random: noRandom, token: /** @type {any} */ (each) }),
      (error) => error instanceof TokenError && !error.message.includes(token.slice(1)),
    );
  }
  assert.throws(() => makeReport(PLAN, ROW, LABEL, { random: noRandom, token }), TokenError);
});

test("bytes that are not a plan are refused", () => {
  const plan = Buffer.from(VALUES.plan);
  const wrong = [
    new Uint8Array(),
    Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), plan]),
    Buffer.concat([plan, Buffer.from("\n")]),
    plan.subarray(0, -1),
    Buffer.concat([Buffer.from([0xff]), plan]),
    Buffer.from(VALUES.plan.replace("caf", "\\ud800")),
    Buffer.from(VALUES.plan, "latin1"),
    Buffer.from(`${"[".repeat(500_000)}${"]".repeat(500_000)}`),
    Buffer.alloc((1 << 20) + 1, 0x20),
    ...["null", "[]", "{}", '""', "1", '{"format":1}'].map((text) => Buffer.from(text)),
  ];
  for (const bytes of wrong) assert.throws(() => readPlan(new Uint8Array(bytes)), SurveyError);
  assert.equal(readPlan(Uint8Array.from(plan).buffer).digest, PLAN.digest);
  for (const other of [VALUES.plan, null, undefined, 7, -1, Symbol("plan"), JSON.parse(VALUES.plan)]) {
    assert.throws(() => readPlan(/** @type {any} */ (other)), SurveyError);
  }
});

test("texts of a row are compared in Unicode's normal form C, and a plan with another text is refused", () => {
  const { cases, plan } = readVectors("normal-forms");
  for (const { error, name, report, ...asked } of cases) {
    assert.deepEqual(answer({ plan, ...asked }), error ? { error } : { report }, name);
  }
});

test("an object with a length in place of a list is refused everywhere in a plan", () => {
  const names = ["good-values", "good-numeric-laplace", "good-numeric-projection", "good-validation", "good-choices"];
  for (const name of names) {
    const { plan } = readVectors(name);
    let lists = 0;
    for (const path of pathsOfLists(JSON.parse(plan))) {
      const changed = JSON.parse(plan);
      const parent = path.slice(0, -1).reduce((each, key) => each[key], changed);
      const list = parent[path[path.length - 1]];
      parent[path[path.length - 1]] = { ...list, length: list.length };
      assert.throws(() => readPlan(toBytes(canonical(changed))), SurveyError, path.join("."));
      lists++;
    }
    assert.ok(lists > 5);
  }
});

test("an entry more or less is refused everywhere in a plan", () => {
  const numeric = ["good-numeric-laplace", "good-numeric-sign", "good-numeric-projection"];
  const several = ["good-choices", "good-choices-validation", "good-unlabelled"];
  for (const name of ["good-values", "good-validation", "good-the", ...numeric, ...several]) {
    const { plan } = readVectors(name);
    assert.equal(canonical(JSON.parse(plan)), plan);
    for (const path of pathsOfObjects(JSON.parse(plan))) {
      const original = path.reduce((each, key) => each[key], JSON.parse(plan));
      const changes = [
        (/** @type {any} */ object) => (object.zebra = 1),
        ...Object.keys(original).flatMap((key) => [
          ...(OPTIONAL.includes(key) ? [] : [(/** @type {any} */ object) => delete object[key]]),
          (/** @type {any} */ object) => (object[key] = null),
          (/** @type {any} */ object) => {
            object.zebra = object[key];
            delete object[key];
          },
        ]),
      ];
      for (const change of changes) {
        const changed = JSON.parse(plan);
        change(path.reduce((each, key) => each[key], changed));
        if (canonical(changed) === plan) continue; // the label question's feature is null already
        assert.throws(() => readPlan(toBytes(canonical(changed))), SurveyError, `${name} ${path.join(".")} ${change}`);
      }
    }
  }
});

/**
 * @param {any} document
 * @returns {string}
 */
function canonical(document) {
  return JSON.stringify(document, (_, value) =>
    value && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value,
  );
}

/**
 * @param {any} document
 * @returns {string[][]}
 */
function pathsOfLists(document) {
  return pathsTo(document, Array.isArray).filter((path) => path.length);
}

/**
 * @param {any} document
 * @returns {string[][]}
 */
function pathsOfObjects(document) {
  return pathsTo(document, (each) => !Array.isArray(each));
}

/**
 * Return the paths to all lists or objects that are wanted, without the many rows of scores but the first.
 *
 * @param {any} document
 * @param {(each: any) => boolean} isWanted
 * @returns {string[][]}
 */
function pathsTo(document, isWanted) {
  if (!document || typeof document !== "object") return [];
  const below = Object.entries(document).slice(0, 12);
  const found = below.flatMap(([key, each]) => pathsTo(each, isWanted).map((path) => [key, ...path]));
  return isWanted(document) ? [[], ...found] : found;
}

test("a plan with a relay is refused, so that no report is sent directly", () => {
  const document = JSON.parse(VALUES.plan);
  assert.ok(readPlan(toBytes(dumpCanonicalJson(document))));
  document.relay = { url: "https://relay.example/values", batch: 600, honest: "0.73", epsilon: "1", delta: "0.000001" };
  assert.throws(() => readPlan(toBytes(dumpCanonicalJson(document))), SurveyError);
});

test("a long name is refused before each choice repeats it", async () => {
  const document = JSON.parse(readVectors("good-numeric-projection").plan);
  const values = Array.from({ length: 20_000 }, (_, index) => String(10_000 + index));
  const name = "x".repeat(500_000);
  document.features.unshift({ kind: "choices", missing: "error", name, values });
  document.projection.components[0].name = `${name}: 1234x`;
  const code = `import { readPlan } from ${JSON.stringify(new URL("../../src/core.js", import.meta.url))};
    import { parentPort, workerData } from "node:worker_threads";
    try { readPlan(workerData); } catch (error) { parentPort.postMessage(error.constructor.name); }`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), {
    workerData: toBytes(dumpCanonicalJson(document)), resourceLimits: { maxOldGenerationSizeMb: 100 },
  });
  const [answer] = await once(worker, "message");
  assert.equal(answer, "SurveyError");
});

test("hostile texts of combining marks are refused at once", () => {
  const marks = "\u0301".repeat(100_000) + "\u0316".repeat(100_000); // computing their normal form takes a minute
  const start = process.cpuUsage();
  const [name] = Object.keys(ROW);
  assert.throws(() => makeReport(PLAN, { ...ROW, [name]: marks }, LABEL), RowError);
  const document = { ...JSON.parse(VALUES.plan), id: marks };
  assert.throws(() => readPlan(toBytes(dumpCanonicalJson(document))), SurveyError);
  assert.ok(process.cpuUsage(start).user < 10e6);
});
