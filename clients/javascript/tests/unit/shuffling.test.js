/** Tests the privacy bound for shuffled reports; encoders/shuffling.py computed the expected numbers. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { SurveyError } from "../../src/core.js";
import { shuffledDelta } from "../../src/relay/shuffling.js";

/** Ratio, reports, epsilon, and the delta of the Python package. */
const TABLE = [
  [3, 1, 0.5, 0.3378200201446602],
  [3, 2, 0.5, 0.2533650151084977],
  [1.0001, 1000, 0, 1.2612506549195775e-06],
  [1.5, 10, 0.1, 0.0210368863993793],
  [1.4142135623730951, 50, 0, 0.021259709011628276],
  [3, 1000, 0.05, 0.0030381299680703315],
  [7.389, 200, 1.0, 1.3147193476609899e-06],
  [20.5, 1, 0.25, 0.893767153455212],
  [2.71828, 1000, 0.149, 9.662613954709152e-07],
  [55, 10000, 0.411, 1.066049794716757e-06],
  [150, 100000, 0.234, 1.1489163897155051e-07],
  [150, 438, 2, 0.05211145300570671],
  [1000000.0, 1000, 3, 0.9989814338518841],
  [10000000000000.0, 500, 1, 1.0],
  [7.389, 1000000, 0.01, 5.689373731784997e-07],
  [1.001, 1000000, 5e-05, 1e-14],
  [3, 10000000, 0.0015, 4.631788774018289e-08],
  [3, 20000000, 0.0015, 4.631788774018289e-08],
  [3, 100, 1.0986, 1.0003941204046756e-14],
  [3, 100, 2, 0.0],
  [150, 100000, 3, 1e-14],
];

for (const [ratio, reports, epsilon, expected] of TABLE) {
  test(`the bound is Python's: ratio ${ratio}, ${reports} reports, epsilon ${epsilon}`, () => {
    const delta = shuffledDelta(ratio, reports, epsilon);
    assert.ok(Math.abs(delta - expected) <= 1e-9 * expected, `${delta} instead of ${expected}`);
  });
}

test("the bound falls with reports and epsilon, rises with the ratio, and is never below the exact delta", () => {
  for (const ratio of [1.5, 3, 30]) {
    // one report alone: randomised response
    for (const epsilon of [0, 0.1, 0.4]) {
      assert.ok(shuffledDelta(ratio, 1, epsilon) >= (ratio - Math.exp(epsilon)) / (ratio + 1));
    }
    for (const reports of [1, 2, 10, 500]) {
      const delta = shuffledDelta(ratio, reports, 0.2);
      assert.ok(shuffledDelta(ratio, reports + 50, 0.2) < delta);
      assert.ok(shuffledDelta(ratio, reports, 0.21) < delta);
      assert.ok(shuffledDelta(ratio * 1.1, reports, 0.2) > delta);
    }
  }
});

test("no number of reports below 1 has a bound", () => {
  for (const reports of [0, -1, NaN]) assert.throws(() => shuffledDelta(3, reports, 0.5), SurveyError);
});
