/**
 * Relays: surveys whose reports go through another organisation, so that the collector does not see who answered.
 *
 * Each report is sealed for the collector, and what a person sends is sealed once more for the relay. The same bytes
 * are sent until the relay has them. Nothing is ever sent to the collector, whose address the device does not know.
 */

import { greatest, isGreater, nearestDouble } from "./arithmetic.js";
import { BudgetError, OptionError, PlanError, requireOption, TransportError } from "./client/errors.js";
import { readLimit } from "./client/policy.js";
import { originOfUrl } from "./client/survey_identity.js";
import { parseDecimal } from "./decimals.js";
import { requireValid } from "./errors.js";
import { checkEntry } from "./relay/plan_entry.js";
import { isSealingSupported, sealEnvelope } from "./relay/sealing.js";
import { parseToken } from "./survey/invitation.js";

/** @typedef {import("./client/journal/table.js").JournalEntry} JournalEntry */
/** @typedef {import("./client/policy.js").ConnectToRelay} ConnectToRelay */
/** @typedef {import("./client/transport.js").Send} Send */
/** @typedef {import("./client/journal/indexed_db.js").Store} Store */
/** @typedef {import("./survey/plan.js").Plan} Plan */

const TIMEOUT_SECONDS = 10;
/** How long after its end a message is kept: the relay needs three hours, and the clock may be days ahead. */
const MESSAGE_SECONDS = 7 * 86_400;
const UNREACHABLE = "relay-unreachable";
const HELD = "the relay has it; it is counted when enough others have answered";
const LEFT = "the relay has passed the report on, or deleted it because too few answered";
/** Reasons of a relay that reject a message for good, and what they mean to people. @type {Record<string, string>} */
const REFUSALS = {
  "bad-seal": "",
  "other-plan": "",
  "code-missing": "the survey needs a code: use the link that you received",
  "code-unknown": "the relay did not give this code: use the link that you received",
  "code-used": "this code was used before, and the first answer counts",
};

/**
 * Return the option `relay` of a client: `new Client(url, { relay: throughRelay("https://relay.example.org"), ... })`.
 *
 * The URL is then the survey's address at the relay. The client also needs `digest`, `publicKey` or the plan's bytes,
 * because a relay could exchange the keys in a plan. `maxEpsilon` limits the epsilon that is promised with the relay.
 *
 * @param {string} origin the relay's address, without a path
 * @param {{ maxLocalEpsilon?: number }} [options] a plan with a greater epsilon is refused, which holds even if relay
 *   and collector work together; by default 5
 * @returns {ConnectToRelay}
 */
