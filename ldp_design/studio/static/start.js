/** How a survey begins: with a title, as the example, or from a file that is dropped. */
import { post, postFile } from "./api.js";
import { h, note, row } from "./dom.js";
import { button, choose, fold, h2, languageName, ownInput } from "./fields.js";
import { makeId } from "./kinds.js";
import { features, refresh, run, say, store } from "./store.js";
import { language, t, translate } from "./words.js";
const form = { title: "", second: "" };
let asked = null;

export function drawNew() {
  const begin = async (event) => {
    event.preventDefault();
    const languages = [language, form.second].filter(Boolean);
    const title = form.title.trim() || t("untitled");
    await run(() => post("api/new", { name: makeId(title), title, languages }));
    refresh(store.open = store.fresh = features()[0]);
  };
  const others = ["en", "de", "fr", "es"].filter((tag) => tag !== language).map((tag) => [tag, languageName(tag)]);
  return [
    h2("start"), h("form", { class: "card", onsubmit: begin },
      ownInput("new-title", t("start_title"), form.title, (text) => { form.title = text; }),
      choose("new-language", t("start_language"), [["", t("none")], ...others], form.second,
        (tag) => { form.second = tag; }),
      row(h("button", { type: "submit", class: "primary", id: "begin" }, t("begin")),
        button("example", t("start_example"), () => run(() => post("api/new", { example: true })))))];
}

export function drawImport(isNew) {
  const take = (file, options) => {
    if (asked = file) say(t("computing"), "notice");
    const query = new URLSearchParams({ name: file?.name, spoken: language, ...options });
    if (file) void run(() => postFile(`api/import?${query}`, file));
  };
  const ondrop = (event) => { event.preventDefault(); take(event.dataTransfer.files[0]); };
  const { notes } = store.state;
  return [
    h("div", { class: "card drop", ondragover: (event) => event.preventDefault(), ondrop },
      h("label", { for: "import" }, t("import")), note(t(isNew ? "import_hint" : "import_replaces")), h("input", {
        type: "file", id: "import", accept: ".xlsx,.xlsm,.xls,.csv", onchange: (event) => take(event.target.files[0]),
      })),
    notes.length > 0 && fold("notes", t("left_out", notes.length), { class: "card", open: true },
      h("ul", {}, notes.map((each) => h("li", {}, translate(each)))),
      asked && notes.some((each) => each.includes("--language"))
        && button("import-language", t("import_language", language), () => take(asked, { language })))];
}
