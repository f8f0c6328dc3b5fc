/**
 * Sends the queued reports of a journal, including those of earlier visits.
 *
 * All clients of a page that share a journal share one sender. Of several tabs, a Web Lock elects the one that
 * sends. Without Web Locks every tab may send: the collector counts equal bytes once.
 */

import { concernsCollector, explainFailure, isSurveyClosed, parseOutcome } from "../collector_response.js";
import { isQueued } from "../journal/table.js";
import { isOptedOut, OPT_OUT_REASON, OPT_OUT_WHY } from "../opt_out.js";
import { Receipt } from "../receipt.js";
import { backoffLimit, drawUniform, limitRetryAfter } from "../retry_after.js";
import { hasSamePublisher } from "../survey_identity.js";
import { now, SendingSchedule } from "./sending_times.js";
import { sleep } from "./sleep.js";

/** @typedef {import("../journal/table.js").JournalEntry} JournalEntry */
/** @typedef {import("../survey_identity.js").SurveyIdentity} SurveyIdentity */
/** @typedef {import("./sending_times.js").ScheduledReport} ScheduledReport */

/**
 * What a sender needs of a client.
 *
 * @typedef {object} SenderClient
 * @property {SurveyIdentity} identity
 * @property {number} spread
 * @property {boolean} isClosed
 * @property {import("../policy.js").ClientPolicy} policy
 * @property {import("../transport.js").Send} send
 * @property {(receipt: Receipt) => void} handleOutcome
 */

const ATTEMPT_SECONDS = 10;
const JOURNAL_RETRY_SECONDS = 30;
const MAX_TIMER_SECONDS = 2 ** 31 / 1000 - 1;

/** Sends the reports of one journal, each to the collector that it was made for. */
export class Sender {
  #journal;
  #schedule = new SendingSchedule();
  /** Why the latest attempt failed, by survey or by collector. @type {Map<string, { reason: string, why: string }>} */
  #failures = new Map();
  /** @type {SenderClient[]} */
  #clients = [];
  /** The last attempt: attempts are made one after the other. */
  #attempt = Promise.resolve();
  /** Number of the current candidacy of this tab. A run with another number ends. */
  #candidacy = 0;
  #isCandidate = false;
  #isStale = true;
  #wake = () => {};

