/** Global Privacy Control: a browser's setting that forbids all reports, whatever the person agreed to. */

import { ConsentError } from "./errors.js";

/** Return whether the browser asks pages not to share data. */
export function isOptedOut() {
  return /** @type {any} */ (globalThis.navigator)?.globalPrivacyControl === true;
}

/** The reason and the explanation. @type {{ reason: import("../errors.js").Reason, why: string }} */
export const OPT_OUT = {
  reason: "do-not-track",
  why: "Global Privacy Control is on: nothing is sent",
};

/** Throw ConsentError if the browser forbids reports. */
export function requirePermission() {
  if (isOptedOut()) throw new ConsentError(OPT_OUT.why, OPT_OUT.reason);
}
