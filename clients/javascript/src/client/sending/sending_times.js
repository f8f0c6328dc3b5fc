/**
 * Draws the times at which queued reports are sent, so that times do not link the reports of a browser.
 *
 * The schedule has no timers, network or journal of its own: clock and random source are arguments.
 *
 * - A report of this page, or the only one that waits, is first sent at a random time within its `spread`.
 * - A report that waits alone for its collector is tried again after a random pause that grows with every
 *   failure.
 * - All other reports wait for independent, exponential times. Such times are memoryless: they depend neither
 *   on another report nor on the last attempt.
 *
 * The mean grows with the number of reports that wait for the same collector, so a browser with many reports
 * tries no more often than one with a single report.
 */

import { backoffLimit, drawUniform, MAX_BACKOFF_SECONDS, roundUpRetryAfter } from "../retry_after.js";

/** @typedef {import("../journal/table.js").JournalEntry} JournalEntry */
/** @typedef {import("../survey_identity.js").SurveyIdentity} SurveyIdentity */

/** The minimum of the mean time that a report waits where several wait for one collector. */
const MIN_MEAN_WAIT_SECONDS = 3600;
/** The shortest and the longest pause after a collector said that the survey is closed. */
const [CLOSED_MIN_SECONDS, CLOSED_MAX_SECONDS] = [3600, 21_600];

/**
 * A report that waits. Times are seconds on the schedule's clock.
 *
 * @typedef {object} ScheduledReport
 * @property {JournalEntry} entry
 * @property {number} spread
 * @property {boolean} isNew whether this page made it
 * @property {boolean} isTried
 * @property {number} failures attempts that failed for reasons of this report
 * @property {number} due
 * @property {number} pauseEnd end of the pause that the collector asked for, for this report
 */

/**
 * @typedef {object} CollectorState
 * @property {number} failures
 * @property {number} pauseEnd end of the pause that the collector asked for
 * @property {number} roundedPauseEnd the same, with the pause rounded up to a common step
 */

/** Return the seconds of a monotonic clock. */
export function now() {
  return performance.now() / 1000;
}

/** Draws when each report of one journal is sent, one report at a time. */
export class SendingSchedule {
  #clock;
  #uniform;
  /** @type {Map<string, ScheduledReport>} */
  #reports = new Map();
  /** @type {Map<string, CollectorState>} By origin. */
  #collectors = new Map();
  /** The report and the time of the latest attempt. */
  #latest = { key: "", time: -Infinity };

  /** @param {{ clock?: () => number, uniform?: () => number }} [options] `uniform` draws from [0, 1) */
  constructor({ clock = now, uniform = drawUniform } = {}) {
    this.#clock = clock;
    this.#uniform = uniform;
  }

  /**
   * Return the report of a survey; undefined if it does not wait.
   *
   * @param {SurveyIdentity} survey
   */
  get(survey) {
    return this.#reports.get(keyOf(survey));
  }

  /**
   * Replace the reports by the queued ones; draw a time for each new report, and keep all other times.
   *
   * @param {readonly JournalEntry[]} queued
   * @param {(entry: JournalEntry) => number} spreadOf
   */
  update(queued, spreadOf) {
    const former = this.#reports;
    this.#reports = new Map();
    for (const entry of queued) {
      const known = former.get(keyOf(entry));
      const report = known ? Object.assign(known, { entry }) : scheduled(entry, spreadOf(entry), false);
      this.#reports.set(keyOf(entry), report);
    }
    this.#draw([...this.#reports].filter(([key]) => !former.has(key)).map(([, report]) => report));
  }

  /**
   * Add a report that this page has just made.
   *
   * @param {JournalEntry} entry
   * @param {number} spread
   */
  add(entry, spread) {
    const report = scheduled(entry, spread, true);
    this.#reports.set(keyOf(entry), report);
    this.#draw([report]);
  }

