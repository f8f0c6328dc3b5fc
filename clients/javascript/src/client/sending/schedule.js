/**
 * Draws the times at which queued reports are sent, so that times do not link the reports of a browser.
 *
 * - A report of this page, or the only one that waits, is first sent at a random time within its `spread`.
 * - A report that waits alone is tried again after a random pause, which grows with every failure.
 * - All other reports wait for independent, exponential times. Such times are memoryless: they depend neither
 *   on another report nor on the last attempt. The mean grows with the number of reports, so a browser with
 *   many reports tries no more often than one with a single report.
 *
 * The schedule has no timers, network or journal of its own.
 */

/** @typedef {import("../journal/table.js").JournalEntry} JournalEntry */
/** @typedef {import("../survey_identity.js").SurveyIdentity} SurveyIdentity */

/**
 * A report that waits.
 *
 * @typedef {object} WaitingReport
 * @property {JournalEntry} entry
 * @property {number} spread
 * @property {boolean} isNew whether this page made it
 * @property {boolean} isTried
 * @property {number} due seconds on the schedule's clock
 */

/**
 * Why a report was not delivered.
 *
 * @typedef {object} Failure
 * @property {JournalEntry["reason"]} [reason]
 * @property {string} [why]
 * @property {boolean} [isShared] whether it concerns all reports for the collector
 * @property {number} [retryAfter] seconds that the collector asks for
 */

const FIRST_BACKOFF_SECONDS = 0.5;
const MAX_BACKOFF_SECONDS = 300;
/** The least mean of the exponential times. */
const MIN_MEAN_SECONDS = 3600;
const MAX_PAUSE_SECONDS = 86_400;
/** The pause of several reports is rounded up to one of these: by exact times, a collector could mark a device. */
const PAUSE_STEPS = [0, 60, 3600, 28_800, MAX_PAUSE_SECONDS];

/** Return the seconds of a monotonic clock. */
export function now() {
  return performance.now() / 1000;
}

/** Draw a number uniformly from [0, 1); sending times are drawn with it, independently of the report. */
export function drawUniform() {
  try {
    return crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;
  } catch {
    return Math.random(); // a report that is made must be sent
  }
}

/**
 * Draw a pause after a number of failures in a row; its limit doubles with every failure.
 *
 * @param {number} failures
 */
export function drawBackoff(failures, uniform = drawUniform) {
  return Math.min(MAX_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2 ** (failures - 1)) * uniform();
}

