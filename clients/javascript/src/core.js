/**
 * The core of the client: reads and checks a plan, and makes reports. It stores nothing and sends nothing.
 *
 * Values of rows are randomised by integer tables under epsilon-local differential privacy. JavaScript does
 * not promise that operations take the same time for all values.
 */

export { sha256 } from "./sha256.js";
export { readPlan } from "./survey/plan.js";
export { LdpError, PrivacyError, RowError, SurveyError, TokenError } from "./errors.js";
export { systemRandom } from "./randomness.js";
export { makeReport } from "./survey/randomise.js";
/** @typedef {import("./survey/plan.js").Plan} Plan */
