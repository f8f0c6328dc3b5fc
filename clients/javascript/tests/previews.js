/** Prints the preview of each case of the files of vectors that are named, as one JSON list. */

import { readFileSync } from "node:fs";

import { readPlan } from "../src/core.js";
import { preview } from "../src/preview.js";
import { checkWaves, inWave } from "../src/waves.js";
import { givenBytes, valueOf } from "./answer.js";

const previews = process.argv.slice(2).flatMap((file) => {
  const { cases, plan: text } = JSON.parse(readFileSync(file, "utf8"));
  const plan = readPlan(new TextEncoder().encode(text), { check: checkWaves });
  return cases
    .filter((/** @type {any} */ each) => each.report)
    .map((/** @type {any} */ each) => {
      const row = Object.fromEntries(Object.entries(each.row).map(([name, value]) => [name, valueOf(value)]));
      const { take } = givenBytes(each.random);
      const own = each.wave ? inWave(plan, each.wave) : plan;
      const shown = preview(own, row, valueOf(each.label), { random: take, token: each.token });
      return {
        question: shown.question,
        chance: shown.questionProbability,
        truth: shown.truth,
        clipped: shown.clipped,
        report: Buffer.from(shown.report).toString("hex"),
        oddsBound: shown.oddsBound,
        answers: shown.possibleAnswers,
        text: String(shown),
      };
    });
});
console.log(JSON.stringify(previews));
