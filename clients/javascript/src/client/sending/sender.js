/**
 * Sends the queued reports of a journal, including those of earlier visits.
 *
 * All clients of a page that share a journal share one sender. Of several tabs, a Web Lock elects the one that
 * sends. A tab in which a person answers or withdraws takes the lock from the others, which may be asleep, and
 * reads the journal. Without Web Locks every tab may send: the collector counts equal bytes once. The tab that
 * gets the collector's answer passes the outcome on to the others.
 */

import { isAnswered, isQueued } from "../journal/table.js";
import { exchange } from "../collector_response.js";
import { isOptedOut } from "../opt_out.js";
import { Receipt, receiptOfError } from "../receipt.js";
import { hasSamePublisher } from "../survey_identity.js";
import { drawBackoff, drawUniform, makeSchedule, now } from "./schedule.js";

/** @typedef {import("../journal/table.js").JournalEntry} JournalEntry */
/** @typedef {import("../survey_identity.js").SurveyIdentity} SurveyIdentity */
/** @typedef {import("./schedule.js").WaitingReport} WaitingReport */
/** @typedef {ReturnType<typeof makeSender>} Sender */

/**
 * What a sender needs of a client.
 *
 * @typedef {object} SenderClient
 * @property {SurveyIdentity} identity
 * @property {number} spread
 * @property {boolean} isClosed
 * @property {import("../policy.js").ClientPolicy} policy
 * @property {import("../transport.js").Send} send
 * @property {(receipt: Receipt) => unknown} handleOutcome
 */

const JOURNAL_RETRY_SECONDS = 30;
const MAX_TIMER_SECONDS = 86_400;
/** The shortest and the longest pause after a collector said that the survey is closed. */
const CLOSED_MIN_SECONDS = 3600;
const CLOSED_MAX_SECONDS = 21_600;

/** @type {Map<string, Sender>} */
const senders = new Map();

/**
 * Return the sender of a journal, the same for every client of this page.
 *
 * @param {import("../journal/journal.js").Journal} journal
 */
export function getSender(journal) {
  const sender = senders.get(journal.name) ?? makeSender(journal);
  senders.set(journal.name, sender);
  return sender;
}

/**
 * Make the sender of a journal. It sends each report to the collector or relay that it was made for.
 *
 * @param {import("../journal/journal.js").Journal} journal
 */
