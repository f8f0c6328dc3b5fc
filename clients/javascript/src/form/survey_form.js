/**
 * The form of one survey, from the questions to the receipt.
 *
 * It makes no request but the client's, and its events contain no answer.
 */

import { Client } from "../client/client.js";
import { directionOf, findWords } from "./words.js";
import { makeField, problemOf, readAnswer } from "./questions.js";
import { make } from "./dom.js";
import { isForeignFrame, outcomeOf, sentencesOf } from "./outcomes.js";
import {
  describeWave, makeConsent, makeHeader, makeLinks, makePreview, makePromise, makeRules, makeSection, makeStatus,
  placePreview,
} from "./sections.js";

/** @typedef {import("../client/client.js").ClientOptions} ClientOptions */
/** @typedef {import("./questions.js").Entered} Entered */
/** @typedef {import("./questions.js").Field} Field */
/** @typedef {import("./element.js").FormOptions} FormOptions */
/** @typedef {import("./outcomes.js").Outcome} Outcome */
/** @typedef {import("./sections.js").Look} Look */
/** @typedef {import("./words.js").Words} Words */

const CHECK_AGAIN_MS = 1000;
const TRY_AGAIN_MS = 30_000;
const ASKING = ["no_consent", "ready", "invalid", "unavailable"];
const DO_NOT_TRACK = "do-not-track";

export class SurveyForm {
  /** What the page shows. */
  element = make("div");
  #options;
  /** @type {Client | undefined} */
  #client;
  /** @type {import("../survey/plan.js").PlanInWave} */
  #plan = /** @type {any} */ (undefined);
  /** @type {Look} */
  #look = /** @type {any} */ (undefined);
  /** What the person entered, by the name of the question. @type {Map<string, Entered>} */
  #entered = new Map();
  /** @type {Field[]} */
  #fields = [];
  /** @type {Outcome} */
  #outcome = { state: "", reason: "", why: "" };
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** The last of the steps, which run one after the other. @type {Promise<unknown>} */
  #steps = Promise.resolve();
  /** How many steps run or wait. */
  #pending = 0;
  /** The number of the person's last decision, which replaces those that wait. */
  #decision = 0;
  /** The number of the last change of answers or decision, after which a former preview is not shown. */
  #turn = 0;
  /** The languages by preference. @type {readonly string[]} */
  #wanted;
  #isClosed = false;

  /** @param {FormOptions} options */
  constructor(options) {
    this.#options = options;
    this.#wanted = options.wanted;
  }

