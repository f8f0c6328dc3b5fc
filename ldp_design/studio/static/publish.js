/** What is still to do before people are asked, and the files that the author publishes. */

import { download, post } from "./api.js";
import { announce, card, h, note, row } from "./dom.js";
import { button, check, h3, heading } from "./fields.js";
import { fail, find, languages, refresh, run, store } from "./store.js";
import { t } from "./words.js";
import { verify } from "./sizes.js";

const form = { collector: "", allowEnglish: false };
let busy = false;
let outcome = "";

/** Return the checklist: whether a point is done, its words, and where it is changed. */
function points() {
  const { facts, saved, keys } = store.state;
  const first = languages()[0];
  const about = (key) => find("about", key) || (first && find("texts", first, "about", key));
  const lacking = Object.entries(facts?.missing ?? {}).filter(([, texts]) => texts.length);
  const { size } = store;
  const noisy = size && size.digest === facts?.digest ? size.noise : null;
  return [
    [Boolean(facts), t("todo_valid"), "questions"],
    [Boolean(about("contact")), t("todo_contact"), "questions"],
    [Boolean(about("retention")), t("todo_retention"), "questions"],
    [
      languages().length > 0 && !lacking.length,
      lacking.length ? t(
        "todo_lacking", lacking.map(([tag, texts]) => `${tag}: ${texts.length}`).join(", ")
      ) : t("todo_languages"),
      "questions"
    ],
    [!facts?.untranslated.length, t("todo_words", facts?.untranslated.join(", ") || "\u2013"), "publish"],
    [
      noisy !== null && !noisy.length,
      noisy?.length ? t("todo_noise", noisy.join(", ")) : noisy ? t("todo_sizes") : t("computing"), "sizes"
    ],
    find("relay") && [
      Boolean(facts?.relay?.has_keys) && !find("relay", "url")?.includes("relay.example"), t("todo_relay"), "sizes"
    ],
    [Boolean(keys.signature), t("todo_key"), "publish"],
    [saved, t("todo_saved"), "publish"],
  ].filter(Boolean);
}

export function drawPublish(go) {
  verify();
  const { facts, keys, name, path, saved } = store.state;
  const relay = find("relay");
  const isReady = facts && saved && !busy;
  return [
    ...heading("publish"),
    card(h3("checklist"), h("ul", { class: "todo" }, points().map(([isDone, text, view], place) => h("li", {
      class: isDone ? "done" : "open"
    },
      h(
        "span", { class: "mark", role: "img", "aria-label": isDone ? t("done") : t("open") },
        isDone ? "\u2713" : "\u25cb"
      ), " ", text,
      !isDone && view !== "publish" && [" ", button(`todo-${place}`, t("go"), () => go(view), { class: "small", "aria-label": `${t("go")}: ${text}` })])))),
    card(h3("files"),
      !relay && h("div", { class: "field" }, h(
        "label", { for: "collector" }, t("collector")
      ), note(t("collector_hint")),
        h("input", { id: "collector", type: "url", value: form.collector, placeholder: "https://collector.example", oninput: (event) => { form.collector = event.target.value; } })),
      relay && h("p", {}, t("relay_page")),
      facts?.untranslated.length > 0 && check(
        "allow-english", t("allow_english", facts.untranslated.join(", ")), form.allowEnglish,
        (isOn) => { form.allowEnglish = isOn; }
      ),
      !saved && note(t("save_first")),
      row(
        button("zip", t("zip"), () => make(async (query) => {
          const link = h(
            "a", { href: URL.createObjectURL(await download(`api/publish/zip?${query}`)), download: `${facts.id}.zip` }
          );
          link.click();
          return t("zip_done", `${facts.id}.zip`);
        }), { class: "primary", disabled: !isReady }),
        button("folder", t("folder"), () => make(async (query) => t("folder_done", (await post(`api/publish/folder?${query}`)).folder)), { disabled: !isReady })),
      h("p", { role: "status" }, busy ? t("writing") : outcome)),
    card(h3("signature"), note(t("signature_hint")),
      keys.key && h("p", {}, t("key_at"), " ", h("code", {}, keys.key)),
      keys.signature && h("p", {}, t("signed_at"), " ", h("code", {}, keys.signature)),
      button("sign", keys.key ? t("sign") : t("make_key"), () => run(() => post("api/sign")), { disabled: !isReady })),
    card(h3("commands"), note(t("commands_hint", path)), commands(name, relay)),
  ];
}

function make(step) {
  const query = new URLSearchParams({
    ...(find("relay") ? {} : { collector: form.collector }), ...(form.allowEnglish ? { allowEnglish: "1" } : {})
  });
  busy = true;
  outcome = "";
  refresh();
  return step(query).then((text) => { outcome = text; announce(text); }, fail).then(() => { busy = false; refresh(); });
}

function commands(name, relay) {
  const lines = [
    [
      t("command_collector"),
      relay ? "ldp-collector serve plan.json --tokens tokens.toml" : "ldp-collector serve plan.json"
    ],
    relay && [t("command_keys"), "ldp-collector key plan.json.key && ldp-relay key relay.key"],
    relay && [t("command_relay"), "ldp-relay serve relay.toml"],
    [t("command_status"), "ldp-collector status"],
    [
      t("command_train"), `ldp-train https://collector.example/v1/surveys/${find("survey", "id") ?? "ID"} -o model.json`
    ],
    [t("command_results"), "ldp-results model.json -o results.html"],
  ];
  return h("dl", { class: "commands" }, lines.filter(Boolean).map(([text, line], place) => [h("dt", {}, text), h("dd", {}, h("code", {}, line),
    button(`copy-${place}`, t("copy_command"), () => navigator.clipboard.writeText(line).then(() => announce(t("copied"))), { class: "small", "aria-label": `${t("copy_command")}: ${text}` }))]));
}