export function throughRelay(origin, { maxLocalEpsilon = 5 } = {}) {
  const named = readOrigin(origin);
  const limit = readLimit(maxLocalEpsilon);
  return (url, pin, send, store) => {
    const isHere = originOfUrl(url) === named && new URL(url).pathname.lastIndexOf("/") === 0;
    requireOption(isHere, `give the survey's address at the relay, ${named}/ID, not its address at the collector`);
    const end = Date.now() / 1000 - MESSAGE_SECONDS; // what ended before cannot be withdrawn any more
    forgetMessages(store, ({ relay, report, state }) => report && relay && state !== "queued" && relay.closes <= end)
      .catch(() => {}); // the next client tries again
    return {
      explain: ({ reason, report, state }) => state === "sent" ? (report ? HELD : LEFT) : REFUSALS[reason] ?? "",

      interpret({ content, status }) {
        const reason = content?.reason;
        const why = "too many people have answered from your network; try another one";
        if (status === 429 && reason === "network-full") return { reason, why, isShared: false };
        return status >= 400 && status < 500 && Object.hasOwn(REFUSALS, reason) ? { reason, state: "rejected" } : {};
      },

      checkEntry({ byInvitation, id, questions, relay }) {
        if (relay === undefined) return; // `check` refuses the plan
        requireValid(!byInvitation); // a token names its holder to the organisation that gave it
        const ratio = greatest(questions.map(({ mechanism }) => mechanism.ratio));
        checkEntry(/** @type {any} */ (relay), id, nearestDouble(...ratio));
      },

      check({ epsilon, relay }) {
        if (relay?.url !== url) {
          throw new PlanError("the plan has another relay, or none", "other-plan");
        }
        if (isGreater(parseDecimal(epsilon), limit)) {
          throw new BudgetError(`the plan's epsilon is ${epsilon}, above maxLocalEpsilon`, "epsilon-above-cap");
        }
      },

      async prepare(plan) {
        if (!pin) {
          const why = "the relay could change the plan's keys: give digest or publicKey";
          throw new TransportError(why, "relay-unpinned");
        }
        if (!(await isSealingSupported())) {
          throw new TransportError("this browser cannot seal reports: update it", "relay-unsupported");
        }
        if (plan.relay?.ask) (await import("./survey/all_answers.js")).checkAllAnswers(plan);
        await seal(plan, () => new Uint8Array()); // with a key that cannot be used, nothing is drawn
      },

      readToken: (plan, token) => void readCode(plan, token),
      seal,

      async withdraw(participation, sender) {
        await participation.withdraw();
        const attempt = sender.refresh();
        const entry = await participation.find();
        if (!entry?.relay || !entry.report || entry.origin !== named) return undefined; // it has nothing
        await attempt; // another tab may send the report too: the relay refuses what it was asked to delete
        const answer = await askToDelete(entry, send);
        if (answer.reason !== UNREACHABLE) {
          await forgetMessages(store, ({ digest, state }) => state === "withdrawn" && digest === entry.digest);
        }
        return answer;
      },
    };
  };
}

/**
 * Ask the relay to delete a report; return its answer.
 *
 * @param {JournalEntry} entry
 * @param {Send} send
 * @returns {Promise<import("./client/receipt.js").ReceiptFields>}
 */
async function askToDelete({ digest, relay, report: body, url: survey }, send) {
  try {
    const url = `${survey}/${digest}${relay?.path ?? ""}`;
    const answer = await send({ method: "DELETE", url, body, timeout: TIMEOUT_SECONDS });
    if (answer.status === 204) return { why: "the relay will not pass the report on" };
    const { reason } = await new Response(/** @type {any} */ (answer.body)).json();
    // if the relay refuses the code, it never held the message, and never will
    if (/^code-/.test(reason)) return { why: "the relay will not pass the report on" };
    if (reason === "passed-on") return { reason, why: "the relay has passed the report on, so it is counted" };
    if (reason === "survey-closed") return { reason, why: LEFT };
  } catch {
    // the relay has not answered
  }
  return { reason: UNREACHABLE, why: "the relay has not confirmed it" };
}

/**
 * Delete the messages of some entries.
 *
 * @param {Store} store
 * @param {(entry: JournalEntry) => unknown} isOver
 */
async function forgetMessages(store, isOver) {
  if (!(await store.read()).some(isOver)) return; // an update would store something before the consent
  await store.update((all, write) => all.filter(isOver).forEach(({ report: _report, ...entry }) => write(entry)));
}

/**
 * Return the bytes of the relay's code, none if the person has no code. Throws TokenError if it is misspelt.
 *
 * @param {Plan} plan
 * @param {unknown} token
 */
function readCode({ digestBytes, sha256 }, token) {
  if (token === null || token === undefined) return [];
  const questions = { length: 2 ** 16 }; // a code is for no question
  return parseToken({ digestBytes, first: 0, questions, sha256 }, String(token)).id;
}

/**
 * Make and seal what a person sends: one report, or one for each question.
 *
 * @param {Plan} plan
 * @param {import("./client/policy.js").Draw} draw
 * @param {unknown} [token] the relay's code
 */
function seal(plan, draw, token) {
  const reports = plan.relay?.ask ? plan.questions.map((_, index) => draw({ index })) : [draw()];
  return sealEnvelope(plan, reports, readCode(plan, token));
}

/** @param {string} text */
function readOrigin(text) {
  try {
    const { href, origin } = new URL(text);
    if (href === `${origin}/`) return originOfUrl(text);
  } catch {
    // it is no URL
  }
  throw new OptionError("a relay looks like https://host", "bad-option");
}
