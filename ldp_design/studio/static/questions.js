/** The questions: a list, of which one is open; and what the survey says about itself. */
import { announce, card, focusLater, h, note, row } from "./dom.js";
import {
  button, check, choose, field, fold, h3, heading, idOf, languageName, mistakes, textCells, textGrid, write
} from "./fields.js";
import { answersOf, changeKind, entriesOf, hasValues, isTabular, kindOf, KINDS, list, makeId, slug } from "./kinds.js";
import {
  answerOf, edit, features, find, languages, now, pathOf, problemsAt, refresh, say, store, titleOf
} from "./store.js";
import { localise, plainNumber, t } from "./words.js";
const YES_NO = { en: { true: "Yes", false: "No" }, de: { true: "Ja", false: "Nein" } };
const FURTHER_KEYS = ["values", "choices", "ordered", "missing", "ask_if", "alone", "missing_codes"];
const LANGUAGES = ["en", "de", "fr", "es", "it", "pt", "nl", "pl", "tr", "uk", "ar"];
const ticked = new Set();
let order = []; // of the questions, also of the label, which the file keeps apart
const ABOUT = ["purpose", "contact", "ethics", "retention"];
const NAME = "\u0000name";
const PLACEHOLDER = /^(question|answer)-\d+$/;

export function drawQuestions() {
  const names = features();
  const label = find("label");
  return [...heading("questions", find("relay", "ask") === "all" ? "questions_all" : "questions_lead"), drawSurvey(),
    h("ol", { class: "cards" }, label && h("li", {}, drawCard(["label"], label, String(label.name ?? ""), null)),
      names.map((name, place) => h("li", {}, drawCard(["features", name], find("features", name), name, place)))),
    drawAdd(), drawTarget(), drawTables()];
}

function drawSurvey() {
  const tags = languages();
  const line = (name, pathOf, options) => textRow(t(name), textCells(t(name), tags, pathOf, options));
  const rows = [
    line("title", (tag) => ["texts", tag, "title"], {
      fallback: () => find("about", "title"),
      save: (tag, text) => [
        write(["texts", tag, "title"], text), tag === tags[0] && [write(["about", "title"], text), followTitle(text)]],
    }),
    line("intro", (tag) => ["texts", tag, "help"], { area: true }),
    ...ABOUT.map((key) => line(
      key, (tag) => (tag === tags[0] ? ["about", key] : ["texts", tag, "about", key]), { area: key === "purpose" }))];
  const without = LANGUAGES.filter((each) => !tags.includes(each));
  const named = (shown) => [["", t("choose")], ...shown.map((tag) => [tag, languageName(tag)])];
  const isOpen = !find("about", "contact");
  return fold("about", t("about_survey"), { class: "card", open: isOpen },
    tags.length > 0 && textGrid(rows, tags), mistakes(["about"], true), mistakes(["texts"]),
    row(
      choose("add-language", t("add_language"), named(without), "",
        (tag) => edit(() => ({ op: "add", path: ["texts", tag], value: { entries: {} } })),
        !tags.length && t("no_language")),
      tags.length > 1 && choose("drop-language", t("drop_language"), named(tags), "",
        (tag) => edit(() => ({ op: "delete", path: ["texts", tag] }))),
      field(["survey", "id"], t("id"), { hint: t("id_hint"), save: saveId })));
}

const saveId = (id) => [...write(["survey", "id"], id),
  find("relay", "url") && { op: "set", path: ["relay", "url"], value: find("relay", "url").replace(/[^/]*$/, id) }];

/** Return operations that make the survey's short name of its title, if nobody has typed one or published it. */
const followTitle = (text) => text && !store.state.published
  && find("survey", "id") === makeId(find("about", "title") ?? "") && saveId(makeId(text));

/** Whether a short name was made of a text, and nobody has typed it. */
const follows = (name, text, separator) => PLACEHOLDER.test(name)
  || (text !== undefined && name.replace(/[ _]\d+$/, "") === slug(text, [], separator).replace(/[ _]\d+$/, ""));
const textRow = (name, cells) => h("tr", {}, h("th", { scope: "row" }, name),
  cells.map((each) => (each instanceof Element ? each : h("td", {}, each))));
const textPath = (path, tag, ...rest) => ["texts", tag, ...path, ...rest];