  /** @param {import("../journal/journal.js").Journal} journal */
  constructor(journal) {
    this.#journal = journal;
    const end = () => void this.#sendBeforeEnd();
    globalThis.document?.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && end());
    globalThis.addEventListener?.("pagehide", end);
  }

  /**
   * Send what the journal holds.
   *
   * @param {SenderClient} client
   * @param {JournalEntry} [made] the report that the client has just made
   */
  start(client, made) {
    const isObsolete = (/** @type {SenderClient} */ { identity, isClosed }) =>
      isClosed && keyOf(identity) === keyOf(client.identity);
    const others = this.#clients.filter((each) => each !== client && !isObsolete(each));
    this.#clients = [...others, client];
    if (made) this.#schedule.add(made, client.spread);
    this.refresh();
    // the tab in which a person has just answered sends: other tabs may be asleep
    if (made || !this.#isCandidate) this.#elect(Boolean(made));
  }

  /** Read the journal again: it was changed. */
  refresh() {
    this.#isStale = true;
    this.#wake();
  }

  /** End a client; the last one first tries to send one report that was never tried. */
  async close() {
    if (this.#clients.every(({ isClosed }) => isClosed)) {
      const attempt = this.#sendBeforeEnd();
      this.#candidacy++;
      this.#isCandidate = false;
      this.#wake();
      await attempt;
    }
  }

  /**
   * Return why a report still waits; undefined if nothing failed.
   *
   * @param {JournalEntry} entry
   */
  explainWait(entry) {
    if (isOptedOut()) return { reason: OPT_OUT_REASON, why: OPT_OUT_WHY };
    return this.#failures.get(keyOf(entry)) ?? this.#failures.get(entry.origin);
  }

  /**
   * Try to send a report now, and wait until the collector has answered.
   *
   * The attempt waits for the end of a pause that the collector asked for. If that is beyond `seconds`, this
   * method returns at once.
   *
   * @param {JournalEntry} entry
   * @param {number} seconds
   */
  async flush(entry, seconds) {
    const end = now() + seconds;
    const left = () => Math.max(0, end - now());
    if (!this.#schedule.get(entry)) this.#schedule.add(entry, 0);
    for (let failures = 0; ; failures++) {
      const report = this.#schedule.get(entry);
      if (!report || isOptedOut() || this.#schedule.pauseEnd(report) > end) return;
      await sleep(this.#schedule.pauseEnd(report) - now());
      await Promise.race([this.#send(report), sleep(left())]);
      if (!this.#schedule.get(entry) || !left()) return;
      await sleep(Math.min(left(), backoffLimit(failures) * drawUniform()));
    }
  }

  /**
   * Ask to be the tab that sends.
   *
   * @param {boolean} isUrgent whether to replace the present tab
   */
  #elect(isUrgent) {
    const locks = globalThis.navigator?.locks;
    if (this.#isCandidate && !locks) return;
    this.#isCandidate = true;
    const candidacy = ++this.#candidacy;
    const run = () => this.#run(candidacy);
    this.#wake();
    const elected = locks ? locks.request(this.#journal.name, { steal: isUrgent }, run) : run();
    elected.catch((/** @type {Error} */ error) => {
      if (candidacy !== this.#candidacy) return;
      this.#isCandidate = false;
      // another tab has replaced this one: take over when it ends. Or there are no locks in this page.
      if (error.name === "AbortError") this.#elect(false);
      else this.#run(++this.#candidacy).catch(() => {});
    });
  }

  /**
   * Send what is due, until nothing waits or this tab is replaced.
   *
   * @param {number} candidacy
   */
  async #run(candidacy) {
    const channel = globalThis.BroadcastChannel && new BroadcastChannel(this.#journal.name);
    if (channel) {
      channel.onmessage = () => this.refresh();
      /** @type {any} */ (channel).unref?.();
    }
    while (candidacy === this.#candidacy && !isOptedOut()) {
      if (this.#isStale) {
        await this.#read();
        continue;
      }
      const next = this.#schedule.next();
      if (!next) break;
      if (next.seconds > 0) await this.#sleepUntilWoken(next.seconds);
      else await this.#send(next.report);
    }
    channel?.close();
    if (candidacy === this.#candidacy) this.#isCandidate = false;
  }

  async #read() {
    this.#isStale = false;
    try {
      const queued = await this.#journal.queued();
      if (this.#isStale) return; // it was changed meanwhile
      const accepted = queued.filter((entry) => this.#accepting(entry) !== null);
      this.#schedule.update(accepted, (entry) => this.#clientsOf(entry)[0]?.spread ?? 0);
    } catch {
      await this.#sleepUntilWoken(JOURNAL_RETRY_SECONDS);
      this.#isStale = true;
    }
  }

  /** @param {JournalEntry} entry */
  #clientsOf(entry) {
    return this.#clients.filter(
      ({ identity }) => identity.survey === entry.survey && hasSamePublisher(identity, entry),
    );
  }

  /**
   * Return a client that accepts the plan of a queued report, an open one if possible; undefined if the survey
   * has no client, null if all of them refuse.
   *
   * @param {JournalEntry} entry
   */
  #accepting(entry) {
    const clients = this.#clientsOf(entry);
    const accepting = clients.filter((each) => each.policy.accepts(entry));
    return clients.length ? (accepting.find((each) => !each.isClosed) ?? accepting[0] ?? null) : undefined;
  }

  /** @param {number} seconds */
  #sleepUntilWoken(seconds) {
    return Promise.race([
      sleep(Math.min(seconds, MAX_TIMER_SECONDS), true),
      new Promise((resolve) => (this.#wake = () => resolve(undefined))),
    ]);
  }

  /** Send one report that the schedule allows, without waiting: the page may end at once. */
  async #sendBeforeEnd() {
    const report = this.#schedule.nextBeforeEnd();
    if (report && !isOptedOut()) await this.#post(report, report.entry).catch(() => this.#fail(report));
  }

  /**
   * Attempt to send a report if it is still queued, after other attempts.
   *
   * @param {ScheduledReport} report
   */
  #send(report) {
    this.#attempt = this.#attempt.then(async () => {
      try {
        const queued = await this.#journal.queued();
        const entry = queued.find((each) => keyOf(each) === keyOf(report.entry));
        if (entry) await this.#post(report, entry);
        else this.#schedule.remove(report, false);
      } catch {
        this.#fail(report);
      }
      this.#wake();
    });
    return this.#attempt;
  }

  /**
   * Draw the time of the next attempt after the journal could not be used; it sends the same bytes.
   *
   * @param {ScheduledReport} report
   */
  #fail(report) {
    this.#schedule.reportFailed(report, 0);
  }

  /**
   * Post a report; record its outcome, or draw the time of the next attempt.
   *
   * @param {ScheduledReport} report
   * @param {JournalEntry} entry
   */
  async #post(report, entry) {
    const client = this.#accepting(entry);
    if (client === null || !isQueued(entry)) return this.#schedule.remove(report, false);
    this.#schedule.beginAttempt(report);
    const { send } = client ?? this.#clients[this.#clients.length - 1];
    /** @type {import("../transport.js").Response | undefined} */
    let response;
    try {
      const url = `${entry.url}/reports`;
      response = await send({ method: "POST", url, body: entry.report, timeout: ATTEMPT_SECONDS });
    } catch {
      // there is no response; the error may be of the application's own function
    }
    this.#failures.delete(keyOf(entry));
    this.#failures.delete(entry.origin);
    const outcome = response && parseOutcome(response);
    if (outcome && (await this.#journal.recordOutcome(entry, outcome.state, outcome.reason))) {
      this.#schedule.remove(report, true);
      if (client && !client.isClosed) client.handleOutcome(new Receipt(outcome.state, entry.survey, outcome));
      return;
    }
    const pause = limitRetryAfter(response?.retryAfter);
    if (isSurveyClosed(response)) {
      this.#schedule.surveyClosed(report);
    } else if (concernsCollector(response)) {
      this.#failures.set(entry.origin, explainFailure(response));
      this.#schedule.collectorFailed(report, pause);
    } else {
      this.#failures.set(keyOf(entry), explainFailure(response));
      this.#schedule.reportFailed(report, pause);
    }
  }
}

/** @param {SurveyIdentity} survey */
function keyOf({ survey, origin }) {
  return `${survey} ${origin}`;
}
