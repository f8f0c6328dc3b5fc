/** The schedule draws times that do not link the reports of a browser; the rules are those of docs/embedding.md. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { SendingSchedule } from "../../src/client/sending/sending_times.js";

const MINUTE = 60;
const HOUR = 3600;

/**
 * Return a schedule with a clock and draws that the test sets.
 *
 * @param {number} [draw]
 */
function makeSchedule(draw = 0.5) {
  const set = { time: 1000, draw };
  return { set, schedule: new SendingSchedule({ clock: () => set.time, uniform: () => set.draw }) };
}

/**
 * @param {string} survey
 * @param {string} [origin]
 * @returns {any}
 */
function entryOf(survey, origin = "https://a.example:443") {
  return { survey, origin };
}

/** @param {SendingSchedule} schedule */
function secondsLeft(schedule) {
  return schedule.next()?.seconds;
}

const [ONE, TWO, THREE] = [entryOf("one"), entryOf("two"), entryOf("three", "https://b.example:443")];
const MEDIAN = -Math.log(0.5);

test("a report of this page is sent within its spread", () => {
  const { schedule } = makeSchedule();
  schedule.add(ONE, 2);
  assert.equal(secondsLeft(schedule), 1);
});

test("the only report of an earlier visit is sent within the spread", () => {
  const { schedule } = makeSchedule();
  schedule.update([ONE], () => 4);
  assert.equal(secondsLeft(schedule), 2);
});

test("several reports of earlier visits wait for exponential times with the documented means", () => {
  const { schedule } = makeSchedule();
  schedule.update([ONE, TWO, THREE], () => 2);
  assert.equal(schedule.next()?.report.entry, THREE);
  assert.ok(Math.abs(Number(secondsLeft(schedule)) - 5 * MINUTE * MEDIAN) < 1e-9);
  assert.ok(Math.abs(Number(schedule.get(ONE)?.due) - 1000 - HOUR * MEDIAN) < 1e-9);
  const many = makeSchedule().schedule;
  many.update(Array.from({ length: 20 }, (_, number) => entryOf(`survey-${number}`)), () => 2);
  assert.ok(Math.abs(Number(secondsLeft(many)) - 20 * 5 * MINUTE * MEDIAN) < 1e-6);
  const slow = makeSchedule().schedule;
  slow.update([ONE, TWO], () => 24 * HOUR);
  assert.ok(Math.abs(Number(secondsLeft(slow)) - 24 * HOUR * MEDIAN) < 1e-6);
});

test("times that were drawn stay when the journal is read again", () => {
  const { schedule, set } = makeSchedule();
  schedule.update([ONE, TWO], () => 2);
  const due = schedule.get(ONE)?.due;
  set.draw = 0.9;
  schedule.update([ONE], () => 2);
  assert.equal(schedule.get(ONE)?.due, due);
  assert.equal(schedule.get(TWO), undefined);
});

test("a report that waits alone is tried again after a pause that doubles, then after exponential times", () => {
  const { schedule } = makeSchedule();
  schedule.add(ONE, 2);
  const report = /** @type {any} */ (schedule.get(ONE));
  for (let failures = 0; failures < 10; failures++) {
    schedule.beginAttempt(report);
    schedule.collectorFailed(report, 0);
    assert.equal(secondsLeft(schedule), 0.25 * 2 ** failures);
  }
  schedule.collectorFailed(report, 0);
  assert.ok(Math.abs(Number(secondsLeft(schedule)) - 5 * MINUTE * MEDIAN) < 1e-9);
});

test("a failed collector gives all of its reports independent times, and no other collector's", () => {
  const { schedule } = makeSchedule();
  for (const entry of [ONE, TWO, THREE]) schedule.add(entry, 2);
  const report = /** @type {any} */ (schedule.get(ONE));
  schedule.beginAttempt(report);
  schedule.collectorFailed(report, 30);
  assert.equal(schedule.get(THREE)?.due, 1001);
  for (const entry of [ONE, TWO]) assert.equal(schedule.get(entry)?.due, 1000 + MINUTE + HOUR * MEDIAN);
  assert.equal(schedule.pauseEnd(report), 1030);
});

test("a refusal of one report gives no other report a new time", () => {
  const { schedule } = makeSchedule();
  schedule.add(ONE, 2);
  schedule.add(TWO, 6);
  const report = /** @type {any} */ (schedule.get(ONE));
  schedule.reportFailed(report, 120);
  assert.equal(schedule.get(TWO)?.due, 1003);
  assert.equal(report.due, 1120 + HOUR * MEDIAN);
});

test("a report that falls due during an attempt draws a new time", () => {
  const { schedule, set } = makeSchedule();
  schedule.add(ONE, 2);
  schedule.add(TWO, 2);
  const report = /** @type {any} */ (schedule.get(ONE));
  schedule.beginAttempt(report);
  set.time += 5;
  schedule.remove(report, true);
  assert.equal(secondsLeft(schedule), 1);
});

test("a report is not due during its attempt", () => {
  const { schedule, set } = makeSchedule();
  schedule.add(ONE, 2);
  const report = /** @type {any} */ (schedule.get(ONE));
  set.time += 5;
  schedule.beginAttempt(report);
  assert.equal(schedule.nextBeforeEnd(), undefined);
  assert.equal(secondsLeft(schedule), Infinity);
  schedule.collectorFailed(report, 0);
  assert.equal(secondsLeft(schedule), 0.25);
});

test("a closed survey is asked again after one to six hours", () => {
  for (const [draw, hours] of [[0, 1], [0.5, 3.5], [0.999999, 6]]) {
    const { schedule } = makeSchedule(draw);
    schedule.add(ONE, 2);
    schedule.surveyClosed(/** @type {any} */ (schedule.get(ONE)));
    assert.ok(Math.abs(Number(secondsLeft(schedule)) - hours * HOUR) < 1);
  }
});

test("at the end of the page one untried report is sent, and none after another one", () => {
  const { schedule, set } = makeSchedule();
  schedule.add(ONE, HOUR);
  schedule.add(TWO, HOUR);
  const report = schedule.nextBeforeEnd();
  assert.ok(report);
  schedule.beginAttempt(report);
  assert.equal(schedule.nextBeforeEnd(), undefined);
  set.time += HOUR;
  assert.ok(schedule.nextBeforeEnd());
});

test("at the end of the page nothing is sent to a collector that has failed", () => {
  const { schedule } = makeSchedule();
  schedule.add(ONE, HOUR);
  schedule.add(TWO, HOUR);
  const report = /** @type {any} */ (schedule.get(ONE));
  schedule.beginAttempt(report);
  schedule.collectorFailed(report, 0);
  assert.equal(schedule.nextBeforeEnd(), undefined);
});

test("the random numbers of the browser are uniform enough to differ", () => {
  const schedules = Array.from({ length: 100 }, () => new SendingSchedule());
  const seconds = schedules.map((schedule) => {
    schedule.add(ONE, HOUR);
    return Number(secondsLeft(schedule));
  });
  assert.equal(new Set(seconds).size, 100);
  assert.ok(seconds.every((each) => each > 0 && each <= HOUR));
});
