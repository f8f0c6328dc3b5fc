/** The numbers that people read about a relay, each rounded so that nothing sounds safer than it is. */

import { greatest } from "../arithmetic.js";
import { honestReports } from "../relay/plan_entry.js";

/** With a larger epsilon, relay and collector together can learn most answers. */
const MUCH = 5;
/** More than the rounding of a power of e. */
const ROUNDING = 1 + 1e-9;

/**
 * Return the largest change of odds that an epsilon allows.
 *
 * @param {string} epsilon
 */
export function oddsOf(epsilon) {
  return Math.exp(Number(epsilon)) * ROUNDING;
}

/**
 * Return the numbers of a relay's promise.
 *
 * @param {import("../survey/plan.js").Plan} plan with a relay
 */
export function relayFacts({ epsilon, questions, relay }) {
  const entry = /** @type {import("../relay/plan_entry.js").RelayEntry} */ (relay);
  const [numerator, denominator] = greatest(questions.map(({ mechanism }) => mechanism.ratio));
  const sum = numerator + denominator;
  return {
    odds: oddsOf(entry.epsilon),
    /** The promise fails with a probability of at most 1 in so many. */
    remainder: Math.floor(1 / Number(entry.delta) + 1e-6),
    honest: honestReports(entry),
    batch: entry.batch,
    /** The share of yes/no answers that are sent as they are. */
    keptShare: Number(numerator) / Number(sum),
    /** How many percent of yes/no answers are sent as they are, if relay and collector can learn most answers. */
    kept: Number(epsilon) > MUCH ? Number((100n * numerator + sum - 1n) / sum) : undefined,
  };
}