function makeSender(journal) {
  const schedule = makeSchedule();
  /**
   * The open clients, and the one that was closed last of a survey without an open one: its policy still
   * applies. The client that made a report is before the others.
   *
   * @type {SenderClient[]}
   */
  let clients = [];
  /** The last attempt: attempts are made one after the other. @type {Promise<unknown>} */
  let attempt = Promise.resolve();
  /** The number of the present run. A run with another number ends. */
  let present = 0;
  /** The number of the run that was elected, and has read the journal. */
  let elected = 0;
  let wake = () => {};
  /** Connects the tabs of this journal. @type {BroadcastChannel | undefined} */
  let channel;

  try {
    addEventListener("pagehide", sendBeforeEnd);
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) sendBeforeEnd();
    });
    channel = new BroadcastChannel(journal.name);
    channel.onmessage = ({ data }) => handleOutcome(data);
  } catch {
    // this is a server, or the browser forbids storage
  }

  /** @param {SurveyIdentity} survey */
  const isOf = (survey) => (/** @type {SenderClient} */ { identity }) =>
    identity.survey === survey.survey && hasSamePublisher(identity, survey);

  /** @param {JournalEntry} entry */
  const clientOf = (entry) => clients.filter(isOf(entry)).find(({ policy }) => policy.accepts(entry));

  /**
   * Read the reports that wait, except those that all clients of their survey refuse.
   *
   * @returns {Promise<boolean>} whether the journal could be read
   */
  async function read() {
    try {
      const queued = (await journal.entries()).filter(isQueued);
      const accepted = queued.filter((entry) => clientOf(entry) ?? !clients.some(isOf(entry)));
      schedule.update(accepted, (entry) => (clientOf(entry) ?? clients[0]).spread);
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Ask to be the tab that sends.
   *
   * @param {boolean} isUrgent whether to replace the present tab
   */
  async function elect(isUrgent) {
    const number = ++present;
    wake(); // ends the former run
    const start = () => run(number).catch(() => {}); // without timers, a later call or visit sends
    try {
      await navigator.locks.request(journal.name, { steal: isUrgent }, start);
    } catch (error) {
      if (number !== present) return;
      // another tab has replaced this one: take over when it ends. Or there are no locks in this page.
      if (/** @type {any} */ (error)?.name === "AbortError") elect(false);
      else start();
    }
  }

  /**
   * Send what is due, until nothing waits or this tab is replaced.
   *
   * @param {number} number
   */
  async function run(number) {
    while (!isOptedOut()) {
      const isRead = await read();
      const next = schedule.next();
      if (number !== present || (isRead && !next)) return;
      elected = number;
      const seconds = isRead && next ? next.due - now() : JOURNAL_RETRY_SECONDS;
      if (next && seconds <= 0) await send(next.entry);
      else await sleepUntilWoken(seconds);
    }
  }

  /** @param {number} seconds */
  function sleepUntilWoken(seconds) {
    return new Promise((resolve) => {
      wake = () => resolve(undefined);
      const timer = /** @type {any} */ (setTimeout(resolve, Math.min(seconds, MAX_TIMER_SECONDS) * 1000));
      timer.unref?.(); // Node may end the process meanwhile
    });
  }

  /** Send one report that the schedule allows, without waiting: the page may end at once. */
  async function sendBeforeEnd() {
    const report = elected === present && !isOptedOut() && schedule.nextBeforeEnd();
    if (!report) return;
    const done = post(report);
    attempt = Promise.all([attempt, done]); // the page may go on
    await done;
  }

  /**
   * Attempt to send a report if it is still queued, after other attempts; return whether it still waits.
   *
   * @param {SurveyIdentity} survey
   */
  function send(survey) {
    return (attempt = attempt.then(async () => {
      const isRead = await read();
      const report = schedule.get(survey);
      if (isRead && report && !isOptedOut()) await post(report);
      wake();
      return Boolean(schedule.get(survey));
    }));
  }

  /**
   * Post a report; record its outcome, or draw the time of the next attempt.
   *
   * @param {WaitingReport} report
   */
  async function post(report) {
    const { entry } = report;
    schedule.begin(report);
    try {
      const { policy, send } = clientOf(entry) ?? clients[0];
      const url = `${entry.url}/${entry.relay ? entry.digest + (entry.relay.path ?? "") : "reports"}`;
      const answer = await exchange(send, url, entry.report, entry.relay && "relay");
      const { reason, state } = Object.assign(answer, policy.relay?.interpret(answer));
      if (!state) return schedule.fail(report, answer);
      const outcome = await journal.recordOutcome(entry, state, reason).catch(() => entry);
      if (isQueued(outcome)) {
        // the survey was closed for the first time, or the journal could not be written
        const retryAfter = CLOSED_MIN_SECONDS + (CLOSED_MAX_SECONDS - CLOSED_MIN_SECONDS) * drawUniform();
        return schedule.fail(report, { retryAfter });
      }
      schedule.remove(report);
      if (isAnswered(outcome)) { // and not a new journal
        handleOutcome(outcome);
        channel?.postMessage(outcome);
      }
    } catch (error) {
      // the application's functions may return anything: the next attempt sends the same bytes
      if (schedule.get(entry)) schedule.fail(report, receiptOfError(error, entry.survey));
    }
  }

  /** Pass the outcome of a report to the client of its survey. @param {JournalEntry} entry */
  function handleOutcome(entry) {
    const client = clientOf(entry);
    if (client?.isClosed) return;
    void client?.handleOutcome(
      new Receipt(entry.state, entry.survey, { reason: entry.reason, why: client.policy.relay?.explain(entry) ?? "" }),
    );
  }

  return {
    /**
     * Send what the journal holds.
     *
     * @param {SenderClient} client
     * @param {JournalEntry} [made] the report that the client has just made
     */
    start(client, made) {
      if (made || !clients.includes(client)) {
        const isSame = isOf(client.identity);
        clients = clients.filter((each) => each !== client && !(each.isClosed && isSame(each)));
        clients[made ? "unshift" : "push"](client);
      }
      elect(Boolean(made));
      if (!made) return;
      schedule.add([made], () => client.spread, true);
      elected = present; // if the page ends now, it sends the report
    },

    /** Read the journal again, which was changed in this tab; the other tabs leave the sending to it. */
    refresh() {
      elect(true);
      return attempt;
    },

    /** Returns why a report still waits; undefined if nothing failed. */
    failureOf: schedule.failureOf,

    /**
     * Try to send a report now, and wait until the collector has answered.
     *
     * Attempts wait for the end of a pause that the collector asked for. This method returns as soon as the next
     * attempt would begin after `seconds`.
     *
     * @param {JournalEntry} entry
     * @param {number} seconds
     */
    async flush(entry, seconds) {
      let start = now();
      const end = start + Math.min(seconds, MAX_TIMER_SECONDS);
      for (let failures = 1; !isOptedOut(); failures++) {
        start = Math.max(start, schedule.failureOf(entry)?.end ?? 0);
        if (start > end) return;
        await sleep(start - now());
        const waits = await new Promise((resolve) => {
          const timer = setTimeout(resolve, (end - now()) * 1000);
          send(entry).then(resolve).then(() => clearTimeout(timer)); // Node would wait for it
        });
        if (!waits) return;
        start = now() + drawBackoff(failures);
      }
    },

    /**
     * End a client; the last one first tries to send one report that was never tried.
     *
     * @param {SenderClient} client
     */
    async close(client) {
      clients = clients.filter((each) => each !== client);
      if (!clients.some(isOf(client.identity))) clients.push(client);
      if (!clients.every(({ isClosed }) => isClosed)) return;
      const last = sendBeforeEnd();
      present++;
      wake();
      await last;
    },
  };
}

/** @param {number} seconds */
function sleep(seconds) {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
