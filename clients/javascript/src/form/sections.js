/** Builds the parts of the form around its questions: heading, promise, consent, preview, rules. */

import { fill } from "../text_form.js";
import { toHex } from "../bytes.js";
import { oddsOf, relayFacts } from "../explain/relay_facts.js";
import { make } from "./dom.js";
import { languageOf } from "./questions.js";
import { severalOf } from "./words.js";

/** @typedef {import("../preview.js").Preview} Preview */
/** @typedef {import("../survey/display_texts.js").DisplayTexts} DisplayTexts */
/** @typedef {import("../survey/plan.js").Plan} Plan */
/** @typedef {import("../survey/plan.js").PlanInWave} PlanInWave */
/** @typedef {import("./words.js").Words} Words */

/**
 * The language of the form, and the level of its first heading.
 *
 * @typedef {object} Look
 * @property {Words} words
 * @property {string} language of the words
 * @property {DisplayTexts} texts
 * @property {number} level
 */

const ABOUT = /** @type {const} */ (["purpose", "contact", "ethics", "retention"]);

/**
 * Return a part of the form with a heading.
 *
 * @param {Look} look
 * @param {string} part
 * @param {string} title
 * @param {...(HTMLElement | false)} children
 */
export function makeSection({ level }, part, title, ...children) {
  const heading = make(`h${level + 1}`, { id: `${part}-title` }, title);
  return make("section", { part, tabindex: -1, "aria-labelledby": `${part}-title` }, heading, ...children);
}

/** Return the place of the outcome, which is all there is before there are texts. @param {Look} look */
export function makeStatus(look) {
  const level = look.texts ? look.level : look.level - 1;
  return makeSection({ ...look, level }, "status", look.words.result, make("div", { id: "status", role: "status" }));
}

/** Return links to questions. @param {readonly import("./questions.js").Field[]} fields */
export function makeLinks(fields) {
  const links = fields.map(({ element, texts }) => {
    const click = (/** @type {Event} */ event) => {
      event.preventDefault();
      element.focus();
    };
    return make("li", {}, make("a", { href: `#${element.id}`, click }, texts.title));
  });
  return make("ul", {}, ...links);
}

/**
 * Return the title, the author's explanations, and the choice of a language.
 *
 * @param {Look} look
 * @param {(language: string) => unknown} translate
 */
export function makeHeader({ language, level, texts, words }, translate) {
  const { about, textLanguages } = texts;
  /** @param {string} path */
  const tongue = (path) => languageOf(textLanguages.get(path), language);
  const list = /** @type {HTMLSelectElement} */ (make(
    "select",
    { part: "language", change: () => translate(list.value) },
    ...texts.languages.map((tag) =>
      make("option", { value: tag, lang: tag, selected: tag === texts.language }, nameOfLanguage(tag))),
  ));
  return make(
    "header",
    { part: "header" },
    make(`h${level}`, { part: "title", ...tongue("title") }, texts.title),
    texts.help && make("p", { class: "quiet", ...tongue("help") }, texts.help),
    makeFacts(ABOUT.filter((key) => about[key]).map((key) => [words[key], about[key], tongue(`about.${key}`)])),
    texts.languages.length > 1 && make("label", {}, words.language, list),
  );
}

/**
 * Return what happens with an answer, and the promise in words: the largest change of odds, rounded up.
 *
 * @param {Look} look
 * @param {PlanInWave} plan
 * @param {boolean} isOwnOrigin whether the collector delivers this page, too
 */
export function makePromise(look, plan, isOwnOrigin) {
  const { language, texts, words } = look;
  const number = new Intl.NumberFormat(language);
  const odds = oddsOf(plan.epsilon);
  /** @param {number} bound @param {"percent"} [style] */
  const atMost = (bound, style) =>
    new Intl.NumberFormat(language, { style, minimumSignificantDigits: 3, maximumSignificantDigits: 3 })
      .format(roundUp(bound));
  const label = texts.label && fill(words.andLabel, texts.label.title);
  const several = severalOf(plan);
  const draw = plan.validation ? words.drawModel : words[`draw${several}`];
  const promise = fill(words.promise, atMost(odds), atMost(odds / (1 + odds), "percent"));
  let lines = [words.stay, fill(draw, label ?? "")];
  if (plan.relay) {
    const { batch, honest, kept, keptShare, odds: most, remainder } = relayFacts(plan);
    const facts = [atMost(most), ...[remainder, honest, batch].map((each) => number.format(each))];
    if (plan.relay.ask) {
      lines = [
        words.all,
        plan.validation ? words.drawModelAll : draw,
        fill(words.relayedAll, ...facts),
        kept === undefined
          ? fill(words.togetherOdds, atMost(odds))
          : fill(words.together, atMost(keptShare, "percent")),
      ];
    } else {
      lines.push(fill(words.relayed, ...facts), promise);
    }
  } else {
    lines.push(promise, words.address);
    if (isOwnOrigin) lines.push(words.sameOrigin);
  }
  if (plan.byInvitation) lines.push(words.invited);
  if (plan.waves) lines.unshift(describeWave(look, plan));
  return makeSection(look, "promise", words.happens, make("ol", {}, ...lines.map((line) => make("li", {}, line))));
}

/**
 * Return when a person is asked: in their wave, or in one that is drawn when they agree.
 *
 * @param {Look} look
 * @param {PlanInWave} plan with waves
 */