  /** Return the report that is due next, and the seconds until then; undefined if no report waits. */
  next() {
    const time = this.#clock();
    const reports = [...this.#reports.values()];
    const due = reports.filter((each) => each.due <= time);
    if (due.length) return { report: this.#choose(due), seconds: 0 };
    const [report] = reports.sort((one, other) => one.due - other.due);
    return report && { report, seconds: report.due - time };
  }

  /**
   * Return a random report that may be sent when the page ends; undefined if there is none.
   *
   * The report is due, or untried at a collector that has not failed. An untried report must not follow the
   * attempt of another one within its own window.
   */
  nextBeforeEnd() {
    const time = this.#clock();
    const ready = [...this.#reports.values()].filter((each) => {
      const sinceLatest = this.#latest.key === keyOf(each.entry) ? Infinity : time - this.#latest.time;
      const window = this.#isFirst(each) ? each.spread : this.#meanWait(each);
      return each.due <= time || (!each.isTried && !this.#failuresOf(each) && sinceLatest >= window);
    });
    return ready.length ? this.#choose(ready) : undefined;
  }

  /**
   * Return the end of the pause that the collector asked for.
   *
   * @param {ScheduledReport} report
   */
  pauseEnd({ entry, pauseEnd }) {
    return Math.max(pauseEnd, this.#collectors.get(entry.origin)?.pauseEnd ?? 0);
  }

  /**
   * Record that an attempt to send a report begins. The report is not due until the attempt has ended.
   *
   * @param {ScheduledReport} report
   */
  beginAttempt(report) {
    report.isTried = true;
    report.due = Infinity;
    this.#latest = { key: keyOf(report.entry), time: this.#clock() };
  }

  /**
   * Draw new times for all reports of a collector that did not respond, or cannot serve any.
   *
   * @param {ScheduledReport} failed
   * @param {number} pause seconds that the collector asked for
   */
  collectorFailed(failed, pause) {
    const { origin } = failed.entry;
    const time = this.#clock();
    const failures = this.#failuresOf(failed);
    const roundedPauseEnd = time + roundUpRetryAfter(pause);
    this.#collectors.set(origin, { failures: failures + 1, pauseEnd: time + pause, roundedPauseEnd });
    this.#drawRetry(failed, failures, pause);
    const others = [...this.#reports.values()].filter((each) => each.entry.origin === origin && each !== failed);
    this.#draw(others);
    this.#redrawOverdue();
  }

  /**
   * Draw a new time for one report whose response says nothing about other reports.
   *
   * @param {ScheduledReport} report
   * @param {number} pause seconds that the collector asked for
   */
  reportFailed(report, pause) {
    this.#collectors.delete(report.entry.origin);
    report.isTried = true; // also if the journal could not be read, so that it is not read again at once
    report.pauseEnd = this.#clock() + pause;
    this.#drawRetry(report, report.failures++, pause);
    this.#redrawOverdue();
  }

  /**
   * Draw the time of the next attempt after the collector said that the survey is closed.
   *
   * @param {ScheduledReport} report
   */
  surveyClosed(report) {
    this.#collectors.delete(report.entry.origin);
    const pause = CLOSED_MIN_SECONDS + (CLOSED_MAX_SECONDS - CLOSED_MIN_SECONDS) * this.#uniform();
    report.due = report.pauseEnd = this.#clock() + pause;
    this.#redrawOverdue();
  }

  /**
   * Remove a report that needs no further attempt.
   *
   * @param {ScheduledReport} report
   * @param {boolean} hasOutcome whether its collector has accepted or rejected it, and so works
   */
  remove({ entry }, hasOutcome) {
    if (hasOutcome) this.#collectors.delete(entry.origin);
    this.#reports.delete(keyOf(entry));
    this.#redrawOverdue();
  }

  /** @param {ScheduledReport} report */
  #failuresOf({ entry }) {
    return this.#collectors.get(entry.origin)?.failures ?? 0;
  }

  /**
   * Return how many reports wait for the collector of a report.
   *
   * @param {ScheduledReport} report
   */
  #count({ entry }) {
    return [...this.#reports.values()].filter((each) => each.entry.origin === entry.origin).length;
  }

  /** @param {ScheduledReport} report */
  #meanWait(report) {
    const count = this.#count(report);
    return Math.max(report.spread, count * MAX_BACKOFF_SECONDS, count > 1 ? MIN_MEAN_WAIT_SECONDS : 0);
  }

  /**
   * Return whether the first time of a report is within its spread: no other report could be linked to it.
   *
   * @param {ScheduledReport} report
   */
  #isFirst(report) {
    return !report.isTried && !this.#failuresOf(report) && (report.isNew || this.#reports.size === 1);
  }

  /** Draw new times for reports that fell due during an attempt: they must not follow it at once. */
  #redrawOverdue() {
    const time = this.#clock();
    this.#draw([...this.#reports.values()].filter((each) => each.due <= time));
  }

  /**
   * Draw the next time of a report that failed: after a backoff if it waits alone.
   *
   * @param {ScheduledReport} report
   * @param {number} failures
   * @param {number} pause
   */
  #drawRetry(report, failures, pause) {
    const limit = backoffLimit(failures);
    if (this.#count(report) === 1 && limit < MAX_BACKOFF_SECONDS) {
      report.due = this.#clock() + Math.max(pause, limit * this.#uniform());
    } else {
      this.#draw([report]);
    }
  }

  /**
   * Draw a time for each report, independently of all others.
   *
   * @param {readonly ScheduledReport[]} reports
   */
  #draw(reports) {
    const time = this.#clock();
    for (const report of reports) {
      if (this.#isFirst(report)) {
        report.due = time + report.spread * this.#uniform();
      } else {
        const pauseEnd = this.#collectors.get(report.entry.origin)?.roundedPauseEnd ?? 0;
        const wait = -this.#meanWait(report) * Math.log(1 - this.#uniform());
        report.due = Math.max(time, pauseEnd, report.pauseEnd) + wait;
      }
    }
  }

  /** @param {readonly ScheduledReport[]} reports */
  #choose(reports) {
    return reports[Math.floor(this.#uniform() * reports.length)];
  }
}

/** @param {SurveyIdentity} survey */
function keyOf({ survey, origin }) {
  return `${survey} ${origin}`;
}

/**
 * @param {JournalEntry} entry
 * @param {number} spread
 * @param {boolean} isNew
 * @returns {ScheduledReport}
 */
function scheduled(entry, spread, isNew) {
  return { entry, spread, isNew, isTried: false, failures: 0, due: 0, pauseEnd: 0 };
}
