/** The words, the numbers and the directions of the form, which need no browser. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { problemOf, readAnswer } from "../../src/form/questions.js";
import { GERMAN } from "../../src/form/german.js";
import { roundUp } from "../../src/form/sections.js";
import { directionOf, ENGLISH, findWords, severalOf } from "../../src/form/words.js";

/** @param {string} low @param {string} high @returns {any} */
const numberFrom = (low, high) => ({ kind: "numeric", missing: "error", values: [low, high] });

test("words of the first language that has some, in place of those of its base language and of English", async () => {
  const further = { "de-AT": { agree: "Passt" }, "pt-BR": { agree: "Sim" }, de: { decline: "Nö" } };
  const austrian = await findWords(["fr", "de-AT"], further);
  assert.deepEqual([austrian.language, austrian.words.agree, austrian.words.decline], ["de-AT", "Passt", "Nö"]);
  assert.equal(austrian.words.stay, GERMAN.stay);
  const brazilian = await findWords(["pt-BR", "pt"], further);
  assert.deepEqual([brazilian.language, brazilian.words.agree], ["pt-BR", "Sim"]);
  assert.equal(brazilian.words.stay, ENGLISH.stay);
  assert.deepEqual(await findWords(["de-CH-1996"], {}), await findWords(["de"], {}));
  assert.equal((await findWords(["den", "d", ""], {})).language, "en");
});

test("a number may have the digits of any script", () => {
  for (const text of ["12", "१२", "１２", "১২", "๑๒", "١٢", "۱۲", " 12 ", "\u200e12", "12.0", "12,0"]) {
    assert.equal(readAnswer(numberFrom("0", "60"), { text }), 12, text);
  }
  for (const text of ["1 2", "1e1", "0x10", "", "-", "12,", ",5", "1,2,3", "七", "½", "12 000"]) {
    assert.equal(readAnswer(numberFrom("0", "20000"), { text }), undefined, text);
  }
});

test("a text that would take a minute to normalise is no number", () => {
  assert.equal(readAnswer(numberFrom("0", "60"), { text: "\u0301\u0316".repeat(200_000) }), undefined);
});

test("a number with three decimals may be thousands, unless it is a bound", () => {
  assert.equal(readAnswer(numberFrom("0", "2.125"), { text: "2,125" }), 2.125);
  assert.equal(readAnswer(numberFrom("0", "5000"), { text: "2,125" }), undefined);
  assert.equal(readAnswer(numberFrom("0", "60"), { text: "1,000" }), undefined);
  assert.equal(readAnswer(numberFrom("0", "5000"), { text: "2.1250" }), 2.125);
});

test("a number's hint says what to type, in the signs of the language, and mentions thousands only if it has some", async () => {
  const { words: german } = await findWords(["de"], {});
  /** @param {string} low @param {string} high @param {typeof german} words */
  const say = (low, high, words) => problemOf(numberFrom(low, high), { text: "95" }, words);
  const english = (await findWords(["en"], {})).words;
  assert.equal(say("10", "90", english), "A number from 10 to 90. For less, type 10; for more, 90.");
  assert.equal(say("0.5", "90", german), "Eine Zahl von 0,5 bis 90. Für weniger geben Sie 0,5 ein, für mehr 90.");
  assert.match(say("-1000", "0", english), / Type no thousands separators\.$/);
});

test("an upper bound has three digits, rounded up", () => {
  const written = [2.71829, 33.4401, 0.970689, 740.1, 7400.2, 1.4918].map((each) => roundUp(each).toPrecision(3));
  assert.deepEqual(written, ["2.72", "33.5", "0.971", "741", "7.41e+3", "1.50"]);
});

test("a survey whose reports answer several questions has words that do not say one question", async () => {
  const table = { questions: /** @type {any} */ ([{ features: [0] }, { features: [0, 1] }]) };
  assert.deepEqual([table, { questions: table.questions.slice(1, 0) }].map(severalOf), ["Table", ""]);
  assert.equal(severalOf({ ...table, relay: { ask: "all" } }), "All");
  for (const language of ["en", "de"]) {
    const { words } = await findWords([language], {}, table);
    assert.doesNotMatch(words.drawTable + words.agreeTable, /one random|eine zufällige|one question\b|eine Frage\b/);
  }
});

test("the direction of a language follows its script", () => {
  for (const tag of ["ar", "arz", "ps", "fa", "ur-PK", "az-Arab", "ks"]) assert.equal(directionOf(tag), "rtl", tag);
  for (const tag of ["en", "de", "ar-Latn", "sd-Deva", "ks-Deva", "arn", "hex"]) {
    assert.equal(directionOf(tag), "ltr", tag);
  }
});
