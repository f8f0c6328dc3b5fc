/** What is still to do before people are asked, and the files that the author publishes. */
import { download, post } from "./api.js";
import { announce, card, h, note, row } from "./dom.js";
import { button, check, h3, heading, idOf, ownInput } from "./fields.js";
import { fail, find, isValid, languages, refresh, run, store } from "./store.js";
import { callResult, verify } from "./sizes.js";
import { formatOdds, language, localise, t } from "./words.js";
const COLLECTOR = "https://collector.example";
const form = { collector: "", allowEnglish: false };
let [busy, outcome] = [false, ""];

/** Return the checklist: whether a point is done, its words, and where it is changed. */
function points() {
  const { size, state: { facts, saved, keys } } = store;
  const first = languages()[0];
  const about = (key) => find("about", key) || (first && find("texts", first, "about", key));
  const lacking = Object.entries(facts?.missing ?? {}).filter(([, texts]) => texts.length);
  const noise = size?.version === store.state.version ? size.noise.map(callResult).join(", ") : null;
  const relay = find("relay");
  const toRelay = ["sizes", "relay-details-title"];
  const lacks = lacking.map(([tag, texts]) => `${tag}: ${texts.length}`).join(", ");
  const untranslated = facts?.untranslated.join(", ");
  return [
    [isValid(), t("todo_valid"), "file"],
    [Boolean(about("contact")), t("todo_contact"), "questions", idOf(["about", "contact"])],
    [Boolean(about("retention")), t("todo_retention"), "questions", idOf(["about", "retention"])],
    [facts && languages().length > 0 && !lacks, lacks ? t("todo_lacking", lacks) : t("todo_languages"), "questions"],
    [!untranslated, t(untranslated ? "todo_no_words" : "todo_words", untranslated), "publish"],
    [noise === "", noise ? t("todo_noise", noise) : t(noise === "" ? "todo_sizes" : "computing"), "sizes"],
    ...(relay ? [
      [true, t("todo_epsilon", localise(relay.epsilon), formatOdds(relay.delta), localise(find("survey", "epsilon")))],
      [!relay.url?.includes("relay.example"), t("todo_relay"), ...toRelay],
      ...["collector_key", "relay_key"].map((key) => [Boolean(relay[key]), t(`todo_${key}`), ...toRelay])] : []),
    [Boolean(keys.signature), t("todo_key"), "publish"],
    [saved, t("todo_saved"), "publish"]];
}

export function drawPublish(go) {
  verify();
  const { facts, keys, path, saved } = store.state;
  const unspoken = facts?.untranslated ?? [];
  const isReady = isValid() && saved && !busy;
  const relay = find("relay");
  const lacksKeys = relay && !facts?.relay?.has_keys;
  return [
    ...heading("publish"),
    card(h3("checklist"), h("ul", { class: "todo" }, points().map((point, place) => drawPoint(point, place, go)))),
    card(h3("files"),
      relay ? h("p", {}, t(lacksKeys ? "relay_draft" : "relay_page"))
        : ownInput("collector", t("collector"), form.collector, (text) => { form.collector = text; },
          { hint: t("collector_hint"), type: "url", placeholder: COLLECTOR }),
      unspoken.length > 0 && check("allow-english", t("allow_english", unspoken.join(", ")), form.allowEnglish,
        (isOn) => { form.allowEnglish = isOn; }),
      !saved && note(t("save_first")),
      row(button("zip", t(lacksKeys ? "draft" : "zip"), () => make(lacksKeys ? "draft" : "zip"),
        { class: "primary", disabled: !isReady }),
        button("folder", t("folder"), () => make("folder"), { disabled: !isReady || lacksKeys })),
      h("p", { role: "status" }, busy ? t("writing") : outcome)),
    card(h3("signature"), note(t("signature_hint")),
      keys.key && h("p", {}, t("key_at"), " ", h("code", {}, keys.key)),
      keys.signature && h("p", {}, t("signed_at"), " ", h("code", {}, keys.signature)),
      button("sign", t(keys.key ? "sign" : "make_key"), () => run(() => post("api/sign")), { disabled: !isReady })),
    card(h3("commands"), note(t("commands_hint", path)), drawCommands([
      relay && ["command_collector_key", "ldp-collector key plan.json.key"],
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
    " ", text, " ", !isDone && view !== "publish"
      && button(`todo-${place}`, t("go"), () => go(view, id), { class: "small", "aria-label": `${t("go")}: ${text}` }));
}

async function make(kind) {
  const request = { ...form, form: kind, collector: find("relay") ? "" : form.collector, language };
  const file = kind !== "folder" && `${store.state.facts.id}${kind === "draft" ? "-draft" : ""}.zip`;
  busy = true;
  refresh(outcome = "");
  try {
    const made = await (file ? download : post)("api/publish", request);
    if (file) h("a", { href: URL.createObjectURL(made), download: file }).click();
    announce(outcome = t(`${kind}_done`, file || made.folder));
  } catch (error) {
    fail(error);
  }
  refresh(busy = false);
}

/** Show what an operator runs, from pairs of words and command. */
const drawCommands = (commands) => h("dl", { class: "commands" },
  commands.filter(Boolean).map(([name, line]) => [h("dt", {}, t(name)), h("dd", {}, h("code", {}, line))]));
