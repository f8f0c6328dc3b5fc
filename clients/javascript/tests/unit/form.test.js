/** The words, the numbers and the directions of the form, which need no browser. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { readAnswer } from "../../src/form/questions.js";
import { GERMAN } from "../../src/form/german.js";
import { directionOf, ENGLISH, findWords } from "../../src/form/words.js";

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

test("the direction of a language follows its script", () => {
  for (const tag of ["ar", "arz", "ps", "fa", "ur-PK", "az-Arab", "ks"]) assert.equal(directionOf(tag), "rtl", tag);
  for (const tag of ["en", "de", "ar-Latn", "sd-Deva", "ks-Deva", "arn", "hex"]) {
    assert.equal(directionOf(tag), "ltr", tag);
  }
});
