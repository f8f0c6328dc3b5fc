/** The schedule draws times that do not link the reports of a browser; the rules are those of docs/embedding.md. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { makeSchedule } from "../../src/client/sending/schedule.js";

const MINUTE = 60;
const HOUR = 3600;
const DAY = 24 * HOUR;

/**
 * Return a schedule with a clock and draws that the test sets.
 *
 * @param {number} [draw]
 */
function setSchedule(draw = 0.5) {
  const set = { time: 1000, draw };
  return { set, schedule: makeSchedule(() => set.time, () => set.draw) };
}

/**
 * @param {string} survey
 * @param {string} [origin]
 * @returns {any}
 */
function entryOf(survey, origin = "https://a.example:443") {
  return { survey, origin };
}

/** @typedef {ReturnType<typeof makeSchedule>} Schedule */

/**
 * Add a report of this page.
 *
 * @param {Schedule} schedule
 * @param {any} entry
 * @param {number} spread
 * @returns {any}
 */
function add(schedule, entry, spread) {
  schedule.add([entry], () => spread, true);
  return schedule.get(entry);
}

/** A failure that concerns all reports for the collector, or one report only. */
const SHARED = { reason: "", why: "", isShared: true };
const OWN = { ...SHARED, isShared: false };

/**
 * Return the seconds until a report is due; without an entry until the next one is.
 *
 * @param {Schedule} schedule
 * @param {any} [entry]
 */
function secondsLeft(schedule, entry, time = 1000) {
  return Number((entry ? schedule.get(entry) : schedule.next())?.due) - time;
}

/** @param {number} actual @param {number} expected */
function assertClose(actual, expected) {
  assert.ok(Math.abs(actual - expected) < 1e-6 * expected, `${actual} is not ${expected}`);
}

const [ONE, TWO, THREE] = [entryOf("one"), entryOf("two"), entryOf("three", "https://b.example:443")];
const MEDIAN = -Math.log(0.5);

test("a report of this page is sent within its spread", () => {
  const { schedule } = setSchedule();
  add(schedule, ONE, 2);
  add(schedule, TWO, 4);
  assert.equal(secondsLeft(schedule, ONE), 1);
  assert.equal(secondsLeft(schedule, TWO), 2);
});

test("the only report of an earlier visit is sent within the spread", () => {
  const { schedule } = setSchedule();
  schedule.update([ONE], () => 4);
  assert.equal(secondsLeft(schedule), 2);
});

test("several reports of earlier visits wait for exponential times with the documented means", () => {
  const { schedule } = setSchedule();
  schedule.update([ONE, TWO, THREE], () => 2);
  for (const entry of [ONE, TWO, THREE]) assertClose(secondsLeft(schedule, entry), HOUR * MEDIAN);
  const many = setSchedule().schedule;
  many.update(Array.from({ length: 20 }, (_, number) => entryOf(`survey-${number}`)), () => 2);
  assertClose(secondsLeft(many), 20 * 5 * MINUTE * MEDIAN);
  const slow = setSchedule().schedule;
  slow.update([ONE, TWO], () => DAY);
  assertClose(secondsLeft(slow), DAY * MEDIAN);
});

test("each report draws a time of its own", () => {
  const schedule = makeSchedule();
  const entries = Array.from({ length: 100 }, (_, number) => entryOf(`survey-${number}`));
  schedule.update(entries, () => 2);
  assert.equal(new Set(entries.map((entry) => secondsLeft(schedule, entry))).size, 100);
  schedule.fail(/** @type {any} */ (schedule.get(entries[0])), { ...SHARED, retryAfter: 30 });
  assert.equal(new Set(entries.map((entry) => secondsLeft(schedule, entry))).size, 100);
});

test("times that were drawn stay when the journal is read again", () => {
  const { schedule, set } = setSchedule();
  schedule.update([ONE, TWO], () => 2);
  const due = schedule.get(ONE)?.due;
  set.draw = 0.9;
  schedule.update([ONE], () => 2);
  assert.equal(schedule.get(ONE)?.due, due);
  assert.equal(schedule.get(TWO), undefined);
});

test("a report that waits alone is tried again after a pause that doubles, up to five minutes", () => {
  const { schedule } = setSchedule();
  const report = add(schedule, ONE, 2);
  for (let failures = 0; failures < 10; failures++) {
    schedule.begin(report);
    schedule.fail(report, SHARED);
    assert.equal(secondsLeft(schedule), 0.25 * 2 ** failures);
  }
  for (let failures = 10; failures < 20; failures++) {
    schedule.fail(report, SHARED);
    assert.equal(secondsLeft(schedule), 150);
  }
});

