/**
 * `<ldp-survey src="https://host/v1/surveys/ID">`: the form of one survey, from the questions to the receipt.
 *
 * The element makes no request but the client's, and its events contain no answer.
 */

import { Client } from "../client/client.js";
import { make } from "./dom.js";
import { makeField, problemOf, readAnswer } from "./questions.js";
import { makeConsent, makeHeader, makePreview, makePromise, makeRules, makeSection } from "./sections.js";
import { STYLE } from "./style.js";
import { directionOf, findWords } from "./words.js";

/** @typedef {import("../client/receipt.js").Receipt} Receipt */
/** @typedef {import("../errors.js").LdpError} LdpError */
/** @typedef {import("../survey/plan.js").Plan} Plan */
/** @typedef {import("./questions.js").Entered} Entered */
/** @typedef {import("./questions.js").Field} Field */
/** @typedef {import("./sections.js").Look} Look */
/** @typedef {{ state: string, reason: string, why: string }} Outcome */

const CHECK_AGAIN_MS = 1000;
const ASKING = ["no_consent", "ready", "invalid", "unavailable"];
const Base = /** @type {typeof HTMLElement} */ (globalThis.HTMLElement ?? class {}); // a server has no elements

/**
 * Attributes: `src`, the survey's URL; `lang`, the language to begin with; `digest`, `public-key`, `max-epsilon` and
 * `person`, the client's options; `level`, that of the first heading; `rehearsal`, to send and keep nothing. They are
 * read when the element is put into the page.
 *
 * A child `<script type="application/json">` may contain the words of further languages, by language.
 *
 * The event `ldp-outcome` has a `detail` with `state` and `reason`, the words of docs/embedding.md.
 */
export class LdpSurvey extends Base {
  #root;
  #token = "";
  /** @type {Client | undefined} */
  #client;
  /** @type {Plan} */
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

  constructor() {
    super();
    const sheet = new CSSStyleSheet(); // a strict content security policy allows it
    sheet.replaceSync(STYLE);
    this.#root = this.attachShadow({ mode: "open" });
    this.#root.adoptedStyleSheets = [sheet];
  }

  connectedCallback() {
    const fragment = new URLSearchParams(location.hash.slice(1));
    if (fragment.has("token")) {
      this.#token = fragment.get("token") ?? "";
      history.replaceState(null, "", location.pathname + location.search); // out of the address bar and the history
    }
    void this.#start();
  }

  disconnectedCallback() {
    clearTimeout(this.#timer);
    void this.#client?.close();
    this.#client = undefined;
  }

  /** Fetch plan and texts, and show what this person can do. */
  async #start() {
    const wanted = [this.getAttribute("lang"), ...navigator.languages].filter((tag) => tag !== null);
    const { language, words } = findWords(wanted[0] ?? "", this.#furtherWords());
    const look = { role: "status", part: "status", lang: language, dir: directionOf(language) };
    const status = make("p", look, words.loading);
    this.#root.replaceChildren(status);
    /** @type {Outcome | undefined} */
    let receipt;
    try {
      const client = this.#client = await this.#makeClient();
      receipt = await client.status();
      this.#plan = await client.plan();
      this.#outcome = receipt;
      await this.#translate(wanted);
      this.#watch(receipt);
    } catch (error) {
      // what was answered stays so, even if the survey is closed or cannot be reached now
      const outcome = receipt && !ASKING.includes(receipt.state) ? receipt : outcomeOf(error);
      status.textContent = sentencesOf(outcome, words).join(" ");
      this.#tell(outcome);
    }
  }

  get #src() {
    return new URL(this.getAttribute("src") ?? "", document.baseURI);
  }

