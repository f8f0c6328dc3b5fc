/** Fields of the survey: each shows an entry, writes it when the author leaves the field, and shows its mistakes. */
import { announce, h, note } from "./dom.js";
import { list } from "./kinds.js";
import { drawNow, edit, fail, features, find, problemsAt, refresh, store, titleOf } from "./store.js";
import { formatCount, localise, plainNumber, t, translate } from "./words.js";

/** Return the id of an element for an entry: with the places of questions and answers, as names change. */
export function idOf(path) {
  const start = path[0] === "texts" ? 2 : 0;
  const isFeature = path[start] === "features";
  const entry = find(...path.slice(start, start + (isFeature ? 2 : 1)));
  const isAnswer = path.length === start + (isFeature ? 4 : 3) && path.at(-2) === "values";
  const answers = isAnswer ? list(entry?.values ?? entry?.choices).map(String) : [];
  const places = path.map((key, at) => (isFeature && at === start + 1 ? features().indexOf(key)
      : isAnswer && at === path.length - 1 ? answers.indexOf(key) : key));
  return `f-${places.join("-").replace(/[^\p{L}\p{N}-]+/gu, "_")}`;
}

export function mistakes(path, below = false) {
  return listProblems(problemsAt(path, below), `${idOf(path)}-why`, false);
}

/** Return mistakes and warnings as a list, perhaps with their places in the file. */
export function listProblems(problems, id, isPlaced = true) {
  const place = ({ line, field: path }) => isPlaced
    && [line && t("line", line), path].filter(Boolean).map((each) => `${each}: `);
  return problems.length > 0 && h("ul", { class: "mistakes", id },
    problems.map((each) => h("li", { class: each.severity }, place(each), translate(callNames(each.message)))));
}

const callNames = (message) => message.replace(/^[^:]+?(?= \(the label\)|: )/,
  (names) => names.split(", ").map(titleOf).join(", "));

/** Return operations that write a text or a number, or delete the entry if it is empty. */
export function write(path, text, isNumber = false) {
  if (text === "") return find(...path) === undefined ? [] : [{ op: "delete", path }];
  return [{ op: "set", path, value: isNumber ? { number: text } : text }];
}

/** Return an input for the entry at a path; `save` returns the operations that write what was entered. */
export function input(path, name, { area, number, shown, placeholder, save, ...others } = {}) {
  const text = String(shown ?? find(...path) ?? "");
  let value = number ? localise(text) : text;
  const found = problemsAt(path);
  return h(area ? "textarea" : "input", {
    id: idOf(path), type: area ? null : "text", value, placeholder,
    "aria-label": name, rows: area ? 2 : null, inputmode: number ? "decimal" : null,
    "aria-invalid": found.some(({ severity }) => severity === "error") ? "true" : null,
    "aria-describedby": found.length ? `${idOf(path)}-why` : null,
    onblur: () => store.fresh && setTimeout(() => refresh(store.fresh = null)), // when the next field has the focus
    [others.type ? "onblur" : "onchange"]: ({ target }) => { // each key that is pressed changes a time
      const text = target.value.trim();
      if (text === value || (others.type && !text)) return;
      value = text;
      target.defaultValue = target.value;
      const entered = number ? plainNumber(text) : text;
      void edit(() => (save ? save(entered) : write(path, entered, number)));
    },
    ...others,
  });
}

export function field(path, name, { hint, ...options } = {}) {
  return labelled(idOf(path), name, hint, input(path, null, options), mistakes(path));
}

/** Return a field for a time in UTC; one that is not complete changes nothing. */
export function timeField(path, name) {
  const time = new Date(find(...path) ?? "");
  return field(path, name, { type: "datetime-local", max: "2241-12-31T23:59",
    shown: time > 0 ? time.toISOString().slice(0, 16) : "", save: (text) => write(path, `${text}:00Z`, true) });
}

const labelled = (id, name, hint, ...content) => h("div", { class: "field" },
  h("label", { for: id }, name), hint && note(hint), content);

