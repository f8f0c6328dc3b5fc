/** What the survey will show: people and epsilon as sliders, margins as pictures, and suggestions. */
import { readLines } from "./api.js";
import { announce, card, h, note } from "./dom.js";
import { button, check, field, fold, h3, heading, mistakes } from "./fields.js";
import { edit, fail, find, languages, refresh, store, titleOf } from "./store.js";
import { formatCount, formatNumber, formatPoints, formatShare, t } from "./words.js";
const DEFAULT_PEOPLE = 1000;
const BELIEF = 0.1;
const REST_MS = 200;
let suggestions = [];
let asked = -1;
let stop = new AbortController();
let timer;

/** Return the epsilon that the author promises to people. */
const promised = () => Number(find("relay", "epsilon") ?? find("survey", "epsilon") ?? 1);
export const people = () => Number(find("survey", "users") ?? DEFAULT_PEOPLE);
const noise = (epsilon) => 2 * Math.exp(epsilon / 2) / Math.expm1(epsilon);

/** Ask the server for the margins of this version, and then for suggestions; an edit ends it. */
export function verify() {
  const { facts, version } = store.state;
  if (asked === version) return;
  stop.abort();
  stop = new AbortController();
  clearTimeout(timer);
  asked = version;
  const take = (found) => {
    if (asked !== version) return;
    if (found.rows) {
      store.size = found;
      suggestions = [];
      announce(t("verified", formatCount(found.users)));
    } else if (found.name) suggestions.push(found);
    refresh();
  };
  const compute = () => readLines("api/stream/sizes", take, stop.signal)
    .catch((error) => error.name === "AbortError" || fail(error));
  if (facts) timer = setTimeout(compute, REST_MS);
}

export function drawSizes() {
  verify();
  const { facts } = store.state;
  const epsilon = promised();
  const relay = find("relay");
  return [
    ...heading("sizes"),
    card(
      slider("people", Math.log10(people()), [1.5, 6.3, 0.02], (log) => Number((10 ** log).toPrecision(2)), savePeople),
      slider("epsilon", epsilon, [0.1, Math.max(3, epsilon), 0.05], (value) => Number(value.toFixed(2)), saveEpsilon),
      h("p", { id: "belief" }, describeBelief(epsilon)),
      mistakes(["survey", "epsilon"]), mistakes(["survey", "users"]),
      check("relay", t("relay"), Boolean(relay),
        (isOn) => edit(() => [{ op: "relay", value: isOn ? "one" : "" }, { op: "fit" }]), t("relay_hint")),
      relay && check("ask-all", t("ask_all"), relay.ask === "all",
        (isOn) => edit(() => [{ op: "relay", value: isOn ? "all" : "one" }, { op: "fit" }]), t("ask_all_hint")),
      relay && !facts?.relay?.has_keys && note(t("relay_first")),
      relay && drawRelay()),
    h("div", { class: "card", id: "margins" }, h3("margins"), drawMargins()),
    drawSuggestions()];
}

function savePeople(users) {
  const batch = { op: "set", path: ["relay", "batch"], value: Math.max(Math.floor(users * 0.6), 2) };
  return edit(() => [{ op: "set", path: ["survey", "users"], value: users }, find("relay") && [batch, { op: "fit" }]]);
}

function saveEpsilon(value) {
  const path = () => [find("relay") ? "relay" : "survey", "epsilon"];
  return edit(() => [{ op: "set", path: path(), value: { number: String(value) } }, { op: "fit" }]);
}

/** Return a slider with a number beside it; while it moves, the margins are estimated by a rule of thumb. */
function slider(id, value, [low, high, step], read, save) {
  const format = id === "people" ? formatCount : formatNumber;
  const now = format(id === "people" ? people() : promised()); // the slider's own steps are coarser
  const shown = h("output", { for: id, id: `${id}-shown` }, now);
  const range = h("input", {
    id, type: "range", min: low, max: high, step, value: String(value),
    "aria-valuetext": now, "aria-describedby": `${id}-hint`,
    oninput: () => {
      store.isMoving = true;
      const moved = read(Number(range.value));
      shown.textContent = format(moved);
      range.setAttribute("aria-valuetext", format(moved));
      estimate(id === "people" ? moved : people(), id === "epsilon" ? moved : promised());
    },
    onchange: () => void save(read(Number(range.value)), store.isMoving = false),
    onblur: () => { store.isMoving = false; },
  });
  return h("div", { class: "field slider" }, h("label", { for: id }, t(id)), shown, range,
    h("p", { class: "hint", id: `${id}-hint` }, t(`${id}_hint`)));
}

/** Show margins by the rule of thumb: they fall with the root of the number of people, and with epsilon. */
function estimate(users, epsilon) {
  const { size } = store;
  if (!size) return;
  const factor = Math.sqrt(size.users / users) * noise(epsilon) / noise(size.epsilon);
  document.getElementById("margins").replaceChildren(h3("margins"), ...[drawMargins(factor)].flat());
  document.getElementById("belief").textContent = describeBelief(epsilon);
}

