/** What the survey will show: people and epsilon as sliders, margins as pictures, and suggestions. */
import { readLines } from "./api.js";
import { announce, card, h, note } from "./dom.js";
import { button, check, drawProgress, field, fold, h3, heading, idOf, mistakes, timeField, write } from "./fields.js";
import { answerOf, edit, fail, find, refresh, say, store, titleOf } from "./store.js";
import { formatCount, formatNumber, formatOdds, formatPoints, formatShare, localise, t } from "./words.js";
const BELIEF = 0.1;
const REST_MS = 200;
let [asked, suggestions, timer, stop] = [-1, [], 0, new AbortController()];
let [simulation, stopSimulation] = [null, null];

const valid = { users: 1000, epsilon: 1 }; // the last ones: a mistake moves no slider
const keep = (name, found) => (valid[name] = Number(found) > 0 ? Number(found) : valid[name]);
const promised = () => keep("epsilon", find("relay", "epsilon") ?? find("survey", "epsilon"));
export const people = () => keep("users", find("survey", "users"));
const noise = (epsilon) => 2 * Math.exp(epsilon / 2) / Math.expm1(epsilon);

/** Ask the server for the margins of this edition, and then for suggestions; an edit ends it. */
export function verify() {
  const { facts, edition } = store.state;
  if (asked === edition) return;
  stop.abort();
  clearTimeout(timer);
  [asked, stop] = [edition, new AbortController()];
  const take = (found) => {
    if (found.rows) {
      store.size = found;
      suggestions = [];
      announce(t("verified", formatCount(found.users)));
    } else if (found.name) suggestions.push(found);
    refresh();
  };
  if (facts) timer = setTimeout(() => stream("sizes", take, stop.signal), REST_MS);
}

const stream = (name, take, signal) => readLines(`api/stream/${name}`, take, signal)
  .catch((error) => error.name === "AbortError" || fail(error));

export function drawSizes() {
  verify();
  const epsilon = promised();
  const relay = find("relay");
  return [...heading("sizes"),
    card(
      slider("people", ["survey", "users"], people(), Math.log10(people()), [1.5, 6.3, 0.02],
        (log) => Number((10 ** log).toPrecision(2))),
      slider("epsilon", [relay ? "relay" : "survey", "epsilon"], epsilon, epsilon, [0.1, Math.max(3, epsilon), 0.05],
        (value) => Number(value.toFixed(2))),
      h("p", { id: "belief" }, describeBelief(epsilon)), relay && mistakes(["survey", "epsilon"]),
      check("relay", t("relay"), Boolean(relay),
        (isOn) => edit(() => [{ op: "relay", value: isOn ? "one" : "" }, { op: "fit" }]), t("relay_hint")),
      relay && check("ask-all", t("ask_all"), relay.ask === "all",
        (isOn) => edit(() => [{ op: "relay", value: isOn ? "all" : "one" }, { op: "fit" }]), t("ask_all_hint")),
      relay && drawRelay()),
    card(h3("margins"), h("div", { id: "margins" }, drawMargins()), drawSimulation()), drawSuggestions()];
}

/** Return a field for a number, and a slider; while it moves, the margins are estimated by a rule of thumb. */
function slider(id, path, value, place, [low, high, step], read) {
  const save = (text) => {
    const batch = id === "people" && find("relay") && Math.floor(Number(text) * 0.6);
    return [write(path, text, true),
      batch > 0 && { op: "set", path: ["relay", "batch"], value: Math.max(batch, 2) }, { op: "fit" }];
  };
  const range = h("input", {
    id, type: "range", min: low, max: high, step, value: String(place), "aria-label": t("slider", t(id)),
    "aria-valuetext": formatNumber(value),
    oninput: () => {
      store.isMoving = true;
      const moved = read(Number(range.value));
      document.getElementById(idOf(path)).value = localise(String(moved));
      range.setAttribute("aria-valuetext", formatNumber(moved));
      estimate(id === "people" ? moved : people(), id === "epsilon" ? moved : promised());
    },
    onchange: () => void edit(() => save(String(read(Number(range.value)))), store.isMoving = false),
    onblur: () => { store.isMoving = false; } });
  return h("div", { class: "slider" },
    field(path, t(path[0] === "relay" ? "epsilon_relay" : id),
      { number: true, shown: find(...path) ?? value, save, hint: t(`${id}_hint`) }), range);
}

