/** The steps of the survey's page: preview, consent, one report, receipt, withdrawal. */

import { Client } from "./ldp-bayes/index.js"; // with a bundler: from "ldp-bayes"

const CHECK_AGAIN_MS = 1000;

/** A sentence for the person about each state of their answer. */
const SENTENCES = {
  no_consent: "You have not agreed to take part: nothing was sent.",
  ready: "You have agreed, but not answered yet: nothing was sent.",
  waiting: "You have agreed, and are asked later: nothing was sent.",
  missed: "You were asked earlier, and the time is over: nothing was sent.",
  not_asked: "You are not asked, because your time was over when you agreed: nothing was sent.",
  queued: "You have answered: your disguised answer waits in this browser until it can be delivered.",
  sent: "You have answered: your disguised answer has arrived, and counts once. Thank you!",
  duplicate: "You have answered: your disguised answer has arrived, and counts once. Thank you!",
  rejected: "This survey does not accept answers from this browser: nothing more is sent.",
  expired: "The survey is over: nothing more is sent. An answer sent before may have been counted.",
  withdrawn: "You have withdrawn: your answer is deleted from this browser, and no other is made.",
  already_reported: "You have answered before, and everybody answers once: nothing new was sent.",
  invalid: "An answer does not fit the survey: nothing was sent.",
  unavailable: "That did not work: nothing was sent.",
};

/** What the person reads when they have pressed "No", and had not agreed before. */
const REFUSED = "You do not take part: nothing was sent. You can still change your mind below.";

/** Sentences for causes that the person can act on, or should know. */
const CAUSES = {
  "do-not-track": "Your browser asks pages not to share data (Global Privacy Control), so this page sends nothing.",
  "insecure-context": "This page was not loaded over https, so it asks nothing: others could change it on the way.",
  "journal-unavailable":
    "Your browser does not let this page store anything, so it could not remember that you have answered. " +
    "Try it in a window that is not private.",
  "collector-unreachable": "The collector cannot be reached from this page, or it refuses it. Please try again later.",
  "unknown-survey": "The collector does not have this survey.",
};

/** How the page names the entries of the survey. */
const NAMES = { work: "work", hours_sleep: "hours of sleep", rested: "rested" };

const byId = (id) => document.getElementById(id);
const form = byId("form");
const url = document.querySelector("main").dataset.survey;

/** Say what state the answer is in, and offer what the person can do. */
function show({ state, reason, why, problems = [] }, sentence = SENTENCES[state]) {
  const isAnswered = ["queued", "sent", "duplicate"].includes(state);
  const maySend = ["no_consent", "ready", "invalid"].includes(state) && reason !== "do-not-track";
  form.hidden = !maySend && !(state === "unavailable" && !form.hidden);
  if (!maySend && state !== "unavailable") forget();
  const causes = problems.map((each) => `${NAMES[each.field] ?? each.field} ${each.why}.`);
  const cause = CAUSES[reason] ?? (["rejected", "unavailable"].includes(state) ? why : "");
  const text = [sentence, cause, ...causes].filter(Boolean).join(" ");
  if (byId("sentence").textContent !== text) byId("sentence").textContent = text; // else it is read out again
  byId("withdraw").hidden = state !== "ready" && state !== "queued";
  byId("operator").hidden = !isAnswered;
  clearTimeout(timer);
  // this tab or another one sends it meanwhile
  if (state === "queued") timer = setTimeout(async () => show(await client.status()), CHECK_AGAIN_MS);
}

/** Delete the answers from the page: they are needed no more. */
function forget() {
  form.reset();
  forgetPreview();
}

/** Delete the preview, for example because the answers have changed. */
function forgetPreview() {
  byId("preview").hidden = true;
  for (const id of ["drawn", "possible", "bytes"]) byId(id).replaceChildren();
}

/** Return the answers of the form as a row of the survey and its label; an empty answer is a missing value. */
function readForm() {
  const { hours_sleep, rested, work } = form.elements;
  const row = { work: work.value || null, hours_sleep: hours_sleep.value === "" ? null : Number(hours_sleep.value) };
  return [row, rested.value];
}

