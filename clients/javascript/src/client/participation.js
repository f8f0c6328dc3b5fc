/** The checks before a client reports: opt-out, consent, the plan, the policy, the invitation. */

import { requirePermission } from "./opt_out.js";
import { TransportError } from "./errors.js";
import { readPlan } from "../survey/plan.js";
import { clippedNames } from "../survey/clipped.js";
import { SurveyError } from "../errors.js";
import { requireConsent, requireDigest } from "./journal/consent.js";
import { randomiseCoded } from "../survey/randomise.js";
import { CLOSED_ONCE } from "./journal/journal.js";
import { isAnswered } from "./journal/table.js";
import { fetchPlan } from "./plan_source.js";
import { readInvitation } from "../survey/invitation.js";
import { Receipt, receiptOfError } from "./receipt.js";

/** @typedef {import("./journal/table.js").JournalEntry} JournalEntry */
/** @typedef {import("../survey/plan.js").Plan} Plan */
/** @typedef {import("../survey/plan.js").PlanInWave} PlanInWave */

/**
 * @typedef {object} ParticipationOptions
 * @property {import("./survey_identity.js").SurveyIdentity} identity
 * @property {string} url the survey's URL at its collector
 * @property {Uint8Array} [source] the plan's bytes, if the application ships them
 * @property {string | null} [token] the invitation
 * @property {import("./policy.js").ClientPolicy} policy
 * @property {import("./journal/journal.js").Journal} journal
 * @property {import("./transport.js").Send} send
 * @property {import("../randomness.js").RandomSource} random
 * @property {(bytes: Uint8Array) => Uint8Array} sha256
 */

/**
 * Return the steps of one person's participation in one survey, as their journal records it.
 *
 * @param {ParticipationOptions} options
 */
export function makeParticipation({ identity, journal, policy, random, send, sha256, source, token, url }) {
  /** @type {{ plan: Plan, bytes: Uint8Array, waves?: typeof import("../waves.js") } | undefined} */
  let loaded;
  /** Why the last `grant` failed. */
  let failure = "";
  const { relay } = policy;
  const readToken = relay?.readToken ?? readInvitation;

  /** Return the survey's entry, or the entry of another round that was answered. */
  const find = () => journal.find(identity, loaded?.plan.family);

  /** @param {{ survey: string }} entry */
  const isOtherRound = ({ survey }) => survey !== identity.survey;

  /**
   * Return whether the entry's plan has the signature that the application requires.
   *
   * @param {JournalEntry} entry
   */
  const isSigned = ({ signer }) => !policy.publicKey || policy.publicKey === signer;

  /**
   * Return the plan, checked on first use: given by the application, stored, or fetched.
   *
   * @param {JournalEntry | undefined} found
   */
  async function load(found) {
    if (loaded) return loaded;
    const entry = found && isOtherRound(found) ? undefined : found;
    let given = source ?? (entry && isSigned(entry) ? entry.plan : undefined);
    if (!given) {
      requirePermission();
      given = await fetchPlan(send, url, policy.publicKey, sha256, relay && "relay");
    }
    const bytes = new Uint8Array(given); // a store writes the whole buffer of a view
    const plan = readPlan(bytes, { sha256, check: relay?.checkEntry ?? refuseRelay });
    const waves = plan.waves === undefined ? undefined : await import("../waves.js");
    waves?.checkWaves(plan, true);
    if (plan.id !== identity.survey) throw new SurveyError("of another survey: check the URL");
    requireDigest(plan.digest, entry?.digest);
    policy.check(plan);
    await relay?.prepare(plan);
    return (loaded = { plan, bytes, waves });
  }

  /**
   * Return the receipt for a journal entry: the survey's status, or that of a repeated answer.
   *
   * @param {JournalEntry | undefined} entry
   * @param {boolean} [isRepeat]
   */
  async function status(entry, isRepeat) {
    if (!isAnswered(entry)) requirePermission();
    if (!entry || entry.state === "no_consent") {
      return new Receipt("no_consent", identity.survey, { reason: "no-consent", why: failure });
    }
    const { reason, state, survey } = entry;
    if (state === "ready") {
      const waiting = entry.wave !== undefined && (await import("../waves.js")).describeWait(entry);
      return waiting || new Receipt(state, survey);
    }
    if (state === "queued" && !isOtherRound(entry)) policy.check(entry);
    if (state !== "withdrawn" && (isRepeat || isOtherRound(entry))) {
      const why = "the survey or another round was answered";
      return new Receipt("already_reported", survey, { reason, why });
    }
    const why = reason === CLOSED_ONCE
      ? "the survey is closed; if it is so a day later, the report is deleted"
      : relay?.explain(entry) ?? "";
    return new Receipt(state, survey, { reason, why });
  }

  return {
    find,
    status,
    withdraw: () => journal.withdraw(identity, loaded?.plan.family),

    /** Return the plan, in the wave of the person if it is known. @returns {Promise<PlanInWave>} */
    async plan() {
      const entry = await find();
      const { plan, waves } = await load(entry);
      return waves?.inOwnWave(plan, entry, token) ?? plan;
    },

    /** Record that the person agrees to the plan, unless the survey is answered already. */
    async grant() {
      try {
        requirePermission();
        const entry = await find();
        if (isAnswered(entry) && !isOtherRound(entry)) return;
        const { plan, bytes, waves } = await load(entry);
        // consent without a valid invitation would be useless
        const chooseWave = waves?.makeChoice(plan, token, random, readToken) ?? void readToken(plan, token);
        await journal.grant(identity, plan, bytes, url, policy.maxTotalEpsilon, chooseWave);
        failure = "";
      } catch (error) {
        failure = `grant() failed: ${receiptOfError(error, "")}`;
        throw error;
      }
    },

    /**
     * Randomise one answer and write it to the journal, unless the survey is answered already.
     *
     * @param {Readonly<Record<string, unknown>>} row
     * @param {unknown} label
     * @returns {Promise<{ receipt: Receipt, made: JournalEntry } | undefined>} with the entry of the report; undefined
     *   if the survey is answered already, or the person's wave is not open
     */
    async report(row, label) {
      requirePermission();
      const entry = await find();
      if (isAnswered(entry)) return undefined;
      requireConsent(entry?.state === "ready" && entry.url === url && isSigned(entry), failure);
      const { plan: read, waves } = await load(entry);
      if (waves?.describeWait(entry)) return undefined;
      /** @type {PlanInWave} */
      const plan = waves?.inOwnWave(read, entry, token) ?? read;
      // all that hashes, or reads the row, is done before the journal's transaction
      const invited = readToken(plan, token);
      const coded = plan.encode(row, label);
      const clipped = clippedNames(plan, row);
      /** @type {import("./policy.js").Draw} */
      const draw = (chosen = invited) => randomiseCoded(plan, coded, random, chosen).report;
      // sealing waits, which a transaction must not; if another tab is faster, this report is forgotten
      const sealed = await relay?.seal(plan, draw, token);
      const makeReport = () => sealed ?? draw();
      const made = await journal.commit(identity, plan, makeReport, policy.maxTotalEpsilon);
      const receipt = new Receipt("queued", plan.id, { epsilon: Number(plan.epsilon), clipped });
      return made && { receipt, made }; // if not, another tab was faster
    },
  };
}

/** Refuse a plan with a relay: sent directly, its reports would reveal too much. @param {Plan} plan */
function refuseRelay({ relay }) {
  if (relay !== undefined) throw new TransportError("the survey needs the option relay", "relay-unsupported");
}
