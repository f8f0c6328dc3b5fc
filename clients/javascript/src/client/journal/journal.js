/**
 * The journal: consent, one report per survey, and its outcome, stored before anything is sent.
 *
 * The state of an entry changes only like this:
 *
 *     (none) -> ready <-> no_consent       the person agreed to a plan; it is pinned by its digest from then on
 *               ready -> queued            their one report is made, and its epsilon spent
 *                        queued -> sent | duplicate | rejected | expired | withdrawn
 *                                  sent -> withdrawn         while a relay has the report
 *
 * The raw row is never stored. A report is made inside the transaction that records it. So two tabs never both
 * randomise, and a report that was not recorded was never sent. Only a report for a relay is made before, because
 * sealing it takes time: if two tabs make one, the first is recorded, and the other one forgotten.
 */

import { isGreater } from "../../arithmetic.js";
import { BudgetError, JournalError } from "../errors.js";
import { requireConsent, requireDigest } from "./consent.js";
import { parseDecimal } from "../../decimals.js";
import { ended, familyEntries, findAnswered, findEntry, isAnswered, isQueued, surveyEntries } from "./table.js";

/** @typedef {import("../../arithmetic.js").Fraction} Fraction */
/** @typedef {import("../receipt.js").State} State */
/** @typedef {import("../../survey/plan.js").Plan} Plan */
/** @typedef {import("../survey_identity.js").SurveyIdentity} SurveyIdentity */
/** @typedef {import("./indexed_db.js").Store} Store */

/** @typedef {import("./table.js").JournalEntry} JournalEntry */

/** Reports that may wait at once. A waiting report is never deleted to make room: its epsilon is spent. */
export const MAX_QUEUED_REPORTS = 10_000;
export const CLOSED_ONCE = "closed-once";
/** A report is deleted once the collector still says "closed" a day after it first did. */
const CLOSED_MILLISECONDS = 86_400_000;

/**
 * The entries of all surveys of one person, shared by all of their tabs.
 *
 * Every method throws JournalError if the store cannot be used.
 */
export class Journal {
  #store;

  /** @param {Store} store */
  constructor(store) {
    this.#store = store;
    this.name = store.name;
  }

