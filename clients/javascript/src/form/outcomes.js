/** What the form says of an outcome, and of a browser in which it cannot ask. */

/** @typedef {import("../errors.js").LdpError} LdpError */
/** @typedef {import("./words.js").Words} Words */
/** @typedef {{ state: string, reason: string, why: string }} Outcome */

/** Reasons and states that mean the same to people. @type {Record<string, string>} */
const SAME = {
  "code-missing": "invalid-token", "code-unknown": "invalid-token", "code-used": "id-reused", duplicate: "sent",
  not_asked: "missed",
};

/**
 * Return the outcome that an error stands for.
 *
 * @param {unknown} error
 * @returns {Outcome}
 */
export function outcomeOf(error) {
  const { message, reason = "" } = /** @type {LdpError} */ (error);
  return { state: reason === "survey-closed" ? "expired" : "unavailable", reason, why: message };
}

/**
 * Return the sentences that explain an outcome. They name its cause if that helps the person.
 *
 * @param {Outcome} outcome
 * @param {Words} words
 */
export function sentencesOf({ reason, state, why }, words) {
  const known = new Map(Object.entries(words));
  const word = reason === "journal-unavailable" ? storageFault(why) : SAME[reason] ?? reason;
  const cause = known.get(word) ?? (["invalid", "rejected", "unavailable"].includes(state) ? why : "");
  if (state === "no_consent" && cause) return [cause]; // there is nothing to decide
  return [known.get(SAME[state] ?? state) ?? words.unavailable, cause].filter(Boolean);
}

/**
 * Return the word for why the browser stores nothing.
 *
 * @param {string} why contains the name of the browser's error
 */
function storageFault(why) {
  try {
    void [localStorage, indexedDB]; // throws if the person, or a sandbox, forbids all storage
    return why.includes("Quota") ? "storage-full" : "storage-lost";
  } catch {
    return "journal-unavailable";
  }
}

/** Return whether this page is in a frame of another origin. */
export function isForeignFrame() {
  try {
    return top?.origin !== origin;
  } catch {
    return true;
  }
}
