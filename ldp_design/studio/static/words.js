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
export const formatShare = (share) => (share === null || share > 10 ? t("unknown")
  : `${(100 * share).toLocaleString(language, { maximumFractionDigits: 1 })} %`);
