/** How a survey begins: with a title, as the example, or from a file that is dropped. */

import { post, postFile } from "./api.js";
import { h, note, row } from "./dom.js";
import { button, h2 } from "./fields.js";
import { refresh, run, store } from "./store.js";
import { language, t } from "./words.js";

const form = { title: "", second: "" };
let asked = null;

export function drawStart(isNew) {
  const begin = () => run(() => post(
    "api/new", { title: form.title.trim() || t("untitled"), languages: [language, form.second].filter(Boolean) }
  ))
    .then(() => { store.open = "features.question-1"; refresh(); });
  return [
    isNew && h2("start"),
    isNew && h("form", { class: "card", onsubmit: (event) => { event.preventDefault(); void begin(); } },
      h(
        "div", { class: "field" }, h("label", { for: "new-title" }, t("start_title")),
        h(
          "input",
          { id: "new-title", type: "text", value: form.title, oninput: (event) => { form.title = event.target.value; } }
        )
      ),
      h("div", { class: "field" }, h(
        "label", { for: "new-language" }, t("start_language")
      ), h("select", { id: "new-language", onchange: (event) => { form.second = event.target.value; } },
        [["", t("none")], ["en", "English"], ["de", "Deutsch"], ["fr", "fran\u00e7ais"], ["es", "espa\u00f1ol"]].filter(([tag]) => tag !== language).map(([tag, text]) => h("option", { value: tag, selected: tag === form.second }, text)))),
      row(h("button", { type: "submit", class: "primary", id: "begin" }, t("begin")),
        button("example", t("start_example"), () => run(() => post("api/new", { example: true }))))),
    drawImport(isNew),
  ];
}

/** A place to drop a form or a table; it can be chosen with the keyboard, too. */
function drawImport(isNew) {
  const take = (file, options = "") => {
    asked = file;
    return run(() => postFile(`api/import?name=${encodeURIComponent(file.name)}${options}`, file));
  };
  const picker = h(
    "input",
    {
      type: "file", id: "import", accept: ".xlsx,.xlsm,.xls,.csv",
      onchange: (event) => event.target.files[0] && take(event.target.files[0])
    }
  );
  const { notes } = store.state;
  return [
    h("div", {
      class: "card drop", ondragover: (event) => { event.preventDefault(); event.currentTarget.classList.add("over"); },
      ondragleave: (event) => event.currentTarget.classList.remove("over"),
      ondrop: (event) => {
        event.preventDefault(); event.currentTarget.classList.remove("over"); const [file] = event.dataTransfer.files;
        if (file) void take(file);
      },
    }, h("label", { for: "import" }, t("import")), note(isNew ? t("import_hint") : t("import_replaces")), picker),
    notes.length > 0 && h("details", { class: "card", open: true, id: "notes" }, h("summary", {}, t("left_out", notes.length)), h(
      "ul", {}, notes.map((each) => h("li", {}, each))
    ),
      asked && /\.xlsx?$/.test(asked.name) && notes.some((each) => each.includes("--language")) && button("import-language", t("import_language", language), () => take(asked, `&language=${language}`))),
  ];
}
