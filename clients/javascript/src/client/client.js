/** The client that a page embeds: it randomises one answer, stores it in a journal, sends it once. */

import { openIndexedDb } from "./journal/indexed_db.js";
import { Journal } from "./journal/journal.js";
import { isQueued } from "./journal/table.js";
import { Receipt, receiptOfError, typeName } from "./receipt.js";
import { makeParticipation } from "./participation.js";
import { checkSurveyUrl } from "./plan_source.js";
import { isOptedOut, OPT_OUT } from "./opt_out.js";
import { ClientPolicy } from "./policy.js";
import { systemRandom } from "../randomness.js";
import { getSender } from "./sending/sender.js";
import { sha256 as ownSha256 } from "../sha256.js";
import { hasForm } from "../text_form.js";
import { sendByFetch } from "./transport.js";
import { ClosedError, requireOption } from "./errors.js";

/** @typedef {Readonly<Record<string, unknown>>} Row */

/**
 * Options of a client. `person` must be given, because people who share a journal share consent and answers.
 *
 * @typedef {object} ClientOptions
 * @property {string | null} person who answers: an id of 1 to 64 ASCII letters, digits, "-" and "_", which must
 *   stay the same and is never sent. null is everybody who uses this browser without an account.
 * @property {string} [url] the survey's URL at its collector or relay, if `survey` is the plan's bytes
 * @property {string | null} [digest] the only plan to accept, by its published digest
 * @property {string | null} [publicKey] accept only a plan that its author signed with this key; not for a plan's bytes
 * @property {string | null} [token] the invitation, if the survey needs one; with a relay, its code, if it gives any
 * @property {import("./policy.js").ConnectToRelay} [relay] `throughRelay(...)` of the entry `ldp-bayes/relay`, for a
 *   survey with a relay
 * @property {number} [maxEpsilon] a plan with a greater epsilon is refused; by default 2
 * @property {number | null} [maxTotalEpsilon] the epsilon that all surveys of the journal may spend in total
 * @property {(receipt: Receipt) => unknown} [onOutcome] called with the receipt of `report`, and with that of
 *   the outcome in the journal, which another tab may have received
 * @property {number} [spread] a report is first sent at a random time within these seconds; by default 2
 * @property {boolean} [strict] throw errors in place of returning them as receipts
 * @property {import("../randomness.js").RandomSource} [random] synchronous source of random bytes
 * @property {(bytes: Uint8Array) => Uint8Array} [sha256] another implementation
 * @property {import("./journal/indexed_db.js").Store} [store] the place of the journal, by default IndexedDB
 * @property {import("./transport.js").Send} [send] sends requests, by default with `fetch`
 */

/**
 * Answers one survey for one person in this browser.
 *
 * Nothing is drawn or sent before `grant` has recorded that the person agrees. From then on the survey's plan
 * is pinned, and `report` needs no network. The report is sent in the background, if necessary at the next visit.
 *
 * `grant`, `report`, `status`, `withdraw` and `flush` return a receipt; docs/embedding.md lists the states.
 */
export class Client {
  #participation;
  /** What previews and texts need. */
  #options;
  /** What the sender knows of this client. @type {import("./sending/sender.js").SenderClient} */
  #sending;
  #sender;
  #strict;