  /** Show the form, unless it is in a frame of another site, for which browsers keep a journal apart. */
  async start() {
    const { clientOptions: { token }, furtherWords, isRehearsal, level, relay, wanted } = this.#options;
    const found = await findWords(wanted, furtherWords, { relay });
    if (this.#isClosed) return;
    this.#look = { ...found, level, texts: /** @type {any} */ (undefined) };
    this.#fill(make("p", { role: "status", part: "status" }, found.words.loading));
    if (isRehearsal || !isForeignFrame()) return void await this.#load();
    this.#fill(makeStatus(this.#look));
    this.#watch({ state: "no_consent", reason: "framed", why: "" });
    const href = location.href + (token ? `#token=${encodeURIComponent(token)}` : "");
    this.#tell(make("a", { href, target: "_blank", rel: "noopener" }, found.words.framed));
  }

  /** Fetch plan and texts, and show what this person can do. */
  async #load() {
    /** @type {Outcome | undefined} */
    let receipt;
    try {
      const client = this.#client ??= await this.#makeClient();
      if (this.#isClosed) void client.close();
      receipt = await client.status();
      this.#plan = await client.plan();
      receipt = await client.status(); // the plan names the other rounds
      const { clientOptions: { token }, needsCode } = this.#options;
      const isHere = this.#find("button:focus");
      if (needsCode && !token && ASKING.includes(receipt.state)) {
        receipt = { state: "no_consent", reason: "invalid-token", why: "" };
        this.#fill(makeStatus(this.#look));
      } else await this.#translate(this.#wanted);
      if (isHere) this.#find("[part=status]")?.focus();
    } catch (error) {
      // an answer can be withdrawn even if the survey is closed or cannot be reached now
      if (!receipt || (ASKING.includes(receipt.state) && receipt.reason !== DO_NOT_TRACK)) receipt = outcomeOf(error);
      if (!this.#find("#status")) this.#fill(makeStatus(this.#look));
    }
    this.#watch(receipt);
    if (!this.#client || receipt.state !== "unavailable" || this.#isClosed) return;
    const button = make("button", { part: "button", click: this.#tryAgain }, this.#look.words.again);
    if (!this.#find("button")) this.#find("#status")?.after(button);
    this.#timer = setTimeout(this.#tryAgain, TRY_AGAIN_MS);
    addEventListener("online", this.#tryAgain, { once: true });
  }

  #tryAgain = () => this.#run(() => this.#fields.length || this.#load());

  /** Delete the answers, and stop. */
  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#entered.clear();
    this.element.replaceChildren();
    void this.#client?.close();
  }

  async #makeClient() {
    const { clientOptions, isRehearsal, maxLocalEpsilon, relay, src } = this.#options;
    /** @type {ClientOptions} */
    const options = { ...clientOptions, onOutcome: (receipt) => this.#watch(receipt) };
    if (relay !== undefined) options.relay = (await import("../relay.js")).throughRelay(relay, { maxLocalEpsilon });
    return new Client(src.href, isRehearsal ? (await import("../rehearsal.js")).rehearse(options) : options);
  }

  /**
   * Build the form in a language, with what the person has entered.
   *
   * @param {readonly string[]} wanted by preference
   */
  async #translate(wanted) {
    this.#wanted = wanted;
    const texts = await this.#client?.texts(wanted);
    if (!texts) return;
    const { furtherWords, level, src } = this.#options;
    const same = wanted.filter((tag) => `${tag}-`.startsWith(`${texts.language}-`)); // "pt-BR" may have other words
    const spoken = texts.language ? [...same, texts.language] : wanted;
    const found = await findWords(spoken, furtherWords, this.#plan);
    if (this.#isClosed || this.#wanted !== wanted) return; // the person has chosen another language meanwhile
    const look = this.#look = { ...found, level, texts };
    const isAsked = !this.#plan.waves || this.#plan.wave?.isOpen; // answers for a later wave are not collected
    this.#fields = this.#makeFields();
    const form = make(
      "form",
      {
        part: "form", autocomplete: "off", novalidate: true,
        input: () => this.#forgetPreview(),
        change: () => this.#hideUnasked(),
        submit: (/** @type {SubmitEvent} */ event) => {
          event.preventDefault();
          const isAgreed = /** @type {HTMLButtonElement | null} */ (event.submitter)?.value === "agree";
          return isAgreed ? this.#agree() : this.#showPreview();
        },
      },
      makePromise(look, this.#plan, src.origin === location.origin),
      isAsked && makeSection(
        look, "questions", look.words.questions, ...this.#fields.map(({ element }) => element),
        // the first button: Enter in a field shows the preview, and never agrees
        make("button", { part: "button", value: "preview" }, look.words.show),
      ),
      make("div", { id: "preview" }),
      makeConsent(look, this.#plan, isAsked, () => this.#decline()),
    );
    const isHere = /** @type {ShadowRoot} */ (this.element.getRootNode()).activeElement?.matches("[part=language]");
    this.#fill(
      makeHeader(look, (tag) => this.#run(() => this.#translate([tag]))),
      makeStatus(look), form, makeRules(look, this.#plan),
    );
    if (isHere) this.#find("[part=language]")?.focus();
    this.#hideUnasked();
    this.#showBusy(0);
    if (this.#outcome.state) this.#show(this.#outcome);
  }

  /** @param {...HTMLElement} content in the language of the form */
  #fill(...content) {
    const { language } = this.#look;
    this.element.replaceChildren(
      make("div", { part: "survey", lang: language, dir: directionOf(language) }, ...content),
    );
  }

  #makeFields() {
    const { language, texts, words } = this.#look;
    const { label } = this.#plan.rowSchema;
    const asked = texts.deciding.has(label.name) ? [label, ...this.#plan.entries] : [...this.#plan.entries, label];
    return asked.filter(({ name }) => name).map((entry, index) => {
      const entered = this.#entered.get(entry.name) ?? {};
      this.#entered.set(entry.name, entered);
      const own = texts.features.get(entry.name) ?? texts.label;
      return makeField(entry, /** @type {any} */ (own), `question-${index}`, entered, words, language);
    });
  }

  /** Return the names of the questions that do not concern the person, by their answers to others. */
  #findHidden() {
    const answers = [...this.#entered].map(([name, { ticked, value }]) => [name, ticked ?? value]);
    return this.#look.texts.hidden(Object.fromEntries(answers));
  }

  #hideUnasked() {
    const hidden = this.#findHidden();
    for (const { element, entry } of this.#fields) element.hidden = hidden.has(entry.name);
  }

  /** Return the row and the label that the person entered; without one, show what is wrong. */
  #collect() {
    const { words } = this.#look;
    const { label } = this.#plan.rowSchema;
    const hidden = this.#findHidden();
    /** @type {Map<string, unknown>} */
    const answers = new Map();
    const wrong = this.#fields.filter(({ entry, problem }) => {
      const entered = this.#entered.get(entry.name) ?? {};
      const answer = hidden.has(entry.name) ? null : readAnswer(entry, entered);
      answers.set(entry.name, answer);
      problem.hidden = answer !== undefined;
      problem.textContent = answer === undefined ? problemOf(entry, entered, words) : "";
      return answer === undefined;
    });
    if (!wrong.length) {
      const value = answers.get(label.name);
      answers.delete(label.name);
      return { row: Object.fromEntries(answers), label: value };
    }
    this.#tell(make("p", {}, words.problems), makeLinks(wrong));
    this.#find("[part=status]")?.focus();
    return undefined;
  }

  /** Show what a report of the answers would contain. It contains the truth: it never leaves the page. */
  #showPreview() {
    const answers = this.#collect();
    if (!answers) return;
    this.#show(this.#outcome); // in place of former problems
    this.#forgetPreview(true);
    const turn = this.#turn;
    this.#run(async (client) => {
      const { texts, words } = this.#look;
      const shown = await client.preview(answers.row, answers.label, { texts, words });
      if (turn === this.#turn) placePreview(this.element, makePreview(this.#look, shown, this.#plan));
    });
  }

  /** Record the consent, and report once; both are safe to repeat. */
  #agree() {
    const isAnswer = this.#find("[part=questions]");
    const answers = isAnswer ? this.#collect() : { row: {}, label: null }; // now: the person may change them meanwhile
    if (!answers) return;
    this.#decide(async (client, isLast) => {
      const granted = await client.grant();
      if (!isLast()) return;
      if (!isAnswer) await this.#load(); // the wave is drawn
      this.#finish(isAnswer && granted.state === "ready" ? await client.report(answers.row, answers.label) : granted);
    });
  }

  #decline() {
    this.#clear();
    this.#decide(async (client) => {
      this.#finish(await client.withdraw()); // also if they had agreed before
      if (this.#outcome.state === "no_consent") this.#tell(make("p", {}, this.#look.words.declined));
    });
  }

