/**
 * The privacy of a report that is shuffled with others: an upper bound, proved for every mechanism.
 *
 * The same computation as `encoders/shuffling.py` of the Python package; docs/shuffling.md has the proof.
 */

import { requireValid } from "../errors.js";

const MAX_REPORTS = 1e7;
/** Probabilities below this part of the largest one are left out. */
const NEGLIGIBLE = 2 ** -100;
/** More than the sum of all probabilities that are left out. */
const LEFT_OUT = 1e-14;
/** More than the relative error of the bound. */
const RELATIVE_ERROR = 1e-6;
const ULP = 2 ** -50;

/**
 * Return an upper bound on the delta of a shuffled report at an epsilon, from 0 to 1.
 *
 * Throws SurveyError if `reports` is below 1.
 *
 * @param {number} ratio the largest likelihood ratio of one report, above 1
 * @param {number} reports how many honest reports the batch has, that of the person included
 * @param {number} epsilon after shuffling
 */
export function shuffledDelta(ratio, reports, epsilon) {
  requireValid(reports >= 1);
  const growth = Math.exp(epsilon);
  if (growth >= ratio) return 0;
  const likely = ratio / (ratio + 1);
  const unlikely = 1 / (ratio + 1);
  const gain = likely - growth * unlikely;
  const slope = Math.min(1, (growth * likely - unlikely) / ((likely - unlikely) * (1 + growth)));
  const [least, weights] = binomial(Math.min(reports, MAX_REPORTS) - 1, 2 * unlikely);
  // with k = t - 1 for the best t, P(U_c >= t) - e^epsilon P(V_c >= t) is
  // gain P(Bin(c, 1/2) = k) - (e^epsilon - 1) P(Bin(c, 1/2) > k)
  let k = Math.ceil((least + 1) * slope) - 1;
  const [start, coins] = binomial(least, 0.5);
  let point = coins[k - start] ?? 0; // P(Bin(c, 1/2) = k)
  const firstTail = sum(coins.slice(Math.max(k + 1 - start, 0)));
  let tail = firstTail; // P(Bin(c, 1/2) > k)
  let delta = 0;
  weights.forEach((weight, index) => {
    const c = least + index;
    delta += weight * Math.max(0, gain * point - (growth - 1) * tail);
    tail += point / 2; // one more coin
    point *= (c + 1) / (2 * (c + 1 - k));
    if (Math.ceil((c + 2) * slope) - 1 > k) {
      k++;
      point *= (c + 2 - k) / k;
      tail = Math.max(0, tail - point);
    }
  });
  const rounding = weights.length * ULP * firstTail * (growth - 1);
  return Math.min(1, delta * (1 + RELATIVE_ERROR) + rounding + LEFT_OUT);
}

/**
 * Return a binomial distribution without its negligible ends: the least value, and the probabilities.
 *
 * @param {number} count
 * @param {number} probability
 * @returns {[number, number[]]}
 */
export function binomial(count, probability) {
  const odds = probability / (1 - probability);
  const mode = Math.min(count, Math.floor((count + 1) * probability));
  const above = [1];
  for (let value = mode, part = 1; value < count && part >= NEGLIGIBLE; value++) {
    part *= (count - value) / (value + 1) * odds;
    above.push(part);
  }
  const below = [];
  for (let value = mode, part = 1; value > 0 && part >= NEGLIGIBLE; value--) {
    part *= value / ((count - value + 1) * odds);
    below.push(part);
  }
  const parts = [...below.reverse(), ...above];
  const total = sum(parts);
  return [mode - below.length, parts.map((each) => each / total)];
}

/**
 * Return the sum of numbers from 0 to 1, with the error of one rounding (Kahan and Babuska).
 *
 * @param {readonly number[]} numbers
 */
export function sum(numbers) {
  let total = 0;
  let lost = 0;
  for (const number of numbers) {
    const next = total + number;
    lost += total >= number ? total - next + number : number - next + total;
    total = next;
  }
  return total + lost;
}