function drawCard(path, entry, name, place) {
  const isOpen = store.open === name;
  const kind = path[0] === "label" ? "target" : kindOf(entry);
  const wrong = problemsAt(path, true).filter(({ severity }) => severity === "error").length
    + languages().flatMap((tag) => problemsAt(textPath(path, tag), true)).length;
  const lacking = Object.values(store.state.facts?.missing ?? {}).flat()
    .filter((each) => each.startsWith(`${path.join(".")}.`)).length;
  const id = `card-${place ?? "label"}`;
  return h("section", { class: "card question", "aria-labelledby": id }, h("div", { class: "head" },
      h("h3", {}, button(id, titleOf(name), () => refresh(store.open = isOpen ? null : name),
        { class: "plain", "aria-expanded": String(isOpen) })),
      h("span", { class: "kind" }, t(`kind_${kind}`),
        wrong > 0 && h("strong", { class: "wrong" }, ` ${t("mistakes", wrong)}`),
        lacking > 0 && h("strong", { class: "lacking" }, ` ${t("lacking", lacking)}`)),
      place !== null && drawActions(path, name, place)), isOpen && drawEditor(path, entry, name, kind));
}

function drawActions(path, name, place) {
  const names = features();
  const [title, wasTabled] = [titleOf(name), isTabled(name)];
  const move = (to) => edit(() => ({ op: "move", path, value: to }))
    .then(() => refresh(focusLater(`${to < place ? "up" : "down"}-${to}`)));
  const act = (key, text, click, attributes) => button(`${key}-${place}`, text, click,
    { class: "small", "aria-label": `${t(key)}: ${titleOf(name)}`, title: t(key), ...attributes });
  return h("span", { class: "actions" }, act("up", "\u2191", () => move(place - 1), { disabled: place === 0 }),
    act("down", "\u2193", () => move(place + 1), { disabled: place === names.length - 1 }),
    act("copy", t("copy"), () => edit(() => ({ op: "copy", path, value: slug(name, features(), "-") }))),
    act("remove", "\u2715", () => edit(() => ({ op: "remove", path })).then(
      (state) => state && wasTabled && say(t("removed_table", title), "notice"))));
}

function drawEditor(path, entry, name, kind) {
  const tags = languages();
  const isLabel = path[0] === "label";
  const rename = (text) => (isLabel ? write(["label", "name"], text) : text && { op: "rename", path, value: text });
  const titled = (tag, text) => {
    const name = now(path)[1];
    const isMade = tag === tags[0] && text && follows(name, find(...textPath(path, tag, "title")), "_");
    const others = features().filter((each) => each !== name);
    return [write(textPath(path, tag, "title"), text), isMade && rename(slug(text, others))];
  };
  const title = textCells(t("question"), tags, (tag) => textPath(path, tag, "title"), { save: titled });
  const help = textCells(t("help"), tags, (tag) => textPath(path, tag, "help"), { area: true });
  const [answers, names] = drawAnswers(path, entry, kind, tags);
  return h("div", { class: "editor" },
    !isLabel && choose(idOf([...path, "kind"]), t("kind"), KINDS.map((each) => [each, t(`kind_${each}`)]), kind,
      (wanted) => edit(() => changeKind(path, wanted)), t(`hint_${kind}`)), isLabel && note(t("target_hint")),
    textGrid([textRow(t("question"), title), textRow(t("help"), help), ...answers], tags, answers.length > 0),
    row(drawNumbers(path, kind)),
    (entry.values || entry.choices) && kind !== "yesno" && row(
      button(`more-${idOf(path)}`, t("add_answer"), () => addAnswer(path, entry)), note(t("keys_hint"))),
    [[], ...FURTHER_KEYS].map((key) => mistakes([...path, ...[key].flat()])),
    fold(`names-${idOf(path)}`, t("short"), { open: !tags.length }, note(t("short_hint")),
      h("div", { class: "columns" },
        field(isLabel ? ["label", "name"] : [...path, NAME], t("short_name"), { shown: name, save: rename }), names)),
    !isLabel && drawOptions(path, entry));
}

