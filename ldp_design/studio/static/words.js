/** The words of the page, in English and German; {0}, {1} are holes. */

let words = {};
export let language = "en";

export async function loadWords(wanted) {
  language = wanted.startsWith("de") ? "de" : "en";
  words = await (await fetch(`static/words-${language}.json`)).json();
  document.documentElement.lang = language;
}

export function t(name, ...holes) {
  const text = words[name] ?? name;
  return text.replace(/\{(\d)\}/g, (_, place) => String(holes[place]));
}

export const formatCount = (number) => Number(number).toLocaleString(language);
const round = (number, digits) => number.toLocaleString(language, { maximumFractionDigits: digits });
export const formatShare = (share) => `${round(100 * share, 1)}\u202f%`;
export const formatPoints = (margin) => (margin === null || margin >= 0.5 ? t("many") : round(100 * margin, 1));
export const formatNumber = (number) => (number === null ? t("unknown")
  : round(Number(number.toPrecision(3)), number < 100 ? 4 : 0));