  async #makeClient() {
    /** @param {string} name */
    const given = (name) => this.getAttribute(name) ?? undefined;
    const limit = given("max-epsilon");
    const options = {
      person: given("person") ?? null,
      digest: given("digest"),
      publicKey: given("public-key"),
      token: this.#token || undefined,
      ...(limit === undefined ? {} : { maxEpsilon: Number(limit) }),
      onOutcome: (/** @type {Receipt} */ receipt) => this.#watch(receipt),
    };
    const src = this.#src.href;
    if (!this.hasAttribute("rehearsal")) return new Client(src, options);
    const { rehearse } = await import("../rehearsal.js");
    return new Client(src, rehearse(options));
  }

  /** Words of further languages, from the page. */
  #furtherWords() {
    return JSON.parse(this.querySelector('script[type="application/json"]')?.textContent ?? "{}");
  }

  /**
   * Build the form in a language, with what the person has entered.
   *
   * @param {readonly string[]} wanted by preference
   */
  async #translate(wanted) {
    const client = this.#client;
    const texts = await client?.texts(wanted);
    if (!texts || client !== this.#client) return; // the element was removed meanwhile
    const { language, words } = findWords(texts.language || wanted[0], this.#furtherWords());
    const look = this.#look = { words, language, texts, level: Number(this.getAttribute("level") ?? 1) };
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
          void this.#run(() => (isAgreed ? this.#agree() : this.#showPreview()));
        },
      },
      makePromise(look, this.#plan, this.#src.origin === location.origin),
      makeSection(
        look, "questions", words.questions, ...this.#fields.map(({ element }) => element),
        // the first button: Enter in a field shows the preview, and never agrees
        make("button", { part: "button", value: "preview" }, words.show),
      ),
      make("div", { id: "preview" }),
      makeConsent(look, () => this.#run(() => this.#decline())),
    );
    const content = make(
      "div",
      { part: "survey", lang: language, dir: directionOf(language) },
      makeHeader(look, (tag) => this.#translate([tag])),
      makeSection(look, "status", words.result, make("div", { id: "status", role: "status" })),
      form,
      makeRules(look, this.#plan),
    );
    const isHere = this.#root.activeElement?.matches("[part=language]");
    this.#root.replaceChildren(content);
    if (isHere) this.#find("[part=language]").focus();
    this.#hideUnasked();
    this.#show(this.#outcome);
  }

  #makeFields() {
    const { language, texts, words } = this.#look;
    const { label } = this.#plan.rowSchema;
    const named = [...texts.features.values()].some(({ askIf }) => askIf?.feature === label.name);
    const asked = named ? [label, ...this.#plan.entries] : [...this.#plan.entries, label];
    return asked.filter(({ name }) => name).map((entry, index) => {
      const entered = this.#entered.get(entry.name) ?? {};
      this.#entered.set(entry.name, entered);
      const own = texts.features.get(entry.name) ?? texts.label;
      return makeField(entry, /** @type {any} */ (own), `question-${index}`, entered, words, language);
    });
  }

  /**
   * Return whether a question concerns the person, by their answers to others.
   *
   * @param {string} name
   * @returns {boolean}
   */
  #isAsked(name) {
    const condition = this.#look.texts.features.get(name)?.askIf;
    if (!condition) return true;
    const { ticked, value } = this.#entered.get(condition.feature) ?? {};
    return this.#isAsked(condition.feature) && (ticked?.includes(condition.value) ?? value === condition.value);
  }

  #hideUnasked() {
    for (const { element, entry } of this.#fields) element.hidden = !this.#isAsked(entry.name);
  }

  /** Return the row and the label that the person entered; without one, show what is wrong. */
  #collect() {
    const { words } = this.#look;
    const { label } = this.#plan.rowSchema;
    /** @type {Map<string, unknown>} */
    const answers = new Map();
    const wrong = this.#fields.filter(({ entry, problem }) => {
      const entered = this.#entered.get(entry.name) ?? {};
      const answer = this.#isAsked(entry.name) ? readAnswer(entry, entered) : null;
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
    const links = wrong.map(({ element, texts }) => {
      const go = (/** @type {Event} */ event) => {
        event.preventDefault();
        element.focus();
      };
      return make("li", {}, make("a", { href: `#${element.id}`, click: go }, texts.title));
    });
    this.#find("#status").replaceChildren(make("p", {}, words.problems), make("ul", {}, ...links));
    this.#find("[part=status]").focus();
    return undefined;
  }

  /** Show what a report of the answers would contain. It contains the truth: it never leaves the page. */
  async #showPreview() {
    const answers = this.#collect();
    if (!answers || !this.#client) return;
    this.#show(this.#outcome); // in place of former problems
    const { texts, words } = this.#look;
    const shown = await this.#client.preview(answers.row, answers.label, { texts, words });
    const section = makePreview(this.#look, shown);
    this.#find("#preview").replaceChildren(section);
    section.focus();
  }

  /** Record the consent, and report once; both are safe to repeat. */
  async #agree() {
    const answers = this.#collect();
    if (!answers || !this.#client) return;
    const granted = await this.#client.grant();
    this.#finish(granted.state === "ready" ? await this.#client.report(answers.row, answers.label) : granted);
  }

  async #decline() {
    this.#forget();
    if (this.#client) this.#finish(await this.#client.withdraw()); // also if they had agreed before
    if (this.#outcome.state === "no_consent") this.#find("#status p").textContent = this.#look.words.declined;
  }

  /** @param {Outcome} outcome of something that the person did */
  #finish(outcome) {
    this.#watch(outcome);
    this.#find("[part=status]").focus();
  }

  /**
   * Show an outcome, and look again while the report waits: this tab or another one sends it.
   *
   * @param {Outcome} outcome
   */
  #watch(outcome) {
    clearTimeout(this.#timer);
    const client = this.#client;
    if (!client || !this.#look) return;
    if (outcome.state !== this.#outcome.state || outcome.reason !== this.#outcome.reason) this.#tell(outcome);
    this.#show(outcome);
    if (outcome.state !== "queued" || outcome.reason === "rehearsal") return;
    this.#timer = setTimeout(async () => this.#watch(await client.status()), CHECK_AGAIN_MS);
  }

  /**
   * Show what state the answer is in, and offer what the person can do.
   *
   * @param {Outcome} outcome
   */
  #show(outcome) {
    this.#outcome = outcome;
    const { reason, state } = outcome;
    const { words } = this.#look;
    const mayAnswer = ASKING.includes(state) && reason !== "do-not-track";
    if (!mayAnswer) this.#forget();
    this.#find("form").hidden = !mayAnswer;
    const sentences = reason === "rehearsal" ? [] : sentencesOf(outcome, words);
    if (this.hasAttribute("rehearsal")) sentences.push(words.rehearsal);
    const status = this.#find("#status");
    const text = sentences.join(" ");
    if (status.textContent !== text) status.replaceChildren(make("p", {}, text)); // else it is read out again
    this.#root.querySelector("[part~=withdraw]")?.remove();
    if (state !== "ready" && state !== "queued") return;
    const withdraw = async () => this.#client && this.#finish(await this.#client.withdraw());
    status.after(make("button", { part: "button withdraw", click: () => this.#run(withdraw) }, words.withdraw));
  }

  /** Delete the answers from the page. */
  #forget() {
    for (const [name] of this.#entered) this.#entered.set(name, {});
    const fields = this.#makeFields();
    this.#fields.forEach(({ element }, index) => element.replaceWith(fields[index].element));
    this.#fields = fields;
    this.#hideUnasked();
    this.#forgetPreview();
  }

  #forgetPreview() {
    this.#find("#preview").replaceChildren();
  }

  /**
   * Run a step; buttons wait for its end, and an error becomes a sentence.
   *
   * @param {() => unknown} step
   */
  async #run(step) {
    const buttons = this.#root.querySelectorAll("button");
    buttons.forEach((each) => (each.disabled = true));
    try {
      await step();
    } catch (error) {
      this.#finish(outcomeOf(error));
    } finally {
      buttons.forEach((each) => (each.disabled = false));
    }
  }

  /**
   * @param {string} selector
   * @returns {HTMLElement}
   */
  #find(selector) {
    return /** @type {HTMLElement} */ (this.#root.querySelector(selector));
  }

  /** @param {Outcome} outcome */
  #tell({ state, reason }) {
    this.dispatchEvent(new CustomEvent("ldp-outcome", { bubbles: true, composed: true, detail: { state, reason } }));
  }
}

/**
 * @param {unknown} error
 * @returns {Outcome}
 */
function outcomeOf(error) {
  const { message, reason = "" } = /** @type {LdpError} */ (error);
  return { state: reason === "survey-closed" ? "expired" : "unavailable", reason, why: message };
}

/**
 * Return what an outcome means, and its cause if the person can act on it or should know it.
 *
 * @param {Outcome} outcome
 * @param {import("./words.js").Words} words
 */
function sentencesOf({ reason, state, why }, words) {
  const known = new Map(Object.entries(words));
  const cause = known.get(reason) ?? (["invalid", "rejected", "unavailable"].includes(state) ? why : "");
  return [known.get(state === "duplicate" ? "sent" : state) ?? words.unavailable, cause].filter(Boolean);
}

globalThis.customElements?.define("ldp-survey", LdpSurvey);
