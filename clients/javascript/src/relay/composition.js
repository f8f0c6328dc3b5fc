/**
 * The privacy of a person who answers every question through a relay: an upper bound on delta.
 *
 * The same computation as `encoders/composition.py` of the Python package; docs/shuffling.md has the proof.
 */

import { requireValid } from "../errors.js";
import { binomial, sum } from "./shuffling.js";

/** Losses are multiples of one hundredth. */
const STEPS = 100;
const CROWDS = 64;
/** At most so many clones are expected; more people are left out, which never lowers delta. */
const CLONES = 4000;
/** Probabilities of sums of steps below this are left out. */
const NEGLIGIBLE = 1e-24;
const TRIMMED = 1e-18;
/** More than all probabilities that are left out from one pair. */
const LEFT_OUT = 1e-17;
const RELATIVE_ERROR = 1e-6;
const ABSOLUTE_ERROR = 1e-14;
/** More than the error of a curve, whose values are differences of rounded numbers. */
const CURVE_ERROR = 1e-12;

/**
 * What the bound needs to know about the message of one question.
 *
 * `ratio`, above 1, is at least the largest ratio of the probabilities of one message for any two answers. `move` is 1
 * for any mechanism, and (ratio + 1) / (ratio + k - 1) for direct encoding of k values. `isYesNo` is whether the answer
 * has two values; the bound is then smaller, and does not use `move`.
 *
 * @typedef {{ ratio: number, move: number, isYesNo: boolean }} Message
 */

/**
 * The least loss in steps, the masses of P from there on, and the mass that was cut off at the top.
 *
 * @typedef {[number, number[], number]} Losses
 */

/**
 * Return an upper bound on the delta of a person who sends one message for every question, from 0 to 1.
 *
 * Throws SurveyError if `people` is below 1, if there are no messages, or if a ratio or a move is out of range.
 *
 * @param {readonly Message[]} messages one per question
 * @param {number} people how many honest people the batch has, the person included
 * @param {number} epsilon after shuffling
 */
export function composedDelta(messages, people, epsilon) {
  requireValid(people >= 1 && messages.length > 0 && messages.every(({ ratio, move }) => ratio > 1 && move > 0));
  /** @type {Losses} */
  let [low, masses, lost] = [0, [1], 0];
  let error = ABSOLUTE_ERROR;
  /** @type {Map<string, Losses>} */
  const known = new Map();
  for (const { ratio, move, isYesNo } of messages) {
    const key = [ratio, move, isYesNo].join();
    const [first, factors, cut] = known.get(key) ?? trim(...findLosses(ratio, move, isYesNo, people));
    known.set(key, [first, factors, cut]);
    const total = trim(low + first, convolve(masses, factors));
    [low, masses] = total;
    lost += cut + LEFT_OUT + total[2];
    if (isYesNo) error += CURVE_ERROR;
  }
  const above = masses.map((mass, index) => mass * Math.max(0, 1 - Math.exp(epsilon - (low + index) / STEPS)));
  return Math.min(1, (lost + sum(above)) * (1 + RELATIVE_ERROR) + error);
}

/**
 * Return the least loss of one question, in steps, and the masses of P from there on.
 *
 * @param {number} ratio
 * @param {number} move
 * @param {boolean} isYesNo
 * @param {number} people
 * @returns {[number, number[]]}
 */
function findLosses(ratio, move, isYesNo, people) {
  const crowd = Math.min(people, Math.floor((CLONES / 2) * (ratio + 1)));
  const length = Math.floor(Math.log(ratio) * STEPS) + 3;
  const powers = Array.from({ length }, (_, k) => Math.exp(k / STEPS));
  const right = isYesNo ? findYesNoHalf(ratio, crowd, powers) : findWalkHalf(ratio, Math.min(1, move), crowd, powers);
  const left = right.map((mass, k) => mass / powers[k]);
  return [1 - length, [...left.slice(1).reverse(), 2 * right[0], ...right.slice(1)]];
}

/**
 * Return the right half of the pair for every mechanism, and for direct encoding.
 *
 * @param {number} ratio
 * @param {number} move
 * @param {number} people
 * @param {readonly number[]} powers
 */
function findWalkHalf(ratio, move, people, powers) {
  const [least, weights] = binomial(people - 1, 2 / (ratio + 1));
  const width = Math.max(1, Math.floor(Math.sqrt(2 * people * (ratio - 1)) / (ratio + 1) / 8));
  // the loss is at least k steps if s is at least edges[k] * size
  const edges = powers.slice(1).map((_, k) => (Math.tanh(k / 2 / STEPS) * (ratio + 1)) / (ratio - 1));
  const first = powers.map(() => 0);
  const second = powers.map(() => 0);
  let ends = walk(least + 1, move);
  for (let start = 0; start < weights.length; start += width) {
    const size = least + start + 1; // of all sizes of this group, the least: fewer clones never hide better
    for (let i = 0; start && i < width; i++) ends = step(ends, move);
    const scale = sum(weights.slice(start, start + width)) / ((ratio + 1) * size);
    let k = 0;
    ends.forEach((end, s) => {
      while (k < edges.length - 1 && s >= edges[k + 1] * size) k++;
      const mass = s ? end * scale : (end * scale) / 2;
      first[k] += mass * (ratio * (size + s) + size - s);
      second[k] += mass * (ratio * (size - s) + size + s);
    });
  }
  // masses move to the grid; both are kept, so only the spread of P/P' grows
  const right = powers.map(() => 0);
  edges.forEach((_, k) => {
    const up = Math.min(first[k], Math.max(0, (first[k] - second[k] * powers[k]) / (1 - 1 / powers[1])));
    right[k] += first[k] - up;
    right[k + 1] += up;
  });
  return right;
}