  /**
   * Throws an LdpError if the application made a mistake, or the page is no secure context.
   *
   * @param {string | Uint8Array} survey the survey's URL, or its plan's bytes together with the option `url`
   * @param {ClientOptions} options
   */
  constructor(survey, options) {
    const {
      digest, maxEpsilon, maxTotalEpsilon, onOutcome = () => {}, person, publicKey, random = systemRandom, relay,
      send = sendByFetch, sha256 = ownSha256, spread = 2, store, strict, token, url, ...unknown
    } = options ?? {};
    requireOption(globalThis.isSecureContext !== false, "use https", "insecure-context");
    requireOption(
      person === null || hasForm(person, /^[A-Za-z0-9_-]{1,64}$/),
      "person must match [A-Za-z0-9_-]{1,64}, or be null",
      "bad-person",
    );
    requireOption(
      [onOutcome, random, relay ?? send, send, sha256].every((each) => typeof each === "function"),
      "onOutcome, random, relay, send, sha256 must be functions",
    );
    const [name] = Object.keys(unknown);
    requireOption(!name, `no option ${name}`); // a misspelt limit would not limit
    requireOption(spread >= 0 && spread < Infinity, "spread must be 0 or more");
    requireOption(typeof (token ?? "") === "string", "token must be a text");
    const source = survey instanceof Uint8Array ? survey : undefined;
    const { url: address, ...named } = checkSurveyUrl(url ?? survey);
    const place = store ?? openIndexedDb(`ldp-bayes${person === null ? "" : ` ${person}`}`);
    const policy = new ClientPolicy(options, relay?.(address, source ?? digest ?? publicKey, send, place));
    requireOption(!source || !policy.publicKey, "publicKey needs a URL, not bytes");
    const identity = { ...named, signer: policy.publicKey };
    /** @param {Receipt} receipt whose `clipped` is for the caller of `report` */
    const handleOutcome = async (receipt) => {
      try {
        await onOutcome(new Receipt(receipt.state, receipt.survey, { ...receipt, clipped: [] }));
      } catch (error) {
        console.error(`onOutcome failed: ${typeName(error)}`); // its text may contain anything
      }
    };
    /** The survey's id. */
    this.survey = named.survey;
    this.#sending = { identity, policy, send, spread, isClosed: false, handleOutcome };
    this.#strict = strict;
    this.#options = { random, send, token: relay ? null : token, url: address }; // a report contains no code
    const journal = new Journal(place);
    this.#sender = getSender(journal);
    this.#participation = makeParticipation({
      identity, journal, policy, random, send, sha256, source, token, url: address,
    });
    this.#sender.start(this.#sending); // an earlier visit may have left something to send
  }

  /** Return the plan, checked on first use; `wave` is the person's. Throws as `grant` does, even without `strict`. */
  plan() {
    return this.#participation.plan();
  }

  /**
   * Record that the person agrees to answer this survey with its present plan.
   *
   * Call it only when the person agrees: a call at every visit would undo a withdrawal.
   */
  grant() {
    return this.#receipt(async () => {
      this.#requireOpen();
      await this.#participation.grant();
      return this.#status();
    });
  }

  /**
   * Record that the person no longer agrees; delete a queued report of any round of the survey.
   *
   * Only the plan names the family of the rounds: call `plan` first if the person never agreed to this one.
   * With a relay, it is asked to delete the report, and the receipt says what it answered.
   */
  withdraw() {
    return this.#receipt(async () => {
      const answer = await (this.#sending.policy.relay ?? this.#participation).withdraw(
        this.#participation, this.#sender,
      );
      this.#sender.refresh();
      return answer ? new Receipt("withdrawn", this.survey, answer) : this.#status();
    });
  }

  /** Return the status of the survey in this journal; needs no network. */
  status() {
    return this.#receipt(() => this.#status());
  }

  /**
   * Randomise one answer, write it to the journal, and start sending it.
   *
   * A second call for the same survey draws nothing and returns `already_reported`.
   *
   * @param {Row} row every feature by name as its own property: null for a missing value, a list of the ticked choices
   *   for a feature with several answers
   * @param {unknown} [label] undefined for a survey without a label
   */
  async report(row, label) {
    /** @type {import("./journal/table.js").JournalEntry | undefined} */
    let made;
    const receipt = await this.#receipt(async () => {
      // the page may change the row and its lists meanwhile
      const copyOf = (/** @type {[string, any]} */ [key, value]) => [key, Array.isArray(value) ? [...value] : value];
      const copy = Object(row) === row ? Object.fromEntries(Object.entries(row).map(copyOf)) : row;
      this.#requireOpen();
      const result = await this.#participation.report(copy, label);
      if (!result) return this.#status(true); // answered already
      made = result.made;
      return result.receipt;
    });
    return this.#receipt(() => {
      void this.#sending.handleOutcome(receipt); // before the collector's answer
      if (made || receipt.state === "already_reported") this.#sender.start(this.#sending, made);
      return receipt;
    }, receipt);
  }

  /**
   * Return what `report` would do with a row, by the same steps; nothing is sent, spent or stored.
   *
   * It contains the true answer: show it only to the person. Throws if the row or the token does not fit.
   *
   * @param {Row} row
   * @param {unknown} [label]
   * @param {import("../preview.js").PreviewOptions} [options] for example the texts of a language
   */
  async preview(row, label, options) {
    const { preview } = await import("../preview.js");
    return preview(await this.plan(), row, label, { ...this.#options, ...options });
  }

  /**
   * Return the texts that the person reads when they are asked; they are fetched on first use.
   *
   * They are plain text: never display them as HTML or Markdown. Throws PlanError if the collector does not send the
   * texts of the plan, and as `plan` does.
   *
   * @param {string | readonly string[]} [wanted] a language tag, for example "de" or "pt-BR", or several: the first one
   *   counts that the survey has; by default its first language
   */
  async texts(wanted = "") {
    const { loadTexts } = await import("../texts.js");
    return loadTexts(await this.plan(), wanted, this.#options);
  }

  /**
   * Try to send the queued report now, and wait for the collector's answer.
   *
   * @param {number} [timeout] largest number of seconds to wait; sending continues in the background
   */
  flush(timeout = 10) {
    return this.#receipt(async () => {
      const entry = await this.#participation.find();
      if (isQueued(entry) && !this.#sending.isClosed) {
        this.#sender.start(this.#sending);
        await this.#sender.flush(entry, timeout);
      }
      const reason = this.#sending.isClosed ? "client-closed" : "no-answer-yet";
      return this.#status(false, { reason, why: "the report waits" });
    });
  }

  /** Close the client. The last one of a journal in this page first tries to send one report. */
  async close() {
    if (this.#sending.isClosed) return;
    this.#sending.isClosed = true;
    await this.#sender.close(this.#sending);
  }

  /**
   * @param {boolean} [isRepeat] whether the person answers again
   * @param {import("./receipt.js").ReceiptFields} [otherwise] why a queued report waits, if nothing failed
   */
  async #status(isRepeat, otherwise) {
    const entry = await this.#participation.find();
    const receipt = await this.#participation.status(entry, isRepeat);
    if (!isQueued(entry)) return receipt;
    const causes = [isOptedOut() ? OPT_OUT : this.#sender.failureOf(entry), receipt, otherwise];
    const { reason, why } = causes.find((each) => each?.reason) ?? receipt;
    return new Receipt(receipt.state, receipt.survey, { reason, why });
  }

  /**
   * Return the receipt of a call; an error becomes a receipt, unless the client is strict.
   *
   * @param {() => Receipt | Promise<Receipt>} call
   * @param {Receipt} [known] what is in the journal, whatever fails
   */
  async #receipt(call, known) {
    try {
      return await call();
    } catch (error) {
      if (this.#strict) throw error;
      const failed = receiptOfError(error, this.survey);
      const { reason, why } = failed;
      return known ? new Receipt(known.state, known.survey, { ...known, reason, why }) : failed;
    }
  }

  #requireOpen() {
    if (this.#sending.isClosed) throw new ClosedError("the client is closed", "client-closed");
  }
}