  /**
   * Record that the person agrees to a plan, which is pinned from now on. An answered survey stays unchanged.
   *
   * @param {SurveyIdentity} identity
   * @param {Plan} plan
   * @param {Uint8Array} bytes the plan's bytes
   * @param {string} url
   * @param {Fraction} [maxTotal] as for `commit`
   * @param {(known?: JournalEntry) => Partial<JournalEntry>} [chooseWave] gets the entry so far
   */
  grant(identity, plan, bytes, url, maxTotal, chooseWave) {
    const { family, digest } = plan;
    return this.#update((entries, write, remove) => {
      const known = findEntry(entries, identity);
      requireDigest(digest, known?.digest);
      if (isAnswered(known)) return;
      if (!findAnswered(entries, identity, family)) requireBudget(entries, plan, maxTotal);
      const own = chooseWave?.(known);
      surveyEntries(entries, identity).forEach(remove);
      const signer = identity.signer || known?.signer || "";
      const entry = { ...identity, signer, family, url, digest, epsilon: "0", plan: bytes };
      write({ ...entry, state: "ready", reason: "", ...own });
    });
  }

  /**
   * Record that the person no longer agrees; delete a report of any round of the survey that is queued.
   *
   * @param {SurveyIdentity} identity
   * @param {string} [family] as for `find`
   */
  async withdraw(identity, family = identity.survey) {
    const entry = await this.find(identity, family);
    if (!entry) return; // nothing is stored without consent
    await this.#update((entries, write) => {
      for (const each of surveyEntries(entries, identity)) {
        if (each.state === "ready") write({ ...each, state: "no_consent" });
      }
      for (const each of familyEntries(entries, identity, entry.family)) {
        // a relay's client asks it to delete what it has; no other client can
        if (isQueued(each) || (each.report && each.origin === identity.origin)) write(ended(each, "withdrawn"));
      }
    });
  }

  /**
   * Make and record the one report of a survey, unless its family has a report already.
   *
   * Nothing may be waited for between reading the entry and recording the report: both are one transaction.
   *
   * @param {SurveyIdentity} identity
   * @param {import("../../survey/plan.js").PlanInWave} plan
   * @param {() => Uint8Array} makeReport is called at most once. It must neither wait nor read the row.
   * @param {Fraction} [maxTotal] the epsilon that all reports of this journal may spend in total
   * @returns {Promise<JournalEntry | undefined>} the entry of the report; undefined if the family had been answered
   *   before, or the wave of the plan is not open any more, or not the person's
   */
  commit(identity, plan, makeReport, maxTotal) {
    return this.#update((entries, write) => {
      const agreed = findEntry(entries, identity);
      const isOver = plan.wave && !plan.wave.isDue(agreed);
      if (isOver || isAnswered(agreed) || findAnswered(entries, identity, plan.family)) return undefined;
      requireDigest(plan.digest, agreed?.digest);
      requireConsent(agreed?.state === "ready");
      if (entries.filter(isQueued).length >= MAX_QUEUED_REPORTS) {
        throw new JournalError("too many reports wait: call flush()", "queue-full");
      }
      requireBudget(entries, plan, maxTotal);
      /** @type {JournalEntry} */
      const entry = {
        ...agreed, reason: "", report: makeReport(), relay: plan.relay, epsilon: plan.epsilon, state: "queued",
      };
      write(entry);
      return entry;
    });
  }

  /**
   * Record the outcome of a queued report, and delete its bytes; an earlier outcome stays unchanged.
   *
   * The collector's first `survey-closed` may come from a wrong clock, or from a survey that was closed by
   * mistake. The report then stays queued with the reason "closed-once", and expires if the collector still
   * says so a day later. If the device's clock was set back, the day begins again.
   *
   * @param {SurveyIdentity} identity
   * @param {State} state
   * @param {JournalEntry["reason"]} reason
   * @param {number} now milliseconds since the epoch
   * @returns {Promise<JournalEntry | undefined>} the entry: with its outcome, for example an earlier withdrawal, or
   *   still queued; undefined if it is gone
   */
  recordOutcome(identity, state, reason, now = Date.now()) {
    return this.#update((entries, write) => {
      const entry = entries.find((each) => each.survey === identity.survey && each.origin === identity.origin);
      if (!isQueued(entry)) return entry;
      const first = entry.closedAt ?? Infinity;
      /** @type {JournalEntry} */
      const changed = state === "expired" && now - first < CLOSED_MILLISECONDS
        ? { ...entry, reason: CLOSED_ONCE, closedAt: Math.min(first, now) }
        : ended(entry, state, reason);
      write(changed);
      return changed;
    });
  }

  /**
   * Return the entry of a survey, or the entry of another round of it that was answered. Return undefined if
   * the journal has neither.
   *
   * @param {SurveyIdentity} identity
   * @param {string} [family] of a survey without an entry; by default it is taken for the first round, whose id is the
   *   family of the others
   */
  async find(identity, family = identity.survey) {
    const entries = await this.entries();
    const entry = findEntry(entries, identity);
    return isAnswered(entry) ? entry : findAnswered(entries, identity, entry?.family ?? family) ?? entry;
  }

  /** Return the entries of all surveys. */
  entries() {
    return this.#store.read().catch(unusable);
  }

  /**
   * @template T
   * @param {import("./indexed_db.js").Change<T>} change
   */
  #update(change) {
    /** @type {unknown} */
    let refusal;
    return this.#store
      .update((...step) => {
        try {
          return change(...step);
        } catch (error) {
          if (!(error instanceof DOMException)) refusal = error;
          throw error;
        }
      })
      .catch((error) => unusable(error, refusal));
  }
}

/**
 * Throw the error of a change, or JournalError: the message of the store's own error may contain anything.
 *
 * @param {unknown} error of the store
 * @param {unknown} [refusal] the error of a change
 * @returns {never}
 */
function unusable(error, refusal) {
  const why =
    error instanceof ReferenceError // on a server, indexedDB is not defined
      ? "no browser storage: give a store"
      : `${/** @type {any} */ (error)?.target?.error?.name ?? "no access"}: allow storage or free space`;
  throw refusal ?? new JournalError(`${why}; nothing was spent`, "journal-unavailable");
}

/**
 * @param {readonly JournalEntry[]} entries
 * @param {Plan} plan
 * @param {Fraction} [maxTotal]
 */
function requireBudget(entries, { epsilon }, maxTotal) {
  if (!maxTotal) return;
  const total = [epsilon, ...entries.map((each) => each.epsilon)].map(parseDecimal).reduce(add);
  if (isGreater(total, maxTotal)) {
    throw new BudgetError("the surveys' epsilon is above maxTotalEpsilon", "total-epsilon-spent");
  }
}

/**
 * @param {Fraction} one
 * @param {Fraction} other
 * @returns {Fraction}
 */
function add(one, other) {
  return [one[0] * other[1] + other[0] * one[1], one[1] * other[1]];
}