/** Return an answer of the preview as a text. */
function inWords(answer) {
  return answer.map(([name, text]) => `${NAMES[name] ?? name}: ${text === "(missing)" ? "no answer" : text}`).join(", ");
}

/** Return a probability as a text of a fixed width. */
function percent(share) {
  return `${(100 * share).toFixed(1).padStart(4, "\u2007")}%`;
}

/** Show what a report of these answers would contain. It contains the truth: it never leaves the page. */
async function showPreview() {
  const preview = await client.preview(...readForm());
  byId("drawn").textContent =
    `One question is drawn by chance, this time "${NAMES[preview.question] ?? preview.question}". Your true answer to it ` +
    `(${inWords(preview.truth)}) stays here. A random answer is sent instead, which could come from any of these:`;
  const most = Math.max(...preview.possibleAnswers.map(({ belief }) => belief));
  byId("possible").replaceChildren(
    ...preview.possibleAnswers.map(({ answer, belief, isTruth }) => {
      const line = document.createElement("tr");
      const name = document.createElement("th");
      name.scope = "row";
      name.textContent = inWords(answer);
      if (isTruth) name.append(Object.assign(document.createElement("span"), { className: "own", textContent: "yours" }));
      const chance = document.createElement("td");
      chance.textContent = percent(belief);
      chance.style.setProperty("--share", belief / most);
      line.append(name, chance);
      return line;
    }),
  );
  byId("bytes").textContent = [...preview.report].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  byId("preview").hidden = false;
  byId("preview").focus();
}

/** Record the consent, and report once; both are safe to repeat. */
async function agree() {
  const answers = readForm(); // those that the person agreed to send, also if the form changes meanwhile
  const granted = await client.grant();
  showResult(granted.state === "ready" ? await client.report(...answers) : granted);
}

/** Show the receipt of something that the person did, and move to it. */
function showResult(receipt, refused) {
  show(receipt, receipt.state === "no_consent" ? refused : undefined);
  byId("receipt").focus();
}

/** Say what the survey guarantees, and how to compare its rules with published ones. */
function describe(plan) {
  const surest = Math.ceil(100 / (1 + Math.exp(-plan.epsilon)));
  byId("promise").textContent =
    "What this can reveal is limited: if somebody thinks that something about you is as likely true as false, they " +
    `can be at most ${surest}% sure of it after seeing what was sent (epsilon = ${plan.epsilon}).`;
  const facts = {
    Survey: plan.id,
    "Privacy budget": `epsilon = ${plan.epsilon}, for this one message`,
    "Fingerprint of the rules": plan.digest,
  };
  byId("facts").replaceChildren(
    ...Object.entries(facts).flatMap(([term, text]) => [
      Object.assign(document.createElement("dt"), { textContent: term }),
      Object.assign(document.createElement("dd"), { textContent: text }),
    ]),
  );
  byId("rules").hidden = false;
}

/** Run a step; buttons wait for its end, and an error becomes a sentence. */
async function run(step) {
  const buttons = document.querySelectorAll("button");
  buttons.forEach((each) => (each.disabled = true));
  try {
    await step();
  } catch (error) {
    const { problems, reason, message } = error;
    const state = problems ? "invalid" : reason === "survey-closed" ? "expired" : "unavailable";
    showResult({ state, reason, problems, why: message });
  } finally {
    buttons.forEach((each) => (each.disabled = false));
  }
}

let client;
let timer;
byId("operator-link").href = new URL("/", url).href;
await run(async () => {
  client = new Client(url, { person: null }); // with accounts: an id of the person
  const receipt = await client.status();
  const asks = ["no_consent", "ready"].includes(receipt.state) && receipt.reason !== "do-not-track";
  if (asks) describe(await client.plan());
  else client.plan().then(describe, () => {}); // what the receipt says does not depend on it
  show(receipt);
});

form.addEventListener("input", forgetPreview);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  run(event.submitter?.value === "agree" ? agree : showPreview);
});
byId("refuse").addEventListener("click", () =>
  run(async () => {
    forget();
    showResult(await client.withdraw(), REFUSED); // also if they had agreed before
  }),
);
byId("withdraw").addEventListener("click", () => run(async () => showResult(await client.withdraw())));