export function describeWave({ language, words }, { wave, waves }) {
  const { list } = /** @type {import("../survey/plan.js").Waves} */ (waves);
  const format = new Intl.DateTimeFormat(language, { dateStyle: "long", timeStyle: "short" });
  const { opens } = wave ?? list[0];
  const { closes } = wave ?? /** @type {typeof list[0]} */ (list.at(-1));
  const times = [opens, closes].map((each) => format.format(1000 * each));
  return wave ? fill(words.wave, wave.name, ...times) : fill(words.waves, list.length, ...times);
}

/**
 * Return the choice to take part or not: two buttons that look the same.
 *
 * @param {Look} look
 * @param {Plan} plan
 * @param {boolean | undefined} isAsked whether the person answers now, and not in a later wave
 * @param {() => unknown} decline
 */
export function makeConsent(look, plan, isAsked, decline) {
  const { words } = look;
  return makeSection(
    look, "consent", words.consent, make("p", {}, plan.relay ? words.choiceRelay : words.choice),
    make(
      "div",
      { class: "buttons" },
      make("button", { part: "button", value: "agree" }, isAsked ? words[`agree${severalOf(plan)}`] : words.takePart),
      make("button", { part: "button", type: "button", click: decline }, words.decline),
    ),
  );
}

/**
 * Return what a preview explains: each question that is answered, and how likely each answer is after the report.
 *
 * @param {Look} look
 * @param {Preview} shown
 * @param {Plan} plan
 */
export function makePreview(look, shown, { relay }) {
  const { words } = look;
  const section = makeSection(
    look, "preview", words.preview,
    ...shown.answers.flatMap((each) => makeBeliefs(look, each, relay)),
    make("p", {}, words.example),
    make(
      "details",
      {},
      make("summary", {}, words.bytes),
      ...shown.answers.map(({ report }) => make("p", {}, make("code", { dir: "ltr" }, toHex(report)))),
    ),
  );
  section.translate = false; // a translator of pages would send the true answers
  return section;
}

/**
 * Return the question of one report, and how likely each answer is after it.
 *
 * @param {Look} look
 * @param {Preview} shown
 * @param {Plan["relay"]} relay
 */
function makeBeliefs({ language, words }, shown, relay) {
  const titles = shown.truth.map(([title]) => title);
  const rows = shown.possibleAnswers.map(({ answer, belief, isTruth }) => {
    const [first, ...others] = answer.map(([, text]) => text);
    const own = isTruth && make("b", {}, ` (${words.result})`);
    const cells = [...others, percent(belief, language)].map((text) => make("td", {}, text));
    return make("tr", {}, make("th", { scope: "row" }, first, own), ...cells);
  });
  /** @param {string} text */
  const head = (text) => make("th", { scope: "col" }, text);
  const columns = titles.length > 1 ? titles : [words.result];
  const name = titles.join(" + ");
  return [
    make("p", {}, fill(words.drawn, name)),
    make(
      "div",
      { class: "wide", tabindex: 0, role: "group", "aria-label": name },
      make(
        "table",
        {},
        make("caption", {}, words[relay ? "captionRelay" : "caption"]),
        make("thead", {}, make("tr", {}, ...columns.map(head), head(words.likely))),
        make("tbody", {}, ...rows),
      ),
    ),
  ];
}

/**
 * Show a preview, and go there. If the person has gone on to the buttons below, these stay under their finger.
 *
 * @param {HTMLElement} form
 * @param {HTMLElement} section
 */
export function placePreview(form, section) {
  const consent = /** @type {HTMLElement} */ (form.querySelector("[part=consent]"));
  const { bottom, top } = consent.getBoundingClientRect();
  const isSeen = bottom > 0 && top < innerHeight;
  form.querySelector("#preview")?.replaceWith(make("div", { id: "preview" }, section));
  if (isSeen) scrollBy(0, consent.getBoundingClientRect().top - top);
  else section.focus();
}

/**
 * Return the rules of a survey, for comparison with published ones.
 *
 * @param {Look} look
 * @param {Plan} plan
 */
export function makeRules({ words }, plan) {
  const facts = makeFacts([["ID", plan.id], ["ε", plan.epsilon], ["SHA-256", plan.digest]]);
  return make("details", { part: "rules" }, make("summary", {}, words.rules), facts);
}

/** @param {readonly (readonly [term: string, text: string, tongue?: object])[]} facts */
function makeFacts(facts) {
  const pairs = facts.map(([term, text, tongue]) =>
    make("div", {}, make("dt", {}, term), make("dd", { dir: "auto", ...tongue }, text)));
  return pairs.length > 0 && make("dl", {}, ...pairs);
}

/**
 * Round a number up to three digits, as dossiers and results do.
 *
 * @param {number} bound
 */
export function roundUp(bound) {
  const unit = 10 ** Math.floor(Math.log10(bound) - 2);
  return Math.ceil(bound / unit) * unit;
}

/** @param {string} tag */
function nameOfLanguage(tag) {
  try {
    return new Intl.DisplayNames(tag, { type: "language" }).of(tag) ?? tag;
  } catch {
    return tag; // of no known form
  }
}

/**
 * Write a probability with one decimal, which is never 0% or 100%.
 *
 * @param {number} share
 * @param {string} language
 */
function percent(share, language) {
  const format = new Intl.NumberFormat(language, { style: "percent", minimumFractionDigits: 1 });
  if (share < 0.001) return `< ${format.format(0.001)}`;
  return share > 0.999 ? `> ${format.format(0.999)}` : format.format(share);
}