/** Show margins by the rule of thumb: they fall with the root of the number of people, and with epsilon. */
function estimate(users, epsilon) {
  const { size } = store;
  if (!size) return;
  const factor = Math.sqrt(size.users / users) * noise(epsilon) / noise(size.epsilon);
  document.getElementById("margins").replaceChildren(...[drawMargins(factor)].flat());
  document.getElementById("belief").textContent = describeBelief(epsilon, true);
}

/** Write a belief after a report: a bound, rounded up, and as in the dossier never to 100 %. */
function believe(bound) {
  const rest = 1 / (1 + BELIEF / (1 - BELIEF) * Math.exp(bound));
  const digits = [1, 2, 3, 4].find((each) => rest * 10 ** (each + 2) >= 1);
  return digits ? formatShare(1 - Math.floor(rest * 10 ** (digits + 2)) / 10 ** (digits + 2), digits) : t("nearly_all");
}

/** Say what a report can change at most. */
function describeBelief(epsilon, isMoving = false) {
  const words = t("belief", formatShare(BELIEF), believe(epsilon));
  const both = Number(find("survey", "epsilon")); // what relay and collector learn together
  if (!find("relay")) return words;
  const relay = store.state.facts ? isMoving ? "computing" : "belief_relay" : "belief_unknown";
  return `${words} ${t(relay, formatOdds(find("relay", "delta")), formatNumber(both), believe(both))}`;
}

function drawMargins(factor = 1) {
  const { facts, edition } = store.state;
  const { size } = store;
  if (!size) return note(t(facts ? "computing" : "correct_first"));
  const isVerified = factor === 1 && (!facts || size.edition === edition);
  return [note(t(!facts ? "old_margins" : isVerified ? "verified" : "about_margins", formatCount(size.users))),
    h("ul", { class: `margins ${facts ? "" : "old"}` }, size.rows.map((row, place) => drawMargin(
      row, factor, isVerified, simulation?.edition === edition ? simulation.margins[place] : undefined))),
    note(t("margins_hint"))];
}

function drawMargin(row, factor, isVerified, simulated) {
  const { typical, unit, useful_margin: useful, values } = row;
  const share = values && typical; // null of a mean
  const margin = row.margin === null ? null : row.margin * factor;
  const guessed = margin === null || margin > useful ? "noise" : margin <= typical / 4 ? "good" : "rough";
  const grade = isVerified ? row.grade : guessed;
  const format = share === null ? formatNumber : formatPoints;
  const shown = share === null ? t("mean_margin", format(margin))
    : `${formatShare(share)} ${t("points", format(margin))}`;
  return h("li", { class: `margin ${grade}` },
    h("span", { class: "name" }, callResult(row.name)), drawBar(share ?? 0.5, margin === null ? null : margin / unit),
    h("span", { class: "value" }, isVerified ? shown : `${t("about")} ${shown}`,
      isVerified && simulated !== undefined && h("span", { class: "hint" }, t("simulated", format(simulated)))),
    h("span", { class: `grade ${grade}` }, t(grade)));
}

/** Simulate whole surveys on the server, until they are done, the survey changes, or the author stops it. */
async function simulate() {
  [simulation, stopSimulation] = [null, new AbortController()];
  await stream("simulation", (found) => refresh(simulation = found), stopSimulation.signal);
  stopSimulation = null;
  refresh(announce(t("simulated_all", simulation?.done ?? 0)));
}

function drawSimulation() {
  const { done = 0, total = 1, edition } = simulation ?? {};
  return [button("simulate", t(stopSimulation ? "simulate_stop" : "simulate"),
      () => (stopSimulation ? stopSimulation.abort() : simulate()), { disabled: !store.state.facts }),
    stopSimulation && drawProgress("simulating", { done, total }),
    !stopSimulation && note(edition === store.state.edition ? t("simulated_all", done) : t("simulate_hint"))];
}

