/** What is still to do before people are asked, and the files that the author publishes. */
import { download, post } from "./api.js";
import { announce, card, h, note, row } from "./dom.js";
import { button, check, h3, heading, idOf, ownInput, slowButton } from "./fields.js";
import { find, isValid, languages, refresh, run, store } from "./store.js";
import { callResult, verify } from "./sizes.js";
import { formatCount, formatOdds, formatTime, language, localise, t } from "./words.js";
const COLLECTOR = "https://collector.example";
const form = { collector: "", allowEnglish: false };
let outcome = {};

function points() {
  const { size, state: { facts, saved, keys } } = store;
  const first = languages()[0];
  const about = (key) => find("about", key) || (first && find("texts", first, "about", key));
  const noise = size?.version === store.state.version ? size.noise.map(callResult).join(", ") : null;
  const relay = find("relay");
  const toRelay = (key) => ["sizes", idOf(["relay", key])];
  const lacks = Object.entries(facts?.missing ?? {}).filter(([, texts]) => texts.length)
    .map(([tag, texts]) => `${tag}: ${texts.length}`).join(", ");
  const untranslated = facts?.untranslated.join(", ");
  return [
    [isValid(), t("todo_valid"), "file"],
    [Boolean(about("contact")), t("todo_contact"), "questions", idOf(["about", "contact"])],
    [Boolean(about("retention")), t("todo_retention"), "questions", idOf(["about", "retention"])],
    [facts && languages().length > 0 && !lacks, lacks ? t("todo_lacking", lacks) : t("todo_languages"), "questions"],
    [!untranslated, t(untranslated ? "todo_no_words" : "todo_words", untranslated), "publish", "allow-english"],
    [noise === "", noise ? t("todo_noise", noise) : t(noise === "" ? "todo_sizes" : "computing"), "sizes"],
    ...(relay ? [
      [true, t("todo_epsilon", localise(relay.epsilon), formatOdds(relay.delta), localise(find("survey", "epsilon")))],
      [true, t("todo_batch", formatCount(relay.batch))],
      relay.opens && [true, t("todo_times", formatTime(relay.opens), formatTime(relay.closes))],
      [!relay.url?.includes("relay.example"), t("todo_relay"), ...toRelay("url")],
      ...["collector_key", "relay_key"].map((key) => [Boolean(relay[key]), t(`todo_${key}`), ...toRelay(key)])] : []),
    [Boolean(keys.signature), t(keys.key && !keys.signature ? "todo_sign_again" : "todo_key"), "publish", "sign"],
    [saved, t("todo_saved"), "publish", "save"]].filter(Boolean);
}

export function drawPublish(go) {
  verify();
  const { facts, keys, path, saved } = store.state;
  const unspoken = facts?.untranslated ?? [];
  const isReady = isValid() && saved;
  const relay = find("relay");
  const lacksKeys = relay && !facts?.relay?.has_keys;
  return [
    ...heading("publish"),
    card(h3("checklist"), h("ul", { class: "todo" }, points().map((point, place) => drawPoint(point, place, go)))),
    card(h3("files"), relay && h("p", {}, t(lacksKeys ? "relay_draft" : "relay_page")),
      ownInput("collector", t("collector"), form.collector, (text) => { form.collector = text; },
        { hint: t("collector_hint"), type: "url", placeholder: COLLECTOR, onchange: () => refresh() }),
      unspoken.length > 0 && check("allow-english", t("allow_english", unspoken.join(", ")), form.allowEnglish,
        (isOn) => { form.allowEnglish = isOn; }),
      !saved && note(t("save_first")),
      row(slowButton("zip", t(lacksKeys ? "draft" : "zip"), () => make(lacksKeys ? "draft" : "zip"),
        { class: "primary", disabled: !isReady }),
        slowButton("folder", t("folder"), () => make("folder"), { disabled: !isReady || lacksKeys })),
      h("p", { role: "status" }, outcome.version === store.state.version && t(...outcome.words))),
    card(h3("signature"), note(t("signature_hint")),
      ["key", "public", "signature"].map((each) => keys[each]
        && h("p", {}, t(`${each}_at`), " ", h("code", {}, keys[each]))),
      button("sign", t(keys.signature ? "signed" : keys.key ? "sign" : "make_key"), () => run(() => post("api/sign")),
        { disabled: !isReady || keys.signature })),
    card(h3("commands"), note(t("commands_hint", path)), drawCommands([
      relay && ["command_collector_key", "ldp-collector key plan.json.key"],
      relay && ["command_token", "ldp-collector access add relay --role relay --file tokens.toml > collector.token"],
      ["command_collector", `ldp-collector serve plan.json${relay ? " --tokens tokens.toml" : ""}`],
      ["command_status", "ldp-collector status"],
      ["command_train", `ldp-train ${form.collector || COLLECTOR}/v1/surveys/${facts?.id ?? "ID"} -o model.json`],
      ["command_results", "ldp-results model.json -o results.html"]])),
    relay && card(h3("relay_commands"), note(t("relay_commands_hint")), drawCommands([
      ["command_relay_key", "ldp-relay key relay.key"], ["command_relay", "ldp-relay serve relay.toml"]]))];
}

function drawPoint([isDone, text, view, id], place, go) {
  return h("li", { class: isDone ? "done" : "open" },
    h("span", { class: "mark", role: "img", "aria-label": t(isDone ? "done" : "open") }, isDone ? "\u2713" : "\u25cb"),
    " ", text, " ", !isDone
      && button(`todo-${place}`, t("go"), () => go(view, id), { class: "small", "aria-label": `${t("go")}: ${text}` }));
}

async function make(kind) {
  const request = { ...form, form: kind, collector: find("relay") ? "" : form.collector, language };
  const file = kind !== "folder" && `${store.state.facts.id}${kind === "draft" ? "-draft" : ""}.zip`;
  const made = await (file ? download : post)("api/publish", request);
  if (file) h("a", { href: URL.createObjectURL(made), download: file }).click();
  outcome = { words: [`${kind}_done`, file || made.folder], version: store.state.version };
  announce(t(...outcome.words));
}

const drawCommands = (commands) => h("dl", { class: "commands" },
  commands.filter(Boolean).map(([name, line]) => [h("dt", {}, t(name)), h("dd", {}, h("code", {}, line))]));