  /** @param {Outcome} outcome of something that the person did */
  #finish(outcome) {
    this.#watch(outcome);
    if (this.#isClosed) return;
    this.#show(this.#outcome); // in place of former problems
    this.#find("[part=status]")?.focus();
  }

  /**
   * Show an outcome, and look again while the report waits: this tab or another one sends it.
   *
   * @param {Outcome} outcome
   */
  #watch(outcome) {
    clearTimeout(this.#timer);
    const client = this.#client;
    const former = this.#outcome;
    if (this.#isClosed) return;
    let { reason, state } = outcome;
    if (former.state === "queued") {
      if (state === "unavailable") state = "queued"; // the storage fails, and may be there again
      if (state === "no_consent" && reason !== DO_NOT_TRACK) reason = "evicted";
    }
    this.#outcome = { ...outcome, state, reason };
    if (state !== former.state || reason !== former.reason) {
      this.#options.tell({ state, reason });
      this.#show(this.#outcome);
    }
    if (!client || !["queued", "waiting"].includes(state) || reason === "rehearsal") return;
    this.#timer = setTimeout(async () => {
      const receipt = await client.status();
      if (state === "waiting" && receipt.state !== state) this.#run(() => this.#load()); // with questions
      else this.#watch(receipt);
    }, state === "queued" ? CHECK_AGAIN_MS : TRY_AGAIN_MS);
  }

  /**
   * Show what state the answer is in, and offer what the person can do.
   *
   * @param {Outcome} outcome
   */
  #show(outcome) {
    const { reason } = outcome;
    const { isRehearsal, relay } = this.#options;
    const state = outcome.state === "sent" && relay ? "held" : outcome.state;
    const { words } = this.#look;
    const status = this.#find("#status");
    if (!status) return; // the survey is loading
    const form = this.#find("form");
    const mayAnswer = ASKING.includes(state) && reason !== DO_NOT_TRACK;
    if (form) form.hidden = !mayAnswer;
    if (!mayAnswer) this.#clear();
    const sentences = isRehearsal && state === "queued" ? [] : sentencesOf({ ...outcome, state }, words);
    if (state === "waiting" && this.#plan) sentences.unshift(describeWave(this.#look, this.#plan));
    if (isRehearsal) sentences.push(words.rehearsal);
    const text = sentences.join(" ");
    if (status.textContent !== text) this.#tell(make("p", {}, text)); // else it is read out again
    const button = this.#find("[part~=withdraw]");
    if (!["ready", "waiting", "queued", "held"].includes(state)) return button?.remove();
    if (button) return;
    const withdraw = () => this.#decide(async (client) => this.#finish(await client.withdraw()));
    status.after(make("button", { part: "button withdraw", click: withdraw }, words.withdraw));
  }

  /** Delete the answers, and those that wait to be reported. */
  forget() {
    this.#decision++;
    this.#clear();
  }

  /** Delete the answers from the page. */
  #clear() {
    this.#entered.clear();
    if (!this.#find("form")) return;
    const fields = this.#makeFields();
    this.#fields.forEach(({ element }, index) => element.replaceWith(fields[index].element));
    this.#fields = fields;
    this.#hideUnasked();
    this.#forgetPreview();
  }

  /** @param {boolean} [isBusy] whether another preview follows, and takes its place now */
  #forgetPreview(isBusy) {
    this.#turn++;
    this.#find("#preview")?.replaceWith(make("div", { id: "preview", "aria-busy": isBusy }));
  }

  /**
   * Run a step that the person decided on, unless they decide anew before it begins.
   *
   * @param {(client: Client, isLast: () => boolean) => unknown} step
   */
  #decide(step) {
    const number = ++this.#decision;
    this.#turn++;
    const isLast = () => number === this.#decision;
    this.#run((client) => isLast() && step(client, isLast));
  }

  /**
   * Run a step after those before it; an error becomes a sentence.
   *
   * @param {(client: Client) => unknown} step
   */
  #run(step) {
    this.#showBusy(1);
    this.#steps = this.#steps
      .then(() => this.#client && !this.#isClosed && step(this.#client))
      .catch((error) => this.#finish(outcomeOf(error)))
      .then(() => this.#showBusy(-1));
  }

  /** @param {number} more steps that run or wait */
  #showBusy(more) {
    this.#pending += more;
    const marked = this.element.querySelectorAll("button, [aria-busy]");
    for (const each of marked) each.setAttribute("aria-busy", String(this.#pending > 0));
  }

  /** @param {...Node} content of the status */
  #tell(...content) {
    this.#find("#status")?.replaceChildren(...content);
  }

  /** @param {string} selector @returns {HTMLElement | null} */
  #find(selector) {
    return this.element.querySelector(selector);
  }
}