/** Make the schedule of one journal; it sends one report at a time. `uniform` draws from [0, 1). */
export function makeSchedule(clock = now, uniform = drawUniform) {
  /** @type {Map<string, WaitingReport>} */
  const reports = new Map();
  /**
   * The latest failure of a survey or of a collector; the ends of its pause are seconds on the clock.
   *
   * @type {Map<string, Failure & { count: number, end: number, roundedEnd: number }>}
   */
  const failures = new Map();
  /** The end of the latest attempt; infinite while it lasts. */
  let latest = -Infinity;

  /** @param {SurveyIdentity} entry */
  const failureOf = (entry) => failures.get(keyOf(entry)) ?? failures.get(entry.origin);

  /**
   * Return whether a report is sent for the first time, and no other report could be linked to it.
   *
   * @param {WaitingReport} report
   */
  const isFirst = ({ entry, isNew, isTried }) =>
    !isTried && !failureOf(entry) && (isNew || reports.size === 1);

  /** @param {WaitingReport} report */
  const meanWait = ({ spread }) => Math.max(spread, MIN_MEAN_SECONDS, MAX_BACKOFF_SECONDS * reports.size);

  /**
   * Draw the next time of a report, independently of all others.
   *
   * @param {WaitingReport} report
   */
  function draw(report) {
    const { count = 1, end = 0, roundedEnd = 0 } = failureOf(report.entry) ?? {};
    const isAlone = reports.size === 1;
    const wait = isFirst(report)
      ? report.spread * uniform()
      : isAlone
        ? drawBackoff(count, uniform)
        : -meanWait(report) * Math.log(1 - uniform());
    report.due = Math.max(clock(), isAlone ? end : roundedEnd) + wait;
  }

  /**
   * Record that an attempt has ended. Draw new times for its report, for those of a collector that failed, and
   * for those that fell due meanwhile, because they must not follow it at once.
   *
   * @param {WaitingReport} attempted
   * @param {boolean} [isShared]
   */
  function redraw(attempted, isShared) {
    latest = clock();
    for (const report of reports.values()) {
      const isConcerned = isShared && report.entry.origin === attempted.entry.origin;
      if (report === attempted || report.due <= clock() || isConcerned) draw(report);
    }
  }

  const schedule = {
    failureOf,

    /**
     * Return the report of a survey; undefined if it does not wait.
     *
     * @param {SurveyIdentity} survey
     */
    get: (survey) => reports.get(keyOf(survey)),

    /**
     * Add reports and draw their times; the times of known reports stay.
     *
     * @param {readonly JournalEntry[]} entries
     * @param {(entry: JournalEntry) => number} spreadOf
     */
    add(entries, spreadOf, isNew = false) {
      const added = entries.filter((entry) => !schedule.get(entry)).map((entry) => {
        const report = { entry, spread: spreadOf(entry), isNew, isTried: false, due: 0 };
        reports.set(keyOf(entry), report);
        return report;
      });
      added.forEach(draw);
    },

    /**
     * Replace the reports by the queued ones, as `add` does.
     *
     * @param {readonly JournalEntry[]} queued
     * @param {(entry: JournalEntry) => number} spreadOf
     */
    update(queued, spreadOf) {
      const keys = queued.map(keyOf);
      for (const key of reports.keys()) if (!keys.includes(key)) reports.delete(key);
      schedule.add(queued, spreadOf);
    },

    /** Return the report that is due next; undefined if none waits. */
    next: () => [...reports.values()].sort((one, other) => one.due - other.due)[0],

    /**
     * Return a random one of the reports that may be sent when the page ends, or undefined if no report may.
     *
     * It is untried, its collector has not failed, and no other report was sent within its own window.
     */
    nextBeforeEnd() {
      const ready = [...reports.values()].filter((each) => {
        const window = isFirst(each) ? each.spread : meanWait(each);
        return !each.isTried && !failureOf(each.entry) && clock() - latest >= window;
      });
      return ready[Math.floor(uniform() * ready.length)];
    },

    /**
     * Record that an attempt to send a report begins. The report is not due until the attempt has ended.
     *
     * @param {WaitingReport} report
     */
    begin(report) {
      report.isTried = true;
      report.due = Infinity;
      latest = Infinity;
    },

    /**
     * Record that an attempt has failed; draw the times of the next ones.
     *
     * @param {WaitingReport} report
     * @param {Failure} failure
     */
    fail(report, failure) {
      const { isShared, retryAfter = 0 } = failure;
      const { count = 0 } = failureOf(report.entry) ?? {};
      const pause = retryAfter > 0 ? Math.min(retryAfter, MAX_PAUSE_SECONDS) : 0; // NaN is not above 0
      const rounded = /** @type {number} */ (PAUSE_STEPS.find((step) => step >= pause));
      forget(report);
      failures.set(isShared ? report.entry.origin : keyOf(report.entry), {
        ...failure, count: count + 1, end: clock() + pause, roundedEnd: clock() + rounded,
      });
      redraw(report, isShared);
    },

    /**
     * Remove a report that its collector has accepted or rejected: so the collector works.
     *
     * @param {WaitingReport} report
     */
    remove(report) {
      reports.delete(keyOf(report.entry));
      forget(report);
      redraw(report);
    },
  };

  /** @param {WaitingReport} report */
  function forget({ entry }) {
    failures.delete(keyOf(entry));
    failures.delete(entry.origin);
  }

  return schedule;
}

/** @param {SurveyIdentity} survey */
function keyOf({ survey, origin }) {
  return `${survey} ${origin}`;
}
