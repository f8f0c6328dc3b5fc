/** The texts that people read when they are asked: fetched, checked against the plan, chosen by language. */

import { SurveyError } from "./errors.js";
import { PlanError } from "./client/errors.js";
import { requirePermission } from "./client/opt_out.js";
import { fetchPage } from "./client/plan_source.js";
import { displayTexts } from "./survey/display_texts.js";
import { readTexts } from "./survey/survey_texts.js";

export { displayTexts, readTexts };
/** @typedef {import("./survey/display_texts.js").DisplayTexts} DisplayTexts */
/** @typedef {import("./survey/display_texts.js").EntryTexts} EntryTexts */
/** @typedef {import("./survey/plan.js").Plan} Plan */
/** @typedef {import("./survey/survey_texts.js").SurveyTexts} SurveyTexts */

/** Of the plans of this page, by the digest, which a plan in a wave shares. @type {WeakMap<Uint8Array, SurveyTexts>} */
const fetched = new WeakMap();

/**
 * Return the texts of a survey in a language; they are fetched on first use, all languages at once.
 *
 * @param {Plan} plan
 * @param {string | readonly string[]} wanted a language tag, or several
 * @param {{ send: import("./client/transport.js").Send, url: string }} client
 */
export async function loadTexts(plan, wanted, { send, url }) {
  const key = plan.digestBytes;
  if (plan.texts && !fetched.has(key)) {
    requirePermission();
    const bytes = await fetchPage(send, `${url}/texts`, plan.relay && "relay");
    try {
      fetched.set(key, readTexts(plan, bytes));
    } catch (error) {
      if (!(error instanceof SurveyError)) throw error;
      throw new PlanError("the collector does not send the texts of this plan", "plan-changed");
    }
  }
  return displayTexts(plan, fetched.get(key), wanted);
}