function drawAnswers(path, entry, kind, tags) {
  const key = entry.choices ? "choices" : "values";
  const answers = answersOf(entry);
  const change = (old, made) => ({ op: "value", path: [...path, key], value: { old, new: made } });
  const rows = answers.map((answer, place) => {
    const titled = (tag, text) => {
      const known = now([...path, "values", answer]).at(-1);
      const isMade = tag === tags[0] && text && follows(known, find(...textPath(path, tag, "values", known)), " ");
      const others = answersOf(find(...path)).filter((each) => each !== known);
      const made = isMade ? slug(text, others, " ") : known;
      return [made !== known && change(known, made), write(textPath(path, tag, "values", made), text)];
    };
    const act = (name, text, click) => button(`${name}-${place}-${idOf(path)}`, text, click,
      { class: "small", "aria-label": `${t(name)}: ${answer}`, tabindex: -1 }); // keys do it, see below
    const raised = (values) => values.toSpliced(place - 1, 2, values[place], values[place - 1]);
    const raise = () => edit(() => ({ op: "set", path: [...path, key], value: raised(find(...path, key)) }));
    const remove = () => edit(() => change(answer)).then(() => announce(t("removed", answer)));
    const actions = kind === "yesno" ? "" : [place > 0 && act("up", "\u2191", raise), act("remove", "\u2715", remove)];
    const onkeydown = (event) => {
      const { altKey, isComposing, key, target } = event;
      const isMeant = altKey ? key === "Delete" || (key === "ArrowUp" && place) : key === "Enter" && !isComposing;
      if (kind === "yesno" || !isMeant) return;
      event.preventDefault();
      const fieldOf = (at) => idOf(textPath(path, target.lang, "values", answersOf(find(...path))[at]));
      const next = key === "Enter" && place < answers.length - 1;
      if (next) return void document.getElementById(fieldOf(place + 1)).focus();
      target.blur(); // which writes the text
      if (key === "Enter") void addAnswer(path, entry);
      else if (key === "Delete") void remove();
      else void raise().then(() => refresh(focusLater(fieldOf(place - 1))));
    };
    const [name, shown] = [t("answer", place + 1), kind === "yesno" ? t(answer) : answer];
    const texts = textCells(
      name, tags, (tag) => textPath(path, tag, "values", answer), { save: titled, instead: `: ${shown}`, onkeydown });
    return textRow(name, [...texts, actions]);
  });
  if (entry.missing === "category") {
    rows.push(textRow(t("no_answer"),
      textCells(t("no_answer"), tags, (tag) => textPath(path, tag, "values", "(missing)"))));
  }
  const names = kind === "yesno" ? [] : answers.map((answer, place) => field(
    [...path, "answers", String(place)], t("short_answer", place + 1),
    { shown: answer, save: (text) => text && change(answer, text) }));
  return [rows, names];
}

async function addAnswer(path, entry) {
  const own = [...path, entry.choices ? "choices" : "values"];
  await edit(() => {
    const answers = answersOf(find(...path));
    return { op: "value", path: own, value: { new: slug(`answer-${answers.length + 1}`, answers, "-") } };
  });
  const tag = languages()[0];
  const made = answersOf(find(...path));
  focusOn(tag ? textPath(path, tag, "values", made.at(-1)) : [...path, "answers", String(made.length - 1)]);
}

const focusOn = (path) => refresh(focusLater(idOf(path)));
const toggle = (path, isOn) => (isOn ? { op: "set", path, value: true } : { op: "delete", path });
const valuesOf = (name) => list(find(...pathOf(name), "values") ?? find(...pathOf(name), "choices"));

function drawNumbers(path, kind) {
  const at = (key) => [...path, key];
  if (kind === "edges") {
    const shown = list(find(...at("edges"))).map(localise).join("; ");
    const read = (text) => text.split(/[;\s]+|,\s+/).filter(Boolean).map((each) => ({ number: plainNumber(each) }));
    const save = (text) => ({ op: "set", path: at("edges"), value: read(text) });
    return field(at("edges"), t("edges"), { shown, save, hint: t("edges_hint") });
  }
  if (!["number", "bins"].includes(kind)) return [];
  return [["low", "high"].map((name, place) => field([...at("range"), String(place)], t(name), { number: true })),
    mistakes(at("range")), kind === "bins" ? field(at("bins"), t("bins"), { number: true })
      : field(at("spread"), t("spread"), { number: true, hint: t("spread_hint") })];
}

const isTabled = (name) => Object.values(find("tables") ?? {}).some((each) => list(each?.features).includes(name));

function drawOptions(path, entry) {
  const id = (key) => idOf([...path, `${key}-option`]);
  return h("div", { class: "options" },
    check(id("missing"), t("optional"), entry.missing === "category",
      (isOn) => edit(() => write([...path, "missing"], isOn ? "category" : "")), t("optional_hint")),
    kindOf(entry) === "number" && check(id("moments"), t("mean_only"), entry.moments === "mean",
      (isOn) => edit(() => write([...path, "moments"], isOn ? "mean" : ""))),
    isTabled(path[1]) && check(id("alone"), t("alone"), entry.alone === true,
      (isOn) => edit(() => toggle([...path, "alone"], isOn))),
    drawCondition(path, entry), field([...path, "weight"], t("weight"), { number: true, hint: t("weight_hint") }));
}