export function callResult(name) {
  const call = (each) => {
    const [feature, choice] = each.split(": ");
    if (choice === undefined || !find("features", feature, "choices")) return titleOf(each);
    return `${titleOf(feature)} ${answerOf(feature, choice)}`;
  };
  return name.split(" x ").map(call).join(" \u00d7 ");
}

function drawBar(centre, margin) {
  const [low, high] = margin === null ? [0, 1] : [Math.max(centre - margin, 0), Math.min(centre + margin, 1)];
  return h("svg", { viewBox: "0 0 200 20", class: "bar", "aria-hidden": "true", preserveAspectRatio: "none" },
    h("line", { x1: 0, x2: 200, y1: 10, y2: 10, class: "axis" }),
    h("rect", { x: 200 * low, width: Math.max(200 * (high - low), 2), y: 5, height: 10, rx: 2 }),
    h("line", { x1: 200 * centre, x2: 200 * centre, y1: 2, y2: 18, class: "centre" }));
}

function drawRelay() {
  return fold("relay-details", t("relay_details"), {},
    note(t("relay_explained", localise(find("survey", "epsilon") ?? "?"))), h("div", { class: "columns" },
      field(["relay", "url"], t("relay_url")),
      field(["relay", "batch"], t("relay_batch"), { number: true, hint: t("relay_batch_hint") }),
      field(["relay", "honest"], t("relay_honest"), { number: true }),
      field(["relay", "delta"], "delta", { number: true, hint: t("relay_delta") }),
      !find("waves") && ["opens", "closes"].map((key) => timeField(["relay", key], t(`relay_${key}`))),
      ["collector_key", "relay_key"].map((key) => field(["relay", key], t(key), { hint: t("relay_key_hint") }))),
    mistakes(["relay", "epsilon"]), mistakes(["relay"]), button("fit", t("fit"), () => edit(() => ({ op: "fit" })).then(
      () => say(t("fitted", localise(find("survey", "epsilon"))), "notice"))));
}

function drawSuggestions() {
  const name = (value) => (typeof value === "number" ? formatCount(value) : callResult(value));
  const current = suggestions.filter(({ edition }) => edition === store.state.edition);
  return card(h3("suggestions"), note(t(current.length ? "suggestions_hint" : "suggestions_none")),
    h("ul", { class: "plain suggestions" }, current.map((each, place) => h("li", {},
      button(`suggestion-${place}`, t(`suggest_${each.name}`, ...Object.values(each.values).map(name)),
        () => edit(() => each.operations)),
      h("span", {}, describeEffect(each.before, each.after))))));
}

function describeEffect(before, after) {
  const amount = (name, share) => { // as in the list of margins
    const { unit, values } = store.size.rows.find((row) => row.name === name) ?? {};
    return values !== null ? t("points", formatPoints(share))
      : `\u00b1 ${share < 0.5 ? formatNumber(share * unit) : t("or_more", formatNumber(unit / 2))}`;
  };
  const widest = ({ margins, widest: share }, name = Object.keys(margins).find((each) => margins[each] === share)) =>
    `${amount(name, share)} (${callResult(name)})`;
  const ratio = (name) => before.margins[name] / after.margins[name];
  const [most] = Object.keys(after.margins).filter(ratio).sort((one, other) => ratio(other) - ratio(one));
  return [
    ratio(most) > 1.1 * before.widest / after.widest
      && t("effect_most", callResult(most), amount(most, before.margins[most]), amount(most, after.margins[most])),
    before.widest !== after.widest && t("effect", widest(before), widest(after)),
    before.noise.length > 0 && after.noise.length === 0 && t("effect_enough"),
    after.noise.length > 0 && after.noise.length !== before.noise.length
      && t("effect_noise", before.noise.length, after.noise.length),
    after.together > before.together && h("strong", {},
      t("effect_price", formatNumber(before.together), formatNumber(after.together)),
      believe(before.together) !== believe(after.together)
        && t("effect_belief", believe(before.together), believe(after.together)))];
}

