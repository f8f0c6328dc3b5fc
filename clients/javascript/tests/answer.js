/** Answers one request of tools/vectors/check_port.py, in Node and in a page; see docs/porting.md. */

import { LdpError, makeReport, readPlan, RowError, SurveyError, TokenError } from "../src/core.js";
import { checkWaves, inWave } from "../src/waves.js";

/** Plans that were read, by their text: most requests use the same few plans. @type {Map<string, any>} */
const plans = new Map();

/**
 * Make one report, or return the reason of the refusal.
 *
 * @param {any} request
 */
export function answer(request) {
  const random = givenBytes(request.random);
  try {
    const plan = planOf(request.plan);
    const row = Object.fromEntries(Object.entries(request.row).map(([name, value]) => [name, valueOf(value)]));
    const { label, token, wave } = request;
    plan.encode(row, valueOf(label)); // of two mistakes, that in the row is named
    const own = plan.waves ? inWave(plan, wave, token) : plan;
    const report = makeReport(own, row, valueOf(label), { random: random.take, token });
    if (random.left()) return { error: "random" };
    return { report: Array.from(report, (byte) => byte.toString(16).padStart(2, "0")).join("") };
  } catch (error) {
    if (error instanceof SurveyError) return { error: "plan" };
    if (error instanceof TokenError) return { error: "token" };
    if (error instanceof RowError) return { error: "row", field: error.field };
    if (error instanceof RangeError || error instanceof LdpError) return { error: "random" };
    throw error;
  }
}

/** @param {string} text */
function planOf(text) {
  const known = plans.get(text) ?? readPlan(new TextEncoder().encode(text), { check: checkWaves });
  if (plans.size > 8) plans.clear();
  plans.set(text, known);
  return known;
}

/**
 * Return the value of a row that stands in JSON.
 *
 * @param {any} value
 */
export function valueOf(value) {
  if (Array.isArray(value)) return value.map(valueOf);
  if (value === null || typeof value !== "object") return value;
  if ("integer" in value) return BigInt(value.integer);
  return Number(value.double.replace("inf", "Infinity"));
}

/**
 * Return a source of fixed bytes, for test vectors only.
 *
 * @param {string} hex
 */
export function givenBytes(hex) {
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  let next = 0;
  return {
    left: () => bytes.length - next,
    take(/** @type {number} */ count) {
      if (next + count > bytes.length) throw new RangeError("more random bytes are needed");
      next += count;
      return bytes.slice(next - count, next);
    },
  };
}