function drawCondition(path, entry) {
  const condition = entry.ask_if;
  const term = condition?.not ?? condition;
  if (condition && !term.feature) return note(t("condition_text"));
  const others = [...features(), find("label", "name")]
    .filter((name) => name !== path[1] && valuesOf(name).length).map((name) => [name, titleOf(name)]);
  const save = (feature, value, isNot) => edit(() => [
    { op: "set", path: [...path, "ask_if"], value: isNot ? { not: { feature, value } } : { feature, value } },
    { op: "set", path: [...path, "missing"], value: "category" }]);
  const change = (name) => (
    name ? save(name, valuesOf(name)[0], false) : edit(() => ({ op: "delete", path: [...path, "ask_if"] })));
  const id = (key) => idOf([...path, `${key}-condition`]);
  const first = choose(id("feature"), t("condition"), [["", t("everybody")], ...others], term?.feature ?? "", change);
  if (!term) return row(first);
  const answers = valuesOf(term.feature);
  const isNot = Boolean(condition.not);
  return row(first,
    choose(id("is"), t("condition_is"), [["is", t("is")], ["not", t("is_not")]], isNot ? "not" : "is",
      (is) => save(term.feature, term.value, is === "not")),
    choose(id("value"), t("condition_value"), answers.map((each) => [String(each), answerOf(term.feature, each)]),
      String(term.value), (text) => save(term.feature, answers.find((each) => String(each) === text), isNot)));
}

function drawAdd() {
  const add = async (kind) => {
    let path;
    document.activeElement.blur(); // what somebody types before the question is there presses no button
    await edit(() => {
      const names = features();
      path = ["features", slug(`question-${names.length + 1}`, names, "-")];
      store.open = store.fresh = path[1];
      const value = { entries: { ...entriesOf(kind), missing: "category" }, after: names.at(-1) ?? "" };
      const spoken = kind === "yesno" ? languages().filter((tag) => YES_NO[tag]) : [];
      return [{ op: "add", path, value },
        spoken.map((tag) => ({ op: "set", path: textPath(path, tag, "values"), value: YES_NO[tag] }))];
    });
    const tag = languages()[0];
    focusOn(tag ? textPath(path, tag, "title") : [...path, NAME]);
  };
  return h("div", { class: "card", role: "group", "aria-label": t("add_question") }, h3("add_question"),
    row(KINDS.map((kind) => button(`add-${kind}`, t(`kind_${kind}`), () => add(kind)))));
}

function drawTarget() {
  const label = find("label", "name");
  const all = [label, ...features()].filter(Boolean);
  const others = order.filter((name) => name !== label);
  if (order.length !== all.length || others.join("\n") !== features().join("\n")) order = all;
  const names = order.filter((name) => name === label || hasValues(find("features", name)));
  const change = (name) => edit(() => ({
    op: "label", path: name ? ["features", name] : ["label"],
    value: order.filter((each) => each !== name).indexOf(find("label", "name")), // the label when the edit runs
  }));
  return card(h3("target"),
    choose("target", t("target_choose"), [["", t("target_none")], ...names.map((name) => [name, titleOf(name)])],
      label ?? "", (name) => name !== label && change(name), t("target_explained")), mistakes(["label"], true));
}

function drawTables() {
  const names = features().filter((name) => isTabular(find("features", name)));
  const others = features().filter((name) => !names.includes(name)).map(titleOf).join(", ");
  const tables = Object.entries(find("tables") ?? {});
  const add = () => {
    const chosen = names.filter((name) => ticked.has(name));
    if (chosen.length < 2 || chosen.length > 3) return void say(t("tables_explained"));
    const name = slug(chosen.join(" "), tables.map(([each]) => each));
    void edit(() => ({ op: "add", path: ["tables", name], value: { entries: { features: chosen } } }), ticked.clear());
  };
  return card(h3("tables"), note(t("tables_explained")),
    h("ul", { class: "plain" }, tables.map(([name, table], place) => h("li", { class: "row" },
      h("span", {}, list(table?.features).map(titleOf).join(" \u00d7 ")),
      find("label") && check(`table-label-${place}`, t("table_label"), table.label === true,
        (isOn) => edit(() => toggle(["tables", name, "label"], isOn))),
      button(`drop-table-${place}`, t("remove"), () => edit(() => ({ op: "delete", path: ["tables", name] })),
        { "aria-label": `${t("remove")}: ${list(table?.features).map(titleOf).join(", ")}` }),
      mistakes(["tables", name], true)))),
    names.length > 1 && [h("fieldset", { class: "ticks" }, h("legend", {}, t("tables_tick")),
        names.map((name, place) => check(`together-${place}`, titleOf(name), ticked.has(name),
          (isOn) => ticked[isOn ? "add" : "delete"](name)))),
      button("add-table", t("add_table"), add)], others && note(t("tables_not", others)), mistakes(["tables"]));
}
