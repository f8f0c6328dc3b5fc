/** The whole client, and what an application needs with it. */

export { Client } from "./client/client.js";
export {
  BudgetError,
  ClosedError,
  ConsentError,
  ExpiredError,
  JournalError,
  OptionError,
  PlanError,
  SignatureError,
  TransportError,
} from "./client/errors.js";
export { LdpError, PrivacyError, RowError, SurveyError, TokenError } from "./errors.js";
export { Receipt } from "./client/receipt.js";
/** @typedef {import("./client/client.js").ClientOptions} ClientOptions */
/** @typedef {import("./client/client.js").Row} Row */
/** @typedef {import("./client/journal/indexed_db.js").Store} Store */
/** @typedef {import("./errors.js").Reason} Reason */
/** @typedef {import("./client/receipt.js").State} State */
/** @typedef {import("./survey/plan.js").Plan} Plan */
/** @typedef {import("./client/transport.js").Send} Send */