test("a report that waits alone is not tried before the end of the collector's pause, up to a day", () => {
  const { schedule } = setSchedule();
  const report = add(schedule, ONE, 2);
  for (const [retryAfter, pause] of [[30, 30], [7200, 7200], [999_999, DAY], [-5, 0]]) {
    schedule.fail(report, { ...SHARED, retryAfter });
    assert.equal(schedule.failureOf(ONE)?.end, 1000 + pause);
    assert.ok(secondsLeft(schedule) >= pause);
    assert.ok(secondsLeft(schedule) <= pause + 5 * MINUTE);
  }
});

test("a failed collector gives all of its reports independent times, and no other collector's", () => {
  const { schedule } = setSchedule();
  const report = add(schedule, ONE, 2);
  for (const entry of [TWO, THREE]) add(schedule, entry, 2);
  schedule.begin(report);
  schedule.fail(report, { ...SHARED, retryAfter: 30 });
  assert.equal(secondsLeft(schedule, THREE), 1);
  for (const entry of [ONE, TWO]) assertClose(secondsLeft(schedule, entry), MINUTE + HOUR * MEDIAN);
  assert.equal(schedule.failureOf(ONE)?.end, 1030);
});

test("the pause of several reports is a minute, an hour, eight hours or a day", () => {
  const pauses = [
    [1, MINUTE], [60, MINUTE], [61, HOUR], [3601, 8 * HOUR], [28_800, 8 * HOUR], [28_801, DAY], [999_999, DAY],
  ];
  for (const [retryAfter, pause] of pauses) {
    const { schedule } = setSchedule();
    const report = add(schedule, ONE, 2);
    add(schedule, TWO, 2);
    schedule.fail(report, { ...SHARED, retryAfter });
    for (const entry of [ONE, TWO]) assertClose(secondsLeft(schedule, entry), pause + HOUR * MEDIAN);
  }
});

test("a refusal of one report gives no other report a new time", () => {
  const { schedule } = setSchedule();
  const report = add(schedule, ONE, 2);
  add(schedule, TWO, 6);
  schedule.fail(report, { ...OWN, retryAfter: 60 });
  assert.equal(secondsLeft(schedule, TWO), 3);
  assertClose(secondsLeft(schedule, ONE), MINUTE + HOUR * MEDIAN);
});

test("a report that falls due during an attempt draws a new time", () => {
  const { schedule, set } = setSchedule();
  const report = add(schedule, ONE, 2);
  add(schedule, TWO, 2);
  schedule.begin(report);
  set.time += 5;
  schedule.remove(report);
  assert.equal(secondsLeft(schedule, TWO, set.time), 1);
});

test("a report is not due during its attempt", () => {
  const { schedule, set } = setSchedule();
  const report = add(schedule, ONE, 2);
  set.time += 5;
  schedule.begin(report);
  assert.equal(schedule.nextBeforeEnd(), undefined);
  assert.equal(secondsLeft(schedule), Infinity);
  schedule.fail(report, SHARED);
  assert.equal(secondsLeft(schedule, ONE, set.time), 0.25);
});

test("at the end of the page one untried report is sent, and none during or right after another one", () => {
  const { schedule, set } = setSchedule();
  add(schedule, ONE, HOUR);
  add(schedule, TWO, HOUR);
  const report = schedule.nextBeforeEnd();
  assert.ok(report);
  schedule.begin(report);
  set.time += HOUR;
  assert.equal(schedule.nextBeforeEnd(), undefined);
  schedule.remove(report);
  assert.equal(schedule.nextBeforeEnd(), undefined);
  set.time += HOUR;
  assert.ok(schedule.nextBeforeEnd());
});

test("at the end of the page nothing is sent to a collector that has failed", () => {
  const { schedule } = setSchedule();
  const report = add(schedule, ONE, HOUR);
  add(schedule, TWO, HOUR);
  schedule.begin(report);
  schedule.fail(report, SHARED);
  assert.equal(schedule.nextBeforeEnd(), undefined);
});

test("the random numbers of the browser are uniform enough to differ", () => {
  const seconds = Array.from({ length: 100 }, () => {
    const schedule = makeSchedule(() => 0);
    add(schedule, ONE, HOUR);
    return secondsLeft(schedule, ONE, 0);
  });
  assert.equal(new Set(seconds).size, 100);
  assert.ok(seconds.every((each) => each > 0 && each <= HOUR));
});
