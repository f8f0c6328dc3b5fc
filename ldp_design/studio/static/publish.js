/** What is still to do before people are asked, and the files that the author publishes. */
import { download, post } from "./api.js";
import { announce, card, h, note, row } from "./dom.js";
import { button, check, h3, heading, idOf, ownInput, slowButton } from "./fields.js";
import { errors, find, lacks, languages, refresh, run, store } from "./store.js";
import { callResult, verify } from "./sizes.js";
import { formatCount, formatOdds, formatTime, language, localise, t } from "./words.js";
const COLLECTOR = "https://collector.example";
const form = { collector: "", allowEnglish: false };
let outcome = {};

function points(go, goToFirst) {
  const { size, state: { facts, saved, keys } } = store;
  const about = (key) => find("about", key) || find("texts", languages()[0], "about", key);
  const noise = size?.edition === store.state.edition ? size.noise.map(callResult).join(", ") : null;
  const relay = find("relay");
  const to = (view, id) => () => go(view, id);
  const untranslated = facts?.untranslated.join(", ");
  return [
    [!errors().length, t("todo_valid"), to("file")],
    [Boolean(about("contact")), t("todo_contact"), to("questions", idOf(["about", "contact"]))],
    [Boolean(about("retention")), t("todo_retention"), to("questions", idOf(["about", "retention"]))],
    lacks().length ? [false, t("todo_lacking", lacks().length), () => goToFirst(lacks)]
      : [facts && languages().length > 0, t("todo_languages"), to("questions")],
    [!untranslated, t(untranslated ? "todo_no_words" : "todo_words", untranslated), to("publish", "allow-english")],
    [noise === "", noise ? t("todo_noise", noise) : t(noise === "" ? "todo_sizes" : "computing"), to("sizes")],
    ...(relay ? [
      [true, t("todo_epsilon", localise(relay.epsilon), formatOdds(relay.delta), localise(find("survey", "epsilon")))],
      [true, t("todo_batch", formatCount(relay.batch))],
      relay.opens && [true, t("todo_times", formatTime(relay.opens), formatTime(relay.closes))],
      [!relay.url?.includes("relay.example"), t("todo_relay"), to("sizes", idOf(["relay", "url"]))],
      ...["collector_key", "relay_key"].map(
        (key) => [Boolean(relay[key]), t(`todo_${key}`), to("sizes", idOf(["relay", key]))])] : []),
    [Boolean(keys.signature), t(keys.key && !keys.signature ? "todo_sign_again" : "todo_key"), to("publish", "sign")],
    [saved, t("todo_saved"), to("publish", "save")]].filter(Boolean);
}

export function drawPublish(...ways) {
  verify();
  const { facts, keys, path, saved } = store.state;
  const unspoken = facts?.untranslated ?? [];
  const reason = errors().length ? "correct_first" : !saved && "save_first";
  const relay = find("relay");
  const lacksKeys = facts?.relay && !facts.relay.has_keys;
  const isWrong = !/^((https:\/\/|http:\/\/(localhost|127\.))[^\s?#]+)?$/.test(form.collector.trim());
  return [
    ...heading("publish"),
    card(h3("checklist"), h("ul", { class: "todo" }, points(...ways).map(([isDone, text, act], place) => h("li",
      { class: isDone ? "done" : "open" },
      h("b", { class: "mark", role: "img", "aria-label": t(isDone ? "done" : "open") }, isDone ? "\u2713" : "\u25cb"),
      " ", text, " ", !isDone
        && button(`todo-${place}`, t("go"), act, { class: "small", "aria-label": `${t("go")}: ${text}` }))))),
    card(h3("files"), relay && h("p", {}, t(lacksKeys ? "relay_draft" : "relay_page")),
      ownInput("collector", t("collector"), form.collector, (text) => { form.collector = text; },
        { hint: t("collector_hint"), type: "url", placeholder: COLLECTOR, onchange: () => refresh(),
          "aria-invalid": isWrong && "true" }),
      isWrong && h("p", { class: "mistakes" }, t("collector_wrong", COLLECTOR)),
      unspoken.length > 0 && check("allow-english", t("allow_english", unspoken.join(", ")), form.allowEnglish,
        (isOn) => { form.allowEnglish = isOn; }), reason && note(t(reason)),
      row(slowButton("zip", t(lacksKeys ? "draft" : "zip"), () => make(lacksKeys ? "draft" : "zip"),
        { class: "primary", disabled: reason || isWrong }),
        slowButton("folder", t("folder"), () => make("folder"), { disabled: reason || isWrong || lacksKeys })),
      h("p", { role: "status" }, outcome.version === store.state.version && t(...outcome.words))),
    card(h3("signature"), note(t("signature_hint")), lacksKeys && h("p", {}, t("sign_last")), reason && note(t(reason)),
      ["key", "public", "signature"].map((each) => keys[each]
        && h("p", {}, t(`${each}_at`), " ", h("code", {}, keys[each]))),
      button("sign", t(keys.signature ? "signed" : keys.key ? "sign" : "make_key"), () => run(() => post("api/sign")),
        { disabled: reason || keys.signature })),
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