/** Say what a report can change at most: a bound, rounded up. */
function describeBelief(epsilon) {
  const believe = (bound) => formatShare(Math.ceil(1000 / (1 + (1 / BELIEF - 1) * Math.exp(-bound))) / 1000);
  const words = t("belief", formatShare(BELIEF), believe(epsilon));
  const both = Number(find("survey", "epsilon")); // what relay and collector learn together
  const relay = find("relay");
  return relay ? `${words} ${t("belief_relay", relay.delta, formatNumber(both), believe(both))}` : words;
}

function drawMargins(factor = 1) {
  const { facts, version } = store.state;
  const { size } = store;
  if (!facts) return note(t("correct_first"));
  if (!size) return note(t("computing"));
  const isVerified = factor === 1 && size.version === version;
  return [
    note(isVerified ? t("verified", formatCount(size.users)) : t("about_margins")),
    h("ul", { class: "margins" }, size.rows.map((row) => drawMargin(row, factor, isVerified))),
    note(t("margins_hint"))];
}

function drawMargin(row, factor, isVerified) {
  const { share, typical, unit, useful } = row;
  const margin = row.margin === null ? null : row.margin * factor;
  const guessed = margin === null || margin > useful ? "noise" : margin <= typical / 4 ? "good" : "rough";
  const grade = isVerified ? row.grade : guessed;
  const shown = share === null ? t("mean_margin", formatNumber(margin))
    : t("share_margin", formatShare(share), formatPoints(margin));
  return h("li", { class: `margin ${grade}` },
    h("span", { class: "name" }, callResult(row.name)), drawBar(share ?? 0.5, margin === null ? null : margin / unit),
    h("span", { class: "value" }, isVerified ? shown : `${t("about")} ${shown}`),
    h("span", { class: `grade ${grade}` }, t(grade)));
}

/** Return how a result is called: by the title of a question, of one of its answers, or of a table's questions. */
export function callResult(name) {
  const call = (each) => {
    const [feature, choice] = each.split(": ");
    if (choice === undefined || !find("features", feature, "choices")) return titleOf(each);
    return `${titleOf(feature)} ${find("texts", languages()[0], "features", feature, "values", choice) ?? choice}`;
  };
  return name.split(" x ").map(call).join(" \u00d7 ");
}

/** Draw an interval on a line from 0 to 100%; its ends are cut where the line ends. */
function drawBar(centre, margin) {
  const [low, high] = margin === null ? [0, 1] : [Math.max(centre - margin, 0), Math.min(centre + margin, 1)];
  return h("svg", { viewBox: "0 0 200 20", class: "bar", "aria-hidden": "true", preserveAspectRatio: "none" },
    h("line", { x1: 0, x2: 200, y1: 10, y2: 10, class: "axis" }),
    h("rect", { x: 200 * low, width: Math.max(200 * (high - low), 2), y: 5, height: 10, rx: 2 }),
    h("line", { x1: 200 * centre, x2: 200 * centre, y1: 2, y2: 18, class: "centre" }));
}

function drawRelay() {
  return fold("relay-details", t("relay_details"), {},
    note(t("relay_explained", find("survey", "epsilon") ?? "?")),
    h("div", { class: "columns" },
      field(["relay", "url"], t("relay_url")),
      field(["relay", "batch"], t("relay_batch"), { number: true, hint: t("relay_batch_hint") }),
      field(["relay", "honest"], t("relay_honest"), { number: true }),
      field(["relay", "delta"], "delta", { number: true }),
      !find("waves") && ["opens", "closes"].map((key) => field(["relay", key], t(`relay_${key}`), { number: true })),
      ["collector_key", "relay_key"].map((key) => field(["relay", key], t(key), { hint: t("relay_key_hint") }))),
    mistakes(["relay", "epsilon"]), mistakes(["relay"]),
    button("fit", t("fit"), () => edit(() => ({ op: "fit" }))));
}

function drawSuggestions() {
  return card(h3("suggestions"),
    note(suggestions.length ? t("suggestions_hint") : t("suggestions_none")),
    h("ul", { class: "plain suggestions" }, suggestions.map((each, place) => h("li", {},
      button(`suggestion-${place}`, describe(each), () => edit(() => each.operations)),
      h("span", {}, each.before.widest !== each.after.widest
          && t("effect", formatPoints(each.before.widest), formatPoints(each.after.widest)),
        each.before.noise.length > 0 && t("effect_noise", each.before.noise.length, each.after.noise.length))))));
}

function describe({ name, values }) {
  return t(`suggest_${name}`,
    ...Object.values(values).map((each) => (typeof each === "number" ? formatCount(each) : callResult(each))));
}
