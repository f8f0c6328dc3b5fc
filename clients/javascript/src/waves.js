/**
 * Waves: the same questions are asked several times, and each person answers in one wave.
 *
 * A device draws its wave when the person agrees, before it reads a row, and the journal keeps it. So the plan's
 * epsilon is that of everything that the person ever sends. The client loads this for such surveys alone.
 */

import { readWord } from "./bytes.js";
import { Receipt } from "./client/receipt.js";
import { LdpError, requireValid, SurveyError } from "./errors.js";
import { checkKeyCount } from "./mechanisms/parameters.js";
import { countUpTo, WORD } from "./probability_tables.js";
import { takeBytes } from "./randomness.js";
import { areDistinct } from "./survey/features.js";
import { parseToken } from "./survey/invitation.js";
import { hasForm } from "./text_form.js";

/** @typedef {import("./client/journal/table.js").JournalEntry} JournalEntry */
/** @typedef {import("./survey/plan.js").PlanInWave} PlanInWave */
/** @typedef {import("./survey/plan.js").Wave} Wave */
/** @typedef {import("./survey/plan.js").Plan & { waves: import("./survey/plan.js").Waves }} Plan with waves */
/** @typedef {import("./randomness.js").RandomSource} RandomSource */
/** @typedef {string | null | undefined} Token */

/** Commands call several waves "all" and "last". */
const NAME = /^(?!(all|last)$)[a-z0-9-]{1,32}$/;
const LAST_TIME = 2 ** 33;
/** The wave of an entry whose device answers in the wave that is open then. */
const OPEN_WAVE = -1;
/** The reason in an entry whose wave was over when the person agreed. */
const NOT_ASKED = "not-asked";
const now = () => Date.now() / 1000;
const isOpen = (/** @type {Wave} */ { opens, closes }) => opens <= now() && now() < closes;

/**
 * Throw SurveyError unless the waves of a plan are possible: the option `check` of `readPlan`.
 *
 * @param {import("./survey/plan.js").Plan} plan
 * @param {boolean} [canSeal] whether reports can be sealed for a relay; no collector may get them
 */
export function checkWaves(plan, canSeal) {
  try {
    const { questions, relay, validation, waves: { assign, list, ...others } } = /** @type {Plan} */ (plan);
    requireValid(
      ["drawn", "now"].includes(assign) && Array.isArray(list) && !validation && (canSeal || relay === undefined) &&
        2 <= list.length && list.length <= 400 && list.length * questions.length <= 4096 &&
        areDistinct(list.map(({ name }) => name)),
    );
    let end = 1;
    for (const { name, opens, closes, ...more } of list) {
      requireValid(hasForm(name, NAME) && [opens, closes].every(Number.isInteger) && end <= opens && opens < closes);
      checkKeyCount({ ...others, ...more }, 0);
      end = closes;
    }
    requireValid(end < LAST_TIME && (!relay || (relay.opens === list[0].opens && relay.closes === end)));
  } catch {
    throw new SurveyError(); // of the wrong type, too
  }
}

/**
 * Return a plan in one of its waves, for `makeReport` and `preview`. Throws LdpError if there is no such wave.
 *
 * @param {any} plan with waves
 * @param {string | undefined} name of the wave
 * @param {Token} [token] names the wave in a survey by invitation
 */
export function inWave(plan, name, token) {
  const names = /** @type {Plan} */ (plan).waves.list.map((each) => each.name);
  const index = plan.byInvitation ? waveOfToken(plan, token) : names.indexOf(String(name));
  if (index < 0) throw new LdpError(`there is no wave ${name}; the waves are ${names}`, "bad-option");
  return atWave(plan, index);
}

/**
 * Return a plan in the wave with an index. A message for a relay has the address and the end of its wave.
 *
 * @param {Plan} plan
 * @param {number} index
 * @returns {PlanInWave}
 */
function atWave(plan, index) {
  const found = plan.waves.list[index];
  const wave = {
    ...found,
    index,
    get isOpen() { return isOpen(found); },
    // another tab may have recorded the grant of another token
    isDue: (/** @type {{ readonly wave?: number } | undefined} */ entry) =>
      isOpen(found) && [index, OPEN_WAVE, undefined].includes(entry?.wave),
  };
  const relay = plan.relay && { ...plan.relay, closes: wave.closes, path: `/${wave.name}` };
  const first = index * plan.questions.length;
  return Object.create(plan, { first: { value: first }, relay: { value: relay }, wave: { value: wave } });
}

