/** The survey as the server describes it, and the queue of edits. */
import { get, post } from "./api.js";
import { announce } from "./dom.js";
import { language, t, translate } from "./words.js";
export const store = { state: null, view: "questions", open: null, message: "", tone: "", size: null, isMoving: false };
let draw = () => {};
export const drawNow = () => draw();
let queue = Promise.resolve();
let waiting = 0;
const renamings = [];
let drawn = 0; // how many of them the author sees
let known = Infinity;
export const onChange = (listener) => { draw = () => listener(drawn = renamings.length); };
/** Draw the page again, unless fields would be exchanged under the author's hand: edits wait, or a slider moves. */
export const refresh = () => waiting || store.isMoving || draw();

/** Take a new description of the survey, unless a later one is known; a question that has a new name stays open. */
export function take(state) {
  if (store.state && state.version < store.state.version) return;
  const before = store.state && names();
  store.state = { ...store.state, ...state };
  const after = names();
  if (!after.includes(store.open)) store.open = after.length === before?.length && after[before.indexOf(store.open)];
  refresh();
}

/** Run a step after those before it; its error becomes a message, in place of the one before it. */
export function run(step, isQuiet = false) {
  waiting += 1;
  queue = queue.then(step).finally(() => { waiting -= 1; }).then((state) => {
    if (!isQuiet) store.message = "";
    if (state?.version !== undefined) take(state);
    return state;
  }, fail);
  return queue;
}
export const fail = ({ message }) => say(message ? translate(message) : t("gone"));

/** Show a message until the next step: an "alarm", or a "notice" of what was done. */
export function say(message, tone = "alarm") {
  Object.assign(store, { message, tone });
  announce(message.textContent ?? message);
  draw();
}

/** Change the survey: `make` returns operations, and is called after all changes before it. */
export function edit(make) {
  const seen = drawn;
  return run(async () => {
    let operations;
    try {
      known = seen;
      operations = [make()].flat(3).filter(Boolean).map(follow);
    } finally {
      known = Infinity;
    }
    if (!operations.length) return store.state;
    const state = await post("api/edit", { operations });
    operations.forEach(remember);
    return state;
  });
}

/** Return an operation with today's names: those that the author sees can be older. */
function follow(operation) {
  const { op, path = [], value } = operation;
  if (op !== "value" || value.old === undefined) return { ...operation, path: now(path) };
  return { op, path: now(path), value: { ...value, old: now([...path.slice(0, -1), "values", value.old]).at(-1) } };
}

/** Return a path with today's names of questions and answers; while an edit is made, of a path of its page. */
export const now = (path) => renamings.slice(known).reduce((found, { around, old, fresh }) => {
  const start = found[0] === "texts" ? 2 : 0; // texts stand below a language
  const place = start + around.length;
  const isSame = found[place] === old && around.every((key, index) => key === found[start + index]);
  return isSame ? found.with(place, fresh) : found;
}, path);

function remember({ op, path, value }) {
  if (op === "rename") renamings.push({ around: path.slice(0, -1), old: path.at(-1), fresh: value });
  if (op !== "value" || value.old === undefined || value.new === undefined) return;
  renamings.push({ around: [...path.slice(0, -1), "values"], old: value.old, fresh: value.new });
}
export const reload = (version) => version > store.state.version && run(() => get("api/state"), true);
export const isWaiting = () => waiting > 0;
export const find = (...path) => now(path).reduce((table, key) => table?.[key], store.state.tables);
export const features = () => Object.keys(find("features") ?? {});
export const languages = () => Object.keys(find("texts") ?? {});
const names = () => [find("label", "name"), ...features()];
export const pathOf = (name) => (name === find("label", "name") ? ["label"] : ["features", name]);
const textOf = (name, ...rest) => [language, languages()[0]]
  .map((tag) => find("texts", tag, ...pathOf(name), ...rest)).find(Boolean);
/** Return the words of a question or of an answer in the studio's or the survey's first language, or its name. */
export const titleOf = (name) => textOf(name, "title") || name;
export const answerOf = (name, answer) => textOf(name, "values", String(answer))
  || (typeof answer === "boolean" ? t(String(answer)) : String(answer));

/** Return mistakes and warnings, without the text that a question lacks whose first field was not left yet. */
export const problems = () => store.state.problems.filter(({ field }) => !store.fresh
  || field !== ["texts", languages()[0], "features", store.fresh, "title"].join("."));

/** Return the paths of entries with mistakes, and of the texts that languages lack. */
export const errors = () => problems().filter(({ severity }) => severity === "error")
  .map(({ field }) => field?.split(".") ?? [""]);
export const lacks = () => Object.entries(store.state.facts?.missing ?? {}).flatMap(([tag, texts]) => texts
  .map((each) => [...each.startsWith("about.") && tag === languages()[0] ? [] : ["texts", tag], ...each.split(".")]));

/** Return the sentences of `check` about an entry; with `below`, also about all in it. */
export function problemsAt(path, below = false) {
  const field = path.join(".");
  return problems().filter((each) => each.field === field || (below && each.field?.startsWith(`${field}.`)));
}
