/** `<ldp-survey src="https://host/v1/surveys/ID">`: the element that contains the form of one survey. */

import { make } from "./dom.js";
import { addStyle } from "./style.js";
import { SurveyForm } from "./survey_form.js";

/**
 * @typedef {object} FormOptions
 * @property {URL} src the survey's URL
 * @property {readonly string[]} wanted languages by preference
 * @property {Readonly<Record<string, Partial<import("./words.js").Words>>>} furtherWords by language
 * @property {number} level of the first heading
 * @property {boolean} needsCode whether only people with a code of the relay are asked
 * @property {boolean} isRehearsal
 * @property {string} [relay] the relay's address, if the survey has one
 * @property {number} [maxLocalEpsilon]
 * @property {import("../client/client.js").ClientOptions} clientOptions
 * @property {(outcome: { state: string, reason: string }) => unknown} tell
 */

const Base = /** @type {typeof HTMLElement} */ (globalThis.HTMLElement ?? class {}); // a server has no elements

/**
 * The form replaces the element's content, which says what to do where scripts do not run.
 *
 * Attributes: `src`, the survey's URL; `lang`, the language to begin with; `digest`, `public-key`, `max-epsilon` and
 * `person`, the client's options; `relay`, the address of the relay that `src` is at, and `max-local-epsilon`; `level`,
 * that of the first heading; `codes`, to ask only people with a code of the relay; `rehearsal`, to send and keep
 * nothing. They are read when the element is put into the page. When it is removed, the answers are deleted.
 *
 * A child `<script type="application/json">` may contain the words of further languages, by language.
 *
 * The event `ldp-outcome` has a `detail` with `state` and `reason`, the words of docs/embedding.md.
 */
export class LdpSurvey extends Base {
  #root;
  #token = "";
  /** @type {SurveyForm | undefined} */
  #form;

  constructor() {
    super();
    this.#root = this.attachShadow({ mode: "open" });
    this.#root.append(make("slot"));
    addStyle(this.#root);
  }

  connectedCallback() {
    addEventListener("hashchange", this.#openInvitation);
    addEventListener("pagehide", this.#forget);
    this.#takeToken();
    this.#open();
  }

  disconnectedCallback() {
    removeEventListener("hashchange", this.#openInvitation);
    removeEventListener("pagehide", this.#forget);
    this.#close();
  }

  /** Take the token out of the address, the address bar and the history; return whether there was one. */
  #takeToken() {
    const token = new URLSearchParams(location.hash.slice(1)).get("token");
    if (token === null) return false;
    this.#token = token;
    history.replaceState(null, "", location.pathname + location.search);
    return true;
  }

  /** A person opens the link of their invitation in the same tab. */
  #openInvitation = () => {
    if (!this.#takeToken()) return;
    this.#close();
    this.#open();
  };

  /** The browser may keep the page, to show it again when somebody goes back. */
  #forget = () => this.#form?.forget();

  #open() {
    /** @param {string} name */
    const given = (name) => this.getAttribute(name) ?? undefined;
    /** @param {string} name */
    const limit = (name) => (this.hasAttribute(name) ? Number(given(name)) : undefined);
    const form = this.#form = new SurveyForm({
      src: new URL(given("src") ?? "", document.baseURI),
      wanted: [given("lang") ?? [], navigator.languages].flat(),
      furtherWords: JSON.parse(this.querySelector('script[type="application/json"]')?.textContent ?? "{}"),
      level: Number(given("level") ?? 1),
      isRehearsal: this.hasAttribute("rehearsal"),
      needsCode: this.hasAttribute("codes"),
      relay: given("relay"),
      maxLocalEpsilon: limit("max-local-epsilon"),
      clientOptions: {
        person: given("person") ?? null,
        digest: given("digest"),
        publicKey: given("public-key"),
        token: this.#token || undefined,
        maxEpsilon: limit("max-epsilon"),
      },
      tell: (detail) => this.dispatchEvent(new CustomEvent("ldp-outcome", { bubbles: true, composed: true, detail })),
    });
    this.#root.querySelector("slot")?.remove();
    this.#root.append(form.element);
    void form.start();
  }

  #close() {
    this.#form?.close();
    this.#form?.element.remove();
    this.#form = undefined;
  }
}

globalThis.customElements?.define("ldp-survey", LdpSurvey);
