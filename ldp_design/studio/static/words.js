/** The words of the page, in English and German; {0}, {1} are holes. */
import { h } from "./dom.js";
let [words, sentences] = [{}, []];
export let language = "en";

export async function loadWords(wanted) {
  language = wanted.startsWith("de") ? "de" : "en";
  words = await (await fetch(`static/words-${language}.json`)).json();
  const known = await (await fetch(`static/sentences-${language}.json`)).json();
  sentences = Object.entries(known).map(([english, shown]) => [new RegExp(`^${
    english.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{\d\}/g, "(.*?)")}$`, "s"), shown]);
  document.documentElement.lang = language;
}

/** Return what the server says in the language of the page, or as it is, with its language. */
export function translate(message) {
  const [pattern, shown] = sentences.find(([each]) => each.test(message)) ?? [];
  if (!pattern) return h("span", { lang: language === "en" ? null : "en" }, message);
  return h("span", {}, fill(shown, pattern.exec(message).slice(1).map(localise)));
}

export const localise = (text) => (language === "de" && /^-?[\d,]+(\.\d+)?$/.test(text)
  ? String(text).replace(/[.,]/g, (each) => (each === "." ? "," : ".")) : text);

/** Return a number that somebody typed as the file has it: without separators of thousands, with a point. */
export const plainNumber = (text) => {
  const [thousands, point] = language === "de" ? [".", ","] : [",", "."];
  const isGrouped = new RegExp(`^-?[1-9]\\d{0,2}([${thousands}\\s\u2019']\\d{3})+([${point}]\\d+)?$`).test(text);
  return (isGrouped ? text.replace(/[^\d,.-]/g, "").replaceAll(thousands, "") : text).replace(",", ".");
};
const fill = (text, holes) => text.replace(/\{(\d)\}/g, (_, place) => String(holes[place]));
export const t = (name, ...holes) => fill(words[name] ?? name, holes);
export const formatCount = (number) => Number(number).toLocaleString(language);
export const formatOdds = (chance) => formatCount(Math.round(1 / chance));
const round = (number, digits) => number.toLocaleString(language, { maximumFractionDigits: digits });
export const formatShare = (share, digits = 1) => `${round(100 * share, digits)}\u202f%`;
export const formatTime = (time) => `${new Date(time).toLocaleString(
  language === "en" ? "en-GB" : language, { dateStyle: "long", timeStyle: "short", timeZone: "UTC" })} UTC`;
export const formatPoints = (margin) => (margin === null || margin >= 0.5 ? t("or_more", 50) : round(100 * margin, 1));
export const formatNumber = (number) => (number === null ? t("unknown")
  : round(Number(number.toPrecision(3)), number < 100 ? 4 : 0));
