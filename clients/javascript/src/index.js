/** The whole client, and what an application needs with it. */

export { Client } from "./client.js";
export * from "./client_errors.js";
export { LdpError, PrivacyError, RowError, SurveyError, TokenError } from "./errors.js";
export { Receipt } from "./receipt.js";
/** @typedef {import("./client.js").ClientOptions} ClientOptions */
/** @typedef {import("./journal/indexed_db.js").Store} Store */
/** @typedef {import("./receipt.js").State} State */
/** @typedef {import("./survey/plan.js").Plan} Plan */
/** @typedef {import("./transport.js").Send} Send */
