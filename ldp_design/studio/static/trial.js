/** The page as people see it, and a trial with a real collector and made-up people. */
import { get, post } from "./api.js";
import { announce, card, h, row, setStage } from "./dom.js";
import { button, choose, drawProgress, h2, heading, languageName, ownInput, slowButton } from "./fields.js";
import { fail, find, languages, refresh, run, store } from "./store.js";
import { people } from "./sizes.js";
import { formatCount, language as spoken, t } from "./words.js";
const COUNT_MS = 1500;
let look = { language: "", width: "phone" };
let [preview, progress] = [null, null];
let [reports, count] = [0, "100"];
let resultsIn = null; // the language of the results that are shown; unknown after a reload
let leave = () => {}; // sends the made-up people home

function makeFrame(file, title, content, listen = () => {}) {
  const element = h("iframe", { src: `${store.state.frames}/${file}`, title, sandbox: "allow-scripts allow-forms" });
  addEventListener("message", ({ data, source }) => {
    if (source !== element.contentWindow) return;
    if (data === "ready") element.contentWindow.postMessage(content, "*"); // it has no origin to name
    else listen(data);
  });
  return element;
}

export function drawPage() {
  const { facts } = store.state;
  if (!facts) return [setStage("", "", ""), h2("page"), h("p", { class: "card" }, t("correct_first"))];
  const tags = languages();
  const language = [look.language, spoken].find((tag) => tags.includes(tag)) ?? tags[0] ?? "en";
  if (preview?.digest !== facts.digest) {
    const made = preview = { digest: facts.digest };
    get("api/preview").then((content) => {
      if (made === preview) refresh(made.content = content);
    }, fail);
  }
  setStage(preview.content ? `${facts.digest} ${language}` : "", t("page"), look.width, () =>
    makeFrame("preview.html", t("page"), { ...preview.content, language }));
  const choice = (name) => (value) => { look = { ...look, [name]: value }; refresh(); };
  return [
    ...heading("page"), facts.missing[language]?.length > 0 && h("p", { class: "notice" }, t("page_lacks")),
    row(tags.length > 1 && choose(
        "page-language", t("language"), tags.map((tag) => [tag, languageName(tag)]), language, choice("language")),
      choose("page-width", t("width"), [["phone", t("phone")], ["wide", t("wide")]], look.width, choice("width")))];
}

export function drawTrial() {
  const { facts, trial } = store.state;
  const start = () => run(async () => { progress = null; reports = 0; return post("api/trial"); });
  const hasResults = trial?.results && (resultsIn ?? spoken) === spoken;
  setStage(hasResults ? `results?${trial.results}` : "", t("trial_results"), "wide", () =>
    h("iframe", { src: `results?${trial.results}`, title: t("trial_results"), sandbox: "allow-same-origin" }));
  return [
    ...heading("trial"), !facts && h("p", { class: "card" }, t("correct_first")),
    find("relay") && h("p", { class: "card" }, t("trial_relay")),
    facts && !trial && card(
      find("waves") && h("p", {}, t("trial_waves")), find("survey", "enrolment") && h("p", {}, t("trial_invited")),
      slowButton("trial-start", t("trial_start"), start, { class: "primary" })),
    trial && store.state.isTrialOld && h("p", { class: "notice" }, t("trial_old")),
    trial && h("ol", { class: "steps card" },
      h("li", {}, h("a", { href: trial.page, target: "_blank", rel: "noopener noreferrer" }, t("trial_open")), " ",
        h("span", { class: "hint" }, t("trial_open_hint"))),
      h("li", {}, row(
        ownInput("people-count", t("trial_people"), count, (text) => { count = text; }, { hint: t("trial_most"),
          type: "number", min: 1, onchange: ({ target }) => { count = target.value = Math.min(target.value, 1000); } }),
        slowButton("trial-answer", t("trial_answer"), answer)),
      progress && drawProgress("trial_done", progress, progress.failed > 0 && t("trial_failed", progress.failed))),
      h("li", {}, h("p", {}, t("trial_reports", formatCount(reports)), " ", t("trial_few", formatCount(people()))),
        slowButton("trial-results", t("trial_results"), () => showResults(spoken)),
        hasResults && h("p", {}, h("a", { href: "results", target: "_blank" }, t("trial_results_open")))),
      h("li", {}, button("trial-end", t("trial_end"), () => end().catch(fail)), " ",
        h("span", { class: "hint" }, t("trial_end_hint"))))];
}

const showResults = (language) => run(() => post("api/results", { language }), refresh(resultsIn = "") > 0)
  .then((state) => refresh(resultsIn = state && language));

setInterval(async () => {
  if (store.view !== "trial" || !store.state?.trial) return;
  const before = reports;
  reports = (await get("api/count").catch(() => ({ reports }))).reports;
  if (reports !== before) refresh();
}, COUNT_MS);

async function answer() {
  const content = await get(`api/people?count=${encodeURIComponent(count)}`);
  const total = content.people.length;
  progress = { done: 0, failed: 0, total };
  await new Promise((resolve) => {
    const frame = makeFrame("people.html", t("trial_people"), content, (news) => {
      progress = { ...news, total };
      if (news.done === total) leave();
      else if (news.done % 10 === 0) refresh();
    });
    leave = () => resolve(frame.remove());
    frame.className = "hidden";
    document.body.append(frame);
    refresh();
  });
  announce(t("trial_done", progress.done, total));
}

/** End the trial; ask first if answers would be lost. */
async function end() {
  ({ reports } = await get("api/count"));
  if (reports > 0 && !confirm(t("trial_end_ask", formatCount(reports)))) return;
  leave();
  await run(() => post("api/end"));
}