/**
 * Return the probabilities that lazy steps end at 0, 1, 2, ...: each is +1 or -1 with `move` / 2, else 0.
 *
 * @param {number} steps
 * @param {number} move
 */
function walk(steps, move) {
  let ends = [1]; // proportional to the probabilities at -steps, 1 - steps, ..., 0
  let before = 0;
  for (let j = 0; j < steps; j++) {
    const here = ends[j];
    ends.push((2 * (1 - move) * (steps - j) * here + move * (2 * steps - j + 1) * before) / (move * (j + 1)));
    before = here;
    if (ends[j + 1] > 1e200) {
      before *= 1e-200;
      ends = ends.map((each) => each * 1e-200);
    }
  }
  ends.reverse();
  const total = 2 * sum(ends) - ends[0];
  return ends.map((each) => each / total);
}

/**
 * Return the probabilities of the ends after one more step.
 *
 * @param {readonly number[]} ends
 * @param {number} move
 */
function step(ends, move) {
  const after = [...ends, 0].map(
    (_, s) => (1 - move) * (ends[s] ?? 0) + (move / 2) * (ends[Math.abs(s - 1)] + (ends[s + 1] ?? 0)),
  );
  while (after.length > 2 && after[after.length - 1] < NEGLIGIBLE) after.pop();
  return after;
}

/**
 * Return the right half of the pair whose curve is the largest of all crowds, for an answer with two values.
 *
 * @param {number} ratio
 * @param {number} people
 * @param {readonly number[]} powers
 */
function findYesNoHalf(ratio, people, powers) {
  const group = Math.max(1, Math.floor(people / CROWDS));
  let curve = powers.map(() => 0);
  for (let noes = 0; noes < people; noes += group) {
    const crowd = findCrowdCurve(ratio, noes, Math.max(0, people - group - noes), powers);
    curve = curve.map((value, k) => Math.max(value, crowd[k]));
  }
  // 0 after the last value, which is 0
  const slopes = curve.map((value, k) => (value ? (curve[k + 1] - value) / (powers[k + 1] - powers[k]) : 0));
  return slopes.map((slope, k) => Math.max(0, k ? (slope - slopes[k - 1]) * powers[k] : slope + (1 - curve[0]) / 2));
}

/**
 * Return sum max(0, P - q P') of the number of messages that say yes, for each q.
 *
 * @param {number} ratio
 * @param {number} noes
 * @param {number} yeses
 * @param {readonly number[]} powers
 */
function findCrowdCurve(ratio, noes, yeses, powers) {
  const wrong = 1 / (ratio + 1);
  const [leastNo, fromNoes] = binomial(noes, wrong);
  const [leastYes, fromYeses] = binomial(yeses, 1 - wrong);
  const start = Math.max(0, Math.floor(noes * wrong + yeses * (1 - wrong)) - 1) - leastNo - leastYes;
  /** @type {number[]} */
  const others = [];
  for (let t = start; t < fromNoes.length + fromYeses.length - 1; t++) {
    let probability = 0;
    const last = Math.min(t, fromNoes.length - 1);
    for (let i = Math.max(0, t - fromYeses.length + 1); i <= last; i++) probability += fromNoes[i] * fromYeses[t - i];
    others.push(probability);
  }
  const tails = [...others, 0];
  for (let i = others.length - 2; i >= 0; i--) tails[i] += tails[i + 1];
  let i = 1;
  return powers.map((q) => {
    const gain = (ratio - q) * wrong;
    const loss = (ratio * q - 1) * wrong;
    while (i < others.length && gain * others[i - 1] < loss * others[i]) i++;
    return Math.max(0, gain * others[i - 1] - (q - 1) * tails[i]);
  });
}

/**
 * Round the least losses up, and cut off the largest.
 *
 * @param {number} low
 * @param {number[]} masses
 * @returns {Losses}
 */
function trim(low, masses) {
  let first = 0;
  let small = 0;
  while (small + masses[first] < TRIMMED) small += masses[first++];
  masses[first] += small;
  let end = masses.length;
  let cut = 0;
  while (cut + masses[end - 1] < TRIMMED) cut += masses[--end];
  return [low + first, masses.slice(first, end), cut];
}

/**
 * Return the masses of the sum of two losses.
 *
 * @param {readonly number[]} one
 * @param {readonly number[]} other
 */
function convolve(one, other) {
  const sums = Array(one.length + other.length - 1).fill(0);
  other.forEach((factor, j) => one.forEach((mass, i) => (sums[i + j] += factor * mass)));
  return sums;
}