export function check(id, name, isOn, change, hint) {
  return h("div", { class: "check" },
    h("input", { type: "checkbox", id, checked: isOn, onchange: (event) => change(event.target.checked) }),
    h("label", { for: id }, name, hint && h("span", { class: "hint" }, ` ${hint}`)));
}

export function choose(id, name, options, value, change, hint) {
  let isKeyed = false; // an arrow key changes the choice, but does not make it
  const apply = () => {
    if (element.value === value) return;
    value = element.defaultValue = element.value;
    change(value);
  };
  const wait = () => element.nextSibling || element.after(note(t("press_enter")));
  const element = h("select", {
    id, value, onchange: () => (isKeyed ? wait() : apply()), onblur: apply, onpointerdown: () => { isKeyed = false; },
    onkeydown: ({ key, altKey }) => {
      isKeyed = key !== " " && !altKey;
      if (key === "Enter") apply();
    },
  }, options.map(([key, text]) => h("option", { value: key }, text)));
  return labelled(id, name, hint, element);
}

/** Return a button; one that does nothing now can still have the focus. */
export const button = (id, text, click, { disabled, ...attributes } = {}) => h("button", {
  type: "button", id, onclick: () => disabled || click(), "aria-disabled": disabled ? "true" : null, ...attributes
}, text);
const running = new Set();
/** Return a button for a step of seconds: until it is done, the button says so and does nothing. */
export function slowButton(id, text, step, { disabled, ...attributes } = {}) {
  const isRunning = running.has(id);
  const click = async () => {
    announce(t("computing"), drawNow(running.add(id)));
    await step().catch(fail);
    refresh(running.delete(id));
  };
  return button(id, isRunning ? t("computing") : text, click, { disabled: disabled || isRunning, ...attributes });
}
export const fold = (id, text, attributes, ...children) => h("details", { id, ...attributes },
  h("summary", { id: `${id}-title` }, text), children);

export function textGrid(rows, tags, hasActions = false) {
  const heads = [h("td", {}), ...tags.map(languageName).map((each) => h("th", { scope: "col" }, each)),
    hasActions && h("th", { scope: "col" }, h("span", { class: "hidden" }, t("actions")))];
  return h("div", { class: "scroll" }, h("table", { class: "grid" },
    h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows)));
}

export const languageName = (tag) => (/^[a-z]{2,3}(-[a-z]{2}|-[a-z]{4})?$/i.test(tag)
  ? new Intl.DisplayNames([document.documentElement.lang], { type: "language" }).of(tag) : tag);

/** Return the cells of a text in each language; a missing one is marked. */
export function textCells(name, tags, pathOf, { area, fallback, save, instead = "", ...others } = {}) {
  return tags.map((tag, place) => {
    const path = pathOf(tag);
    const text = find(...path) ?? (place === 0 ? fallback?.(tag) : undefined);
    const lacks = text === undefined && store.state.facts?.missing?.[tag]?.includes(path.slice(2).join("."));
    return h("td", { "data-label": languageName(tag), class: lacks ? "lacks" : null },
      input(path, `${name}, ${languageName(tag)}`, {
        area, shown: text ?? "", placeholder: lacks ? t("lacks") + instead : "", lang: tag, dir: "auto",
        save: save && ((value) => save(tag, value)), ...others,
      }), mistakes(path));
  });
}

export const drawProgress = (name, { done, total }, ...more) => h("p", {},
  h("progress", { max: total, value: done, "aria-hidden": "true" }), " ",
  t(name, formatCount(done), formatCount(total)), " ", more);
export const h2 = (name) => h("h2", {}, t(name));
export const h3 = (name) => h("h3", {}, t(name));
export const heading = (name, lead = `${name}_lead`) => [h2(name), h("p", { class: "lead" }, t(lead))];
export const ownInput = (id, name, value, take, { hint, ...attributes } = {}) => labelled(id, name, hint,
  h("input", { id, type: "text", value, oninput: (event) => take(event.target.value), ...attributes }));
