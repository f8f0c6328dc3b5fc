/**
 * Prints the time to read and prove a plan, and to make one report of it.
 *
 *     node benchmarks/core.js [VECTORS.json ...]
 *
 * Without arguments it measures a typical plan, with 10 features of 2 to 8 values and 10 numbers at epsilon 1,
 * and the plan of every file of vectors. A time is the median of many runs, in
 * milliseconds; the first run of a process is shown too, because a page reads its plan once.
 */

import { readdirSync, readFileSync } from "node:fs";

import { makeReport, readPlan } from "../src/core.js";

const VECTORS = new URL("../../../tests/vectors/", import.meta.url);
const RUNS = 50;

const given = process.argv.slice(2);
const files = given.length
  ? given
  : [
      new URL("typical.json", import.meta.url),
      ...readdirSync(VECTORS)
        .filter((name) => name.startsWith("good-"))
        .map((name) => new URL(name, VECTORS)),
    ];

console.log("plan                        questions   bytes  first read   read  report, slowest question");
for (const file of files) {
  const { cases, plan: text } = JSON.parse(readFileSync(file, "utf8"));
  const bytes = new TextEncoder().encode(text);
  const first = timeOf(() => readPlan(bytes));
  const plan = readPlan(bytes);
  const read = median(() => readPlan(bytes));
  const { label, row } = cases[0];
  // the first 8 bytes draw the question, so each question is measured
  const reports = plan.questions.map((_, index) => {
    const draw = index ? plan.limits[index - 1] : 0n;
    const random = (/** @type {number} */ count) => {
      const drawn = crypto.getRandomValues(new Uint8Array(count));
      if (count === 8) new DataView(drawn.buffer).setBigUint64(0, draw, true);
      return drawn;
    };
    return median(() => makeReport(plan, row, label, { random }));
  });
  const name = String(file).split("/").pop()?.padEnd(28);
  console.log(
    name +
      String(plan.questions.length).padStart(8) +
      String(bytes.length).padStart(9) +
      first.toFixed(1).padStart(10) +
      read.toFixed(1).padStart(8) +
      Math.max(...reports).toFixed(2).padStart(10),
  );
}

/** @param {() => unknown} action */
function median(action) {
  const times = Array.from({ length: RUNS }, () => timeOf(action)).sort((one, other) => one - other);
  return times[RUNS / 2];
}

/** @param {() => unknown} action */
function timeOf(action) {
  const start = performance.now();
  action();
  return performance.now() - start;
}
