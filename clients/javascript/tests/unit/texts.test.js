/** The texts that people read: those of the plan and no others, in the language that fits best. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { Client, PlanError } from "../../src/index.js";
import { readPlan, SurveyError } from "../../src/core.js";
import { preview } from "../../src/preview.js";
import { MemoryStore } from "../../src/testing.js";
import { displayTexts, readTexts } from "../../src/texts.js";
import { optedOut } from "../clients.js";
import { readVectors, toBytes } from "../surveys.js";

const VECTORS = readVectors("good-texts");
const PLAN = readPlan(toBytes(VECTORS.plan));
const TEXTS = readTexts(PLAN, toBytes(VECTORS.texts));
const URL = `https://collector.example/v1/surveys/${PLAN.id}`;

const BASE = { about: {}, format: 1, languages: ["en"], texts: { en: {} } };

/** Return an entry of the vectors for one of displayed texts. @param {any} entry */
function plain({ help, title, values }) {
  return { help, title, values: Object.fromEntries(values) };
}

/** Return a plan whose texts are these. @param {any} texts @param {string} [name] of the vectors */
function planWith(texts, name = "good-texts") {
  const bytes = toBytes(typeof texts === "string" ? texts : JSON.stringify(texts));
  const document = JSON.parse(readVectors(name).plan);
  document.texts = createHash("sha256").update(bytes).digest("hex");
  return { plan: readPlan(toBytes(canonical(document))), bytes };
}

