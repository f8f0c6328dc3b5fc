/** The survey as the server describes it, and the queue of edits. */

import { get, post } from "./api.js";
import { announce } from "./dom.js";
import { t } from "./words.js";

export const store = { state: null, view: "questions", open: null, message: "", size: null, isMoving: false };
let draw = () => {};
let queue = Promise.resolve();

export function onChange(listener) {
  draw = listener;
}

/** Draw the page again, unless the author moves a slider, which would be exchanged under their hand. */
export const refresh = () => store.isMoving || draw();

/** Take a new description of the survey, unless a later one is known. */
export function take(state) {
  if (store.state && state.version < store.state.version) return;
  store.state = { ...store.state, ...state };
  refresh();
}

/** Run a step after those before it; its error becomes a message. */
export function run(step) {
  queue = queue.then(step).then(
    (state) => {
      store.message = "";
      if (state?.version !== undefined) take(state);
      return state;
    },
    (error) => fail(error),
  );
  return queue;
}

export function fail(error) {
  store.message = error.message || t("gone");
  announce(store.message);
  draw();
}

export const edit = (...operations) => run(() => post("api/edit", { operations: operations.flat() }));
export const reload = () => run(() => get("api/state"));

/** Return an entry of the survey's tables, or undefined. */
export const find = (...path) => path.reduce((table, key) => table?.[key], store.state.tables);
export const features = () => Object.keys(find("features") ?? {});
export const languages = () => Object.keys(find("texts") ?? {});

/** Return the sentences of `check` about an entry; with `below`, also about all in it. */
export function problemsAt(path, below = false) {
  const field = path.join(".");
  return store.state.problems.filter((each) => each.field === field || (below && each.field?.startsWith(`${field}.`)));
}
