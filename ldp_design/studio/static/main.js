/** The studio's page: the parts of the work, the state of the file, and what other programs do to it. */
import { get, post } from "./api.js";
import { announce, focusLater, h, redraw, row, setStage } from "./dom.js";
import { button, choose, h2, idOf, listProblems } from "./fields.js";
import { drawPublish } from "./publish.js";
import { drawQuestions } from "./questions.js";
import { drawSizes } from "./sizes.js";
import { drawImport, drawNew } from "./start.js";
import { errors, find, isWaiting, lacks, onChange, refresh, reload, run, say, store, take } from "./store.js";
import { drawPage, drawTrial } from "./trial.js";
import { language, loadWords, t } from "./words.js";

const PARTS = {
  questions: () => (store.state.tables ? drawQuestions() : drawFile()),
  sizes: drawSizes, page: drawPage, trial: drawTrial, publish: () => drawPublish(go, goToFirst),
  file: () => [drawFile(), drawImport(false)], start: () => [drawNew(), drawImport(true)],
};
let [text, textVersion] = ["", -1];
let isGone = false;
const PRESSED = "button, summary, label, a, [type=checkbox]";

function draw() {
  const { state, view } = store;
  if (!state) return;
  const isNew = state.tables && !Object.keys(state.tables).length;
  const shown = isNew ? "start" : view;
  if (!["page", "trial"].includes(shown)) setStage("", "", "");
  redraw(document.getElementById("app"), h("a", { class: "skip", href: "#main" }, t("skip")),
    h("header", {}, drawHead(isNew),
      !isNew && h("nav", { "aria-label": t("parts") }, h("ol", {}, Object.keys(PARTS).slice(0, -1).map((each, place) =>
        h("li", {}, button(`view-${each}`, t(`view_${each}`), () => go(each), {
          "aria-current": view === each ? "page" : null, "data-step": place + 1
        })))))),
    h("main", { id: "main", tabindex: "-1" }, drawMessages(store), drawView(shown)));
  document.title = `${state.saved ? "" : "\u2022 "}${state.name} \u2013 ${t("studio")}`;
}

/** Draw a part; a file whose tables are not what a survey has is shown as text. */
function drawView(view) {
  try {
    return PARTS[view]();
  } catch {
    return [h("p", { class: "alarm", role: "alert" }, t("only_text")), drawFile()];
  }
}

function go(view, id = `view-${view}`) {
  Object.assign(store, { view, message: "", isMoving: false });
  scrollTo(0, 0);
  refresh(focusLater(id));
}

/** Show the field of the first path of a list, or else the file with all mistakes, after the edits before. */
async function goToFirst(list) {
  await run(() => undefined, true);
  const path = list()[0] ?? [""];
  const [kind, name] = path[0] === "texts" ? path.slice(2) : path;
  if (["features", "label"].includes(kind)) store.open = kind === "label" ? find("label", "name") : name;
  go(kind === "relay" || ["users", "epsilon"].includes(name) ? "sizes" : "questions",
    idOf(path.at(-1) === "range" ? [...path, "0"] : path));
  if (!document.querySelector(`[id^="${CSS.escape(idOf(path))}"]`)) go("file");
}

function drawHead(isNew) {
  const { state } = store;
  const count = (id, name, list) => list().length > 0
    && [button(id, t(name, list().length), () => goToFirst(list), { class: `small ${id}` }), " \u00b7 "];
  return h("div", { class: "bar-top" },
    h("h1", {}, h("span", {}, t("studio")), " ", h("code", { title: state.path }, state.name)),
    !isNew && h("p", { class: "status" },
      count("wrong", "mistakes", errors) || `${t("valid")} \u00b7 `, count("lacking", "lacking", lacks),
      h("span", { id: "status" }, t(state.saved ? "saved" : "unsaved"))),
    row(["undo", "redo"].map((each) => (!isNew || state.undo || state.redo)
        && button(each, t(each), () => step(each), { disabled: !state[each] })),
      !isNew && button(
        "save", t("save"), () => step("save"), { class: "primary", "aria-disabled": String(state.saved) }),
      choose("words", t("studio_language"), [["en", "English"], ["de", "Deutsch"]], language,
        (tag) => loadWords(tag).then(() => refresh(store.message = "", announce(""))))));
}

const drawMessages = ({ message, state, tone }) => [
  isGone ? h("p", { class: "alarm", role: "alert" }, t("gone"))
    : message && h("p", { id: "message", class: tone, role: tone === "alarm" && "alert" }, message),
  state.notice && h("p", { class: "notice" }, t(`notice_${state.notice}`)),
  state.draftProblem && h("p", { class: "alarm" }, t("no_draft", state.draftProblem)),
  state.conflict && h("div", { class: "alarm", role: "alert" }, h("p", {}, t("conflict", state.name)), row(
    button("mine", t("mine"), () => resolve(true)), button("theirs", t("theirs"), () => resolve(false))))];
const step = (name) => run(() => post(`api/${name}`));
const resolve = (mine) => run(() => post("api/resolve", { mine })).then((state) => state && say(t("kept", state.kept)));

/** The file as text: the truth, and the way to entries that the other parts do not show. */
function drawFile() {
  const area = h("textarea", {
    id: "text", rows: 24, spellcheck: "false", value: text, "aria-describedby": "text-hint",
    oninput: () => { text = area.value; }
  });
  if (textVersion !== store.state.version) {
    textVersion = store.state.version;
    void get("api/text").then((found) => refresh(text = found.text));
  }
  return [
    h2("view_file"), h("p", { class: "lead", id: "text-hint" }, t("file_lead")), listProblems(store.state.problems),
    h("div", { class: "field" }, h("label", { for: "text" }, store.state.name), area),
    button("take-text", t("take_text"), () => run(() => post("api/text", { text })))];
}
// What is pressed is not exchanged before it is released.
const release = () => store.isMoving && setTimeout(() => refresh(store.isMoving = false));
addEventListener("pointerdown", ({ target }) => { store.isMoving ||= target.closest(PRESSED) !== null; });
for (const each of ["pointerup", "pointercancel"]) addEventListener(each, release);

addEventListener("input", ({ target }) => {
  if (!target.id.startsWith("f-")) return;
  document.getElementById("status").textContent = t("unsaved");
  document.getElementById("save").setAttribute("aria-disabled", "false");
});

addEventListener("beforeunload", (event) => {
  if (isWaiting()) event.preventDefault();
  document.activeElement.blur(); // which sends what somebody is typing
});

addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  const isTyping = document.activeElement.matches("input[type=text], textarea");
  const key = event.key.toLowerCase();
  if (key !== "s" && (key !== "z" || isTyping)) return;
  event.preventDefault();
  if (key === "s") document.activeElement.blur();
  void step(key === "s" ? "save" : event.shiftKey ? "redo" : "undo");
});

await loadWords(navigator.language);
onChange(draw);
focusLater("new-title");
take(await get("api/state"));
const events = new EventSource("events");
events.onmessage = ({ data }) => reload(Number(data), isGone && refresh(isGone = false));
events.onerror = () => refresh(isGone = true);