/**
 * Return the index of the wave that a token names. Throws TokenError if it is not a token of the plan.
 *
 * @param {Plan} plan
 * @param {Token} token
 */
function waveOfToken({ digestBytes, questions: { length }, sha256, waves }, token) {
  const all = { length: length * waves.list.length };
  return Math.floor(parseToken({ digestBytes, first: 0, questions: all, sha256 }, String(token)).index / length);
}

/**
 * Draw the index of a device's wave; every wave is as probable as any other.
 *
 * @param {Plan} plan
 * @param {RandomSource} random
 */
export function drawWave({ waves: { list } }, random) {
  const limits = list.slice(1).map((_, index) => WORD * BigInt(index + 1) / BigInt(list.length));
  return countUpTo(limits, readWord(takeBytes(random, 8), 0));
}

/**
 * Return a function that chooses the wave of a person who agrees.
 *
 * It takes their entry so far, and returns the wave and the reason that the journal records.
 *
 * An entry keeps its wave through withdrawals and new grants, so nobody can draw another wave.
 *
 * @param {any} plan with waves
 * @param {Token} token
 * @param {RandomSource} random
 * @param {(plan: PlanInWave, token: Token) => unknown} readToken throws TokenError if the token cannot be used
 * @returns {(known?: JournalEntry) => Pick<JournalEntry, "reason" | "wave">}
 */
export function makeChoice(plan, token, random, readToken) {
  const { assign, list } = /** @type {Plan} */ (plan).waves;
  const invited = findInvited(plan, token); // hashes: not in the journal's transaction
  readToken(atWave(plan, invited ?? 0), token);
  return (known) => {
    if (invited === undefined && known?.wave !== undefined) return { wave: known.wave, reason: known.reason };
    const wave = invited ?? (assign === "now" ? OPEN_WAVE : drawWave(plan, random));
    const { closes } = /** @type {Wave} */ (list.at(wave)); // of the open wave, the last one
    return { wave, reason: closes <= now() ? NOT_ASKED : "" };
  };
}

/**
 * Return a plan in the person's wave, if it is known: by the journal or a token, or because it is the open one.
 *
 * @param {any} plan with waves
 * @param {JournalEntry | undefined} entry
 * @param {Token} token
 * @param {RandomSource} [random] draws a wave that is not known, for a preview
 * @returns {PlanInWave}
 */
export function inOwnWave(plan, entry, token, random) {
  const { assign, list } = /** @type {Plan} */ (plan).waves;
  const draw = () => (assign === "now" ? OPEN_WAVE : random && drawWave(plan, random));
  const own = entry?.survey === plan.id ? entry?.wave : undefined; // an entry may be of another round
  const wave = own ?? findInvited(plan, token) ?? draw();
  return wave === undefined ? plan : atWave(plan, findWave(list, wave));
}

/**
 * Return the receipt of a person whose wave is not open; undefined if they can answer now.
 *
 * @param {JournalEntry} entry which has a wave, and is not answered
 */
export function describeWait({ plan, reason, survey, wave }) {
  const { list } = JSON.parse(new TextDecoder().decode(plan)).waves;
  const found = list[findWave(list, /** @type {number} */ (wave))];
  if (isOpen(found)) return undefined;
  const { closes, name, opens } = found;
  /** @type {[import("./client/receipt.js").State, string]} */
  let [state, why] = ["missed", "is over"];
  if (now() < opens) [state, why] = ["waiting", "has not opened yet"];
  else if (reason === NOT_ASKED) [state, why] = ["not_asked", "was over when the person agreed"];
  return new Receipt(state, survey, { why: `the wave ${name} ${why}`, opens, closes });
}

/** Return the index of the wave that an invitation names, if there is one. @param {Plan} plan @param {Token} token */
function findInvited(plan, token) {
  return plan.byInvitation && token ? waveOfToken(plan, token) : undefined;
}

/**
 * Return the index of a person's wave; of the open wave the one that is open, or the next, or after all the last.
 *
 * @param {readonly Wave[]} list
 * @param {number} wave
 */
function findWave(list, wave) {
  if (wave !== OPEN_WAVE) return wave;
  const current = list.findIndex(({ closes }) => now() < closes);
  return current < 0 ? list.length - 1 : current;
}
