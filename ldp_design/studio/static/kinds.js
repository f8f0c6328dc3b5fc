/** The kinds of answers, and the entries of the survey file that each has. */
import { find } from "./store.js";
export const KINDS = ["one", "yesno", "scale", "several", "number", "bins", "edges"];
const KEYS = ["values", "choices", "range", "bins", "edges", "ordered", "spread", "moments"];
const ANSWERS = [1, 2, 3, 4, 5].map((number) => `answer-${number}`);
/** Return a list; whatever else a file with mistakes has is empty. */
export const list = (value) => (Array.isArray(value) ? value : []);

export function kindOf(entry) {
  if (entry.choices) return "several";
  if (entry.range) return entry.bins === undefined ? "number" : "bins";
  if (entry.edges) return "edges";
  if (entry.ordered === true) return "scale";
  const values = list(entry.values);
  return values.length === 2 && values.every((each) => typeof each === "boolean") ? "yesno" : "one";
}

/** Return the entries of a new question of a kind; answers that exist are kept. */
export function entriesOf(kind, entry = {}) {
  const known = list(entry.values ?? entry.choices).filter((each) => typeof each !== "boolean");
  const values = known.length ? known : ANSWERS.slice(0, kind === "scale" ? 5 : 2);
  const range = [list(entry.range), list(entry.edges), [0, 100]].find((each) => each.length > 1);
  const limits = [range[0], range.at(-1)].map((each) => ({ number: String(each) }));
  return {
    yesno: { values: [true, false] }, scale: { values, ordered: true }, several: { choices: values },
    number: { range: limits }, bins: { range: limits, bins: 4 },
    edges: { edges: [0, 10, 20, 50].map((each) => ({ number: String(each) })) },
  }[kind] ?? { values };
}

export function changeKind(path, kind) {
  const entry = find(...path);
  const wanted = entriesOf(kind, entry);
  return [
    ...KEYS.filter((key) => key in entry && !(key in wanted)).map((key) => ({ op: "delete", path: [...path, key] })),
    ...Object.entries(wanted).map(([key, value]) => ({ op: "set", path: [...path, key], value })),];
}
export const answersOf = (entry) => list(entry.values ?? entry.choices).map(String);
export const hasValues = (entry) => Array.isArray(entry.values);
export const isTabular = (entry) => hasValues(entry) || entry.bins !== undefined || entry.edges !== undefined;

/** Return a short name made of a text, which is none of the names that are taken. */
export function slug(text, taken, separator = "_") {
  const words = text.normalize("NFC").toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ["question"];
  const fitting = words.filter((_, place) => words.slice(0, place + 1).join(separator).length <= 40);
  const name = fitting.join(separator) || words[0].slice(0, 40);
  let free = name;
  for (let number = 2; taken.includes(free); number += 1) free = `${name}${separator}${number}`;
  return free;
}

/** Return the short name of a survey with a title: a to z and digits, as it is a part of addresses. */
export function makeId(title) {
  const spelt = title.toLowerCase().replace(/[äöü]/g, "$&e").replaceAll("ß", "ss").normalize("NFKD");
  return slug(spelt.replace(/\p{M}/gu, "").replace(/[^a-z0-9]+/g, " ").trim() || "my survey", [], "-");
}
