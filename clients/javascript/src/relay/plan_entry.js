/** The plan's entry `relay`: checks it, and that its promise follows; `encoders/survey/relay.py` has the same rules. */

import { isGreater } from "../arithmetic.js";
import { parseDecimal } from "../decimals.js";
import { PrivacyError, requireValid } from "../errors.js";
import { shuffledDelta } from "./shuffling.js";

/** @typedef {import("../arithmetic.js").Fraction} Fraction */

/**
 * The entry as the plan contains it; numbers are decimal texts, times are seconds since 1970.
 *
 * @typedef {object} RelayEntry
 * @property {string} url the survey's address at the relay, https://HOST/ID
 * @property {number} batch the smallest number of messages that the relay passes on together
 * @property {string} honest the share of each batch from people who do not help the collector, at least
 * @property {string} epsilon promised towards everybody but the relay
 * @property {string} delta promised with this epsilon
 * @property {number} opens
 * @property {number} closes
 * @property {string} collector_key for the inner seal
 * @property {string} relay_key for the outer seal
 * @property {"all"} [ask] each person answers all questions, and the survey's epsilon is their sum; absent if each
 *   answers one
 * @property {string} [path] never in a plan, but in one that is in a wave: where the relay takes messages of the wave,
 *   below the address with the plan's digest; `closes` is then the end of the wave
 */

const ENTRIES = 9;
const BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const REST = "([a-z0-9-]{0,61}[a-z0-9])?"; // of a label; the last begins with a letter: URL takes 127.1 for a number
const HOST = `https://(${BYTE}(\\.${BYTE}){3}|([a-z0-9]${REST}\\.)*[a-z]${REST})|http://(localhost|127(\\.${BYTE}){3})`;
const ADDRESS = new RegExp(`^(?=.{1,255}$)(${HOST})(:(?<port>[1-9][0-9]{0,4}))?/[a-z0-9][a-z0-9-]{0,63}$`);
const MAX_BATCH = 1e7;
const LAST_TIME = 2 ** 33;

/**
 * Throw SurveyError unless an entry can be used, or PrivacyError if its promise does not follow. The keys are only
 * compared: sealing checks their form. If each person answers all questions, `checkAllAnswers` checks the promise.
 *
 * @param {RelayEntry} entry
 * @param {string} survey the survey's id
 * @param {number} ratio the largest likelihood ratio of one report
 */
export function checkEntry(entry, survey, ratio) {
  const {
    ask, batch, closes, collector_key: collectorKey, delta, epsilon, honest, opens, relay_key: relayKey, url,
  } = entry;
  const asksAll = ask === "all";
  requireValid(
    Object.keys(entry).length === ENTRIES + Number(asksAll) && (asksAll || ask === undefined) &&
      isRelayUrl(url) && url.endsWith(`/${survey}`) &&
      2 <= batch && batch <= MAX_BATCH && Number.isInteger(batch) &&
      0 < honestReports(entry) && !isGreater(parseDecimal(honest), [1n, 1n]) &&
      isWithin(parseDecimal(epsilon), [1n, 1000n], [32n, 1n]) &&
      isWithin(parseDecimal(delta), [1n, 10n ** 9n], [1n, 10n ** 5n]) &&
      [opens, closes].every(Number.isInteger) && 0 < opens && opens < closes && closes < LAST_TIME &&
      collectorKey !== relayKey,
  );
  if (!asksAll) requirePromise(entry, shuffledDelta(ratio, honestReports(entry), Number(epsilon)));
}

/**
 * Return the number of honest messages in the smallest batch.
 *
 * @param {RelayEntry} entry
 */
export function honestReports({ batch, honest }) {
  const [numerator, denominator] = parseDecimal(honest);
  return Number((numerator * BigInt(batch)) / denominator); // in exact decimals: .29 x 100 is 29
}

/**
 * Throw PrivacyError if a person's delta is greater than the promised one.
 *
 * @param {RelayEntry} entry
 * @param {number} delta
 */
export function requirePromise(entry, delta) {
  if (delta > Number(entry.delta)) {
    throw new PrivacyError("promises a smaller epsilon of the relay than its batches give");
  }
}

/**
 * @param {Fraction} number
 * @param {Fraction} low
 * @param {Fraction} high
 */
function isWithin(number, low, high) {
  return !isGreater(low, number) && !isGreater(number, high);
}

/** Return whether a value is an address at a relay that all readers understand alike. @param {unknown} url */
export function isRelayUrl(url) {
  const found = typeof url === "string" && ADDRESS.exec(url);
  return Boolean(found && Number(found.groups?.port ?? 1) <= 65_535);
}
