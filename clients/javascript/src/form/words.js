/**
 * What the form says besides the survey's texts, in English and German. Authors add further languages as JSON.
 *
 * {0} and {1} are holes. A language may leave out any of these words: the English ones then stand for them.
 */

import { ANSWERS } from "../explain/english.js";

/** @typedef {import("../survey/plan.js").Plan} Plan */
/** @typedef {Readonly<typeof ENGLISH & typeof import("./further_words.js").FURTHER>} Words */

/**
 * What the words depend on: a plan, or of its relay the address alone.
 *
 * @typedef {Partial<Pick<Plan, "byInvitation" | "questions" | "validation" | "waves">> & { relay?: any }} Rules
 */

export const ENGLISH = {
  language: "Language",
  purpose: "Purpose",
  contact: "Contact",
  ethics: "Ethical approval",
  retention: "How long results are kept",
  loading: "The survey is loading",
  happens: "What happens with your answers",
  stay: "Your answers stay on this device. They are neither stored nor sent.",
  draw:
    "If you agree, this device replaces your answer to one question{0} with a random one. Only the random " +
    "answer is sent, once.",
  promise:
    "What is sent changes the odds between any two answers by a factor of at most {0}. Anyone who thinks " +
    "that something about you is as likely true as false can be at most {1} sure of it afterwards.",
  address: "The collector sees your network address, as every website does, but not your answers.",
  sameOrigin: "The collector delivers this page too, so its operator could change how it protects you.",
  questions: "Questions",
  several: "Select all that apply",
  none: "None of these",
  choose: "Please choose",
  noAnswer: "I do not want to answer",
  range: "A number from {0} to {1}. For less, type {0}; for more, {1}.",
  point: ".",
  thousands: " Type no thousands separators.",
  needed: "Please answer this.",
  problems: "Nothing was sent. Please look at these questions:",
  show: "Show what would be sent",
  drawn: "The random answer to “{0}” could come from any of these:",
  caption: "What the collector could conclude if all answers were equally likely before",
  likely: "How likely",
  example: "This is an example. If you agree, this device draws again.",
  bytes: "Its bytes",
  consent: "Do you take part?",
  choice:
    "It is your choice. Nothing is stored or sent before you agree. You can withdraw until the random answer " +
    "has arrived, but not later.",
  wave: "You are asked once, in {0}, from {1} to {2}. Nothing else is sent.",
  agree: "Yes, send one random answer",
  decline: "No, send nothing",
  result: "Your answer",
  withdraw: "Withdraw my answer",
  rules: "Rules of this survey",
  rehearsal: "This is a rehearsal: nothing is sent or stored.",
  no_consent: "Nothing was sent. Please decide at the end.",
  declined: "You do not take part. Nothing was sent. You can still agree.",
  ready: "You have agreed, but not answered yet.",
  waiting: "Open this page again then.",
  missed: "Your time to answer is over. Nothing more is sent.",
  queued:
    "Your random answer is stored in this browser and waits to be sent. If you close this page, it is sent when " +
    "you open it again.",
  sent: "Your random answer has arrived. Thank you!",
  already_reported: "This survey was answered in this browser. Nothing new was sent.",
  withdrawn: "You have withdrawn. Nothing more is sent.",
  expired: "The survey is closed. Nothing more is sent.",
  rejected: "Your random answer was refused and does not count.",
  unavailable: "That did not work.",
  "do-not-track": "Your browser asks websites not to share data (Global Privacy Control), so nothing is sent.",
  "insecure-context": "This page was not loaded over https, so others could have changed it. Use https://.",
  "journal-unavailable":
    "Your browser does not let this page remember that you have answered. Allow cookies and site data.",
  "storage-full": "The storage of this browser is full. Free some space and try again.",
  "storage-lost": "The storage of this browser is lost. Close it and open this page again.",
  evicted:
    "This browser has deleted your random answer. It may have arrived. If you answer again, you reveal more.",
  "network-full": "Too many people answered from your network. Try mobile data.",
  framed: "To answer, open this survey in its own window.",
  again: "Try again",
  "collector-unreachable": "The collector cannot be reached now.",
  "plan-changed": "This page was made for another version of the survey. Please tell its author.",
  "bad-signature": "The survey lacks its author's signature, or this browser is too old to check it.",
  "invalid-token": "Your invitation is missing, or is not for this survey. Please open the link that you received.",
  "id-reused": "Your invitation was used. The first answer counts.",
  "closed-once": "The survey is closed. If it stays closed, the answer is deleted.",
  ...ANSWERS,
  missing: "no answer",
  andLabel: " and your answer to “{0}”",
  preview: "What would be sent",
};

/** Scripts and languages that are written from right to left. */
const RIGHT_TO_LEFT =
  /^(ar[cyz]?|ckb|dv|fa|iw|he|ks|nqo|ps|sd|syr|ug|ur|yi)\b(?!-(latn|deva))|-(arab|hebr|nkoo|syrc|thaa)\b/i;

/**
 * Return the words of the first of these languages that there are words in, with the language that they are in.
 *
 * @param {readonly string[]} wanted
 * @param {Readonly<Record<string, Partial<Words>>>} further languages of the author
 * @param {Rules} [rules] without them, the words of further_words.js are missing in English
 * @returns {Promise<{ words: Words, language: string }>}
 */
export async function findWords(wanted, further, rules = {}) {
  const isSpecial = rules.relay || rules.waves || rules.validation || rules.byInvitation || severalOf(rules);
  const own = isSpecial ? (await import("./further_words.js")).FURTHER : {};
  const english = /** @type {Words} */ ({ ...ENGLISH, ...own });
  const known = Object.entries({ en: english, de: {}, ...further });
  for (const tag of wanted) {
    // "de-AT", and "de" for the words that it lacks
    const fits = known.filter(([each]) => `${tag}-`.toLowerCase().startsWith(`${each}-`.toLowerCase()));
    const [language] = fits.sort(([one], [other]) => other.length - one.length)[0] ?? [];
    if (!language) continue;
    const german = fits.some(([each]) => each === "de") && (await import("./german.js")).GERMAN;
    return { words: Object.assign({ ...english }, german, ...fits.map(([, words]) => words).reverse()), language };
  }
  return { words: english, language: "en" };
}

/**
 * Return the ending of the words' names: "All" if people answer all questions, "Table" if a report can answer a table,
 * otherwise nothing.
 *
 * @param {Rules} rules
 */
export function severalOf({ questions, relay }) {
  if (relay?.ask) return "All";
  return questions?.some(({ features }) => features.length > 1) ? "Table" : "";
}

/**
 * Return the direction in which a language is written.
 *
 * @param {string} language
 */
export function directionOf(language) {
  return RIGHT_TO_LEFT.test(language) ? "rtl" : "ltr";
}