/** @param {any} value @returns {string} */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (!value || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)}}`;
}

test("every language of the vectors is displayed as by Python", () => {
  assert.ok(VECTORS.displayed.length > 5);
  for (const { features, label, language, requested, title } of VECTORS.displayed) {
    const shown = displayTexts(PLAN, TEXTS, requested);
    assert.deepEqual([shown.language, shown.title], [language, title]);
    assert.deepEqual(shown.label && plain(shown.label), label);
    assert.deepEqual(Object.fromEntries([...shown.features].map(([name, entry]) => [name, plain(entry)])), features);
  }
});

test("what the author wrote about the survey is shown in the person's language", () => {
  const texts = { en: {}, de: { about: { purpose: "Zweck" } } };
  const about = { contact: "A. Researcher", purpose: "Purpose" };
  const { plan, bytes } = planWith(canonical({ ...BASE, about, languages: ["en", "de"], texts }));
  const read = readTexts(plan, bytes);
  const shown = displayTexts(plan, read, "de-AT");
  assert.deepEqual(shown.about, { contact: "A. Researcher", purpose: "Zweck" });
  assert.equal(shown.textLanguages.get("about.purpose"), "de");
  assert.equal(shown.textLanguages.get("about.contact"), undefined);
  assert.deepEqual(displayTexts(plan, read).about, about);
});

test("each text knows its language, and a name has none", () => {
  const { features, label } = displayTexts(PLAN, TEXTS, "pt-BR");
  assert.equal(features.get("age")?.textLanguages.get("title"), "pt-BR");
  assert.equal(features.get("age")?.textLanguages.get("values.young"), "en");
  assert.equal(label?.textLanguages.get("title"), "pt");
  assert.equal(features.get("hours")?.textLanguages.get("title"), undefined);
});

test("in a validation round, the preview uses the label's texts for the row's label alone", () => {
  const label = { title: "How is your mood?", values: { good: "Good" } };
  const { plan, bytes } = planWith({ ...BASE, texts: { en: { label } } }, "good-validation");
  const { row, label: answer } = readVectors("good-validation").cases.find((/** @type {any} */ each) => each.report);
  for (let each = 0; each < 20; each++) {
    const { truth } = preview(plan, row, answer, { texts: displayTexts(plan, readTexts(plan, bytes)) });
    assert.ok(truth.every(([name]) => name !== label.title), String(truth));
  }
});

test("values that look like numbers stay in the survey's order", () => {
  const plan = readPlan(toBytes(readVectors("good-values").plan));
  const { label } = displayTexts(plan);
  assert.deepEqual([...(label?.values.keys() ?? [])], plan.schema.label.values);
});

test("texts of another plan are refused", () => {
  const other = VECTORS.texts.replace("In years.", "In months.");
  for (const text of [other, VECTORS.texts.slice(1), "", "{}"]) {
    assert.throws(() => readTexts(PLAN, toBytes(text)), SurveyError);
  }
});

/** @type {[string, any][]} */
const WRONG = [
  ["another format", { ...BASE, format: 2 }],
  ["an unknown entry", { ...BASE, more: 1 }],
  ["a language without a table", { ...BASE, languages: ["en", "de"] }],
  ["a language twice", { ...BASE, languages: ["en", "en"] }],
  ["no language tag", { ...BASE, languages: ["English"], texts: { English: {} } }],
  ["an unknown key", { ...BASE, texts: { en: { subtitle: "x" } } }],
  ["an unknown entry about the survey", { ...BASE, texts: { en: { about: { title: "x" } } } }],
  ["a number about the survey", { ...BASE, texts: { en: { about: { purpose: 1 } } } }],
  ["a text about the survey", { ...BASE, texts: { en: { about: "x" } } }],
  ["a number for a text", { ...BASE, texts: { en: { title: 1 } } }],
  ["an empty text", { ...BASE, texts: { en: { title: " " } } }],
  ["a title with a line break", { ...BASE, texts: { en: { title: "a\nb" } } }],
  ["a text that overrides the direction", { ...BASE, texts: { en: { title: "a\u202eb" } } }],
  ["a title that is too long", { ...BASE, texts: { en: { title: "a".repeat(301) } } }],
  ["an unknown feature", { ...BASE, texts: { en: { features: { weight: {} } } } }],
  ["an unknown value", { ...BASE, texts: { en: { features: { age: { values: { ancient: "x" } } } } } }],
  ["two values with one text", { ...BASE, texts: { en: { features: { age: { values: { young: "x", old: "x" } } } } } }],
  ...["x\u3164", "x\u200d", "\u200fx", "x\ufe0f", "x\u2800"].map((text) => /** @type {[string, any]} */ ([
    `two values whose texts look alike, ${escape(text)}`,
    { ...BASE, texts: { en: { features: { age: { values: { young: "x", old: text } } } } } },
  ])),
  ["two texts with spaces that look alike",
    { ...BASE, texts: { en: { features: { age: { values: { young: "a b", old: "a\u00a0b" } } } } } }],
  ["a text that shows nothing", { ...BASE, texts: { en: { title: "\u3164\ufe0f \u200d" } } }],
  ["a condition on no question", { ...BASE, ask_if: { hours: { feature: "weight", value: "x" } } }],
  ["a condition on no answer", { ...BASE, ask_if: { hours: { feature: "age", value: "ancient" } } }],
  ["a condition on itself", { ...BASE, ask_if: { age: { feature: "age", value: "young" } } }],
  ["a condition of no question", { ...BASE, ask_if: { weight: { feature: "age", value: "young" } } }],
  ["a condition with more", { ...BASE, ask_if: { hours: { feature: "age", value: "young", not: true } } }],
  ["a condition that is not there", { ...BASE, ask_if: {} }],
  .../** @type {[string, any][]} */ ([[], 3, null, "", "x", false].flatMap((wrong) => Object.entries({
    "a language": { ...BASE, texts: { en: wrong } },
    features: { ...BASE, texts: { en: { features: wrong } } },
    "a feature": { ...BASE, texts: { en: { features: { age: wrong } } } },
    values: { ...BASE, texts: { en: { features: { age: { values: wrong } } } } },
    "the label": { ...BASE, texts: { en: { label: wrong } } },
    conditions: { ...BASE, ask_if: wrong },
    "all languages": { ...BASE, languages: [], texts: wrong },
  }).map(([name, document]) => [`${JSON.stringify(wrong)} for the table of ${name}`, document]))),
  ["spaces", JSON.stringify(BASE, null, 1)],
  ["a repeated key", canonical(BASE).replace("{", '{"about":{},')],
  ["an escape", canonical({ ...BASE, texts: { en: { title: "x" } } }).replace('"x"', '"\\u0078"')],
  ["too many languages", { ...BASE, languages: Array.from({ length: 101 }, (_, index) => `en-${index}`) }],
];
for (const [name, document] of WRONG) {
  test(`texts are refused with ${name}`, () => {
    const { bytes, plan } = planWith(document);
    assert.throws(() => readTexts(plan, bytes), SurveyError);
  });
}

const CONDITIONS = readVectors("conditions");

test("the same questions are hidden as by Python", () => {
  const plan = readPlan(toBytes(CONDITIONS.plan));
  const shown = displayTexts(plan, readTexts(plan, toBytes(CONDITIONS.texts)));
  for (const { answers, hidden } of CONDITIONS.hidden) {
    assert.deepEqual([...shown.hidden(answers)].sort(), hidden, JSON.stringify(answers));
  }
});

for (const { case: name, texts } of CONDITIONS.refused) {
  test(`texts are refused with a condition with ${name}`, () => {
    const { bytes, plan } = planWith(texts, "conditions");
    assert.throws(() => readTexts(plan, bytes), SurveyError);
  });
}

test("a question decides whether others are asked if a condition names it", () => {
  const plan = readPlan(toBytes(CONDITIONS.plan));
  const { deciding } = displayTexts(plan, readTexts(plan, toBytes(CONDITIONS.texts)));
  assert.deepEqual([...deciding].sort(), ["a-several", "kinds", "not-often", "often", "smokes"]);
});

test("a long chain of conditions is read, and a long cycle is refused, in linear time", () => {
  const table = Object.fromEntries(Array.from({ length: 6000 }, (_, index) => (
    [`q${index}`, { feature: `q${index + 1}`, value: "a" }])));
  const values = ["a"];
  const feature = (/** @type {number} */ index) => (
    { kind: "categorical", missing: "category", name: `q${index}`, values });
  const document = JSON.parse(CONDITIONS.plan);
  document.features = [...document.features, ...Array.from({ length: 6001 }, (_, index) => feature(index))];
  const read = (/** @type {any} */ askIf) => {
    const bytes = toBytes(canonical({ ...BASE, ask_if: askIf }));
    document.texts = createHash("sha256").update(bytes).digest("hex");
    return readTexts(readPlan(toBytes(canonical(document))), bytes);
  };
  const started = process.cpuUsage();
  assert.equal([...read(table).conditions.keys()][0], "q5999");
  assert.throws(() => read({ ...table, q6000: { not: { feature: "q0", value: "a" } } }), SurveyError);
  assert.ok(process.cpuUsage(started).user < 3e6);
});

test("emoji, joiners and blank letters inside texts are displayed", () => {
  const texts = { title: "\u2639\ufe0f \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u2800", features: { age: {
    values: { young: "\u{1f468}\u200d\u{1f469}", old: "\u{1f468} \u{1f469}" },
  } } };
  const { bytes, plan } = planWith({ ...BASE, texts: { en: texts } });
  assert.equal(displayTexts(plan, readTexts(plan, bytes)).title, texts.title);
});

test("texts that only just fit are read", () => {
  const { bytes, plan } = planWith({ ...BASE, texts: { en: { title: "a".repeat(300), help: "a\n\u200fb" } } });
  assert.equal(displayTexts(plan, readTexts(plan, bytes)).help, "a\n\u200fb");
});

/** @param {(path: string) => any} respond */
function makeClient(respond) {
  /** @type {string[]} */
  const paths = [];
  const send = async (/** @type {any} */ { url }) => {
    paths.push(url.slice(URL.length));
    return respond(paths[paths.length - 1]);
  };
  return { client: new Client(URL, { person: null, store: new MemoryStore(), send }), paths };
}

const serve = (/** @type {string} */ path) => ({ status: 200, body: toBytes(path ? VECTORS.texts : VECTORS.plan) });

test("a client fetches all languages at once, and only once", async () => {
  const { client, paths } = makeClient(serve);
  assert.equal((await client.texts("pt-BR")).language, "pt-BR");
  assert.equal((await client.texts("en")).title, "Sleep and shift work");
  assert.deepEqual(paths, ["", "/texts"]);
});

test("a collector that sends other texts is refused, and a missing one is named", async () => {
  const wrong = makeClient((path) => (path ? { status: 200, body: toBytes('{"format":1}') } : serve("")));
  await assert.rejects(wrong.client.texts(), (error) => error instanceof PlanError && error.reason === "plan-changed");
  const lacking = makeClient((path) => (path ? { status: 404, body: toBytes('{"reason":"no-texts"}') } : serve("")));
  await assert.rejects(lacking.client.texts(), { reason: "no-texts" });
});

test("Global Privacy Control forbids the request for texts", async () => {
  const { client, paths } = makeClient(serve);
  await client.plan();
  await optedOut(() => assert.rejects(client.texts(), { reason: "do-not-track" }));
  assert.deepEqual(paths, [""]);
});

test("a survey without texts is displayed with its names, without a request", async () => {
  const plan = readVectors("good-auto").plan;
  const url = URL.replace(PLAN.id, JSON.parse(plan).id);
  const send = async (/** @type {any} */ request) => {
    assert.equal(request.url, url);
    return { status: 200, body: toBytes(plan) };
  };
  const client = new Client(url, { person: null, store: new MemoryStore(), send, maxEpsilon: 10 });
  const shown = await client.texts("de");
  assert.deepEqual([shown.language, shown.title], ["", JSON.parse(plan).id]);
  assert.equal(shown.features.get("age")?.title, "age");
});

test("a preview is written in the texts of a language", async () => {
  const { client } = makeClient(serve);
  const texts = await client.texts("en");
  const shown = await client.preview({ age: null, hours: 7 }, "yes", { texts, question: "age" });
  assert.deepEqual(shown.truth, [["How old are you?", "No answer"], ["Do you feel rested?", "Yes"]]);
  assert.ok(String(shown).includes("How old are you? = Under 30"));
});
