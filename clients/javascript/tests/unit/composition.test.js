/** Tests the privacy bound for people who answer every question through a relay, against the Python package. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { SurveyError } from "../../src/core.js";
import { composedDelta } from "../../src/relay/composition.js";
import { readVectors } from "../surveys.js";

const MESSAGE = { ratio: 3, move: 1, isYesNo: false };

test("every bound of the vectors is Python's", () => {
  for (const { delta, epsilon, messages, people } of readVectors("compositions").cases) {
    const all = messages.flatMap((/** @type {any} */ { count, ratio, move, is_yes_no: isYesNo }) =>
      Array(count).fill({ ratio, move, isYesNo }),
    );
    const found = composedDelta(all, people, epsilon);
    assert.ok(Math.abs(found - delta) <= Math.max(1e-12, 1e-9 * delta), `${found} instead of ${delta}`);
  }
});

test("more questions, fewer people and other forms of the same message raise the bound", () => {
  const delta = composedDelta([MESSAGE, MESSAGE], 500, 0.3);
  assert.ok(composedDelta([MESSAGE, MESSAGE, MESSAGE], 500, 0.3) > delta);
  assert.ok(composedDelta([MESSAGE, MESSAGE], 400, 0.3) > delta);
  assert.ok(composedDelta([MESSAGE, { ...MESSAGE, move: 0.8 }], 500, 0.3) < delta);
  assert.ok(composedDelta([{ ...MESSAGE, isYesNo: true }, MESSAGE], 500, 0.3) < delta);
  assert.equal(composedDelta([MESSAGE, { ...MESSAGE, move: 1.5 }], 500, 0.3), delta); // 1 is always valid
});

test("what has no bound is refused", () => {
  for (const people of [0, -1, NaN]) assert.throws(() => composedDelta([MESSAGE], people, 0.5), SurveyError);
  assert.throws(() => composedDelta([], 5, 0.5), SurveyError);
  for (const wrong of [{ ratio: 1 }, { ratio: NaN }, { move: 0 }, { move: NaN }]) {
    assert.throws(() => composedDelta([MESSAGE, { ...MESSAGE, ...wrong }], 5, 0.5), SurveyError);
  }
});
