// The page: survey, token and refreshes. The collector renders what it shows.

import * as api from "./api.js";
import { byId, element, formatCount, saveFile, setText } from "./dom.js";
import { showPlan } from "./plan.js";
import { Refresher } from "./refresher.js";
import { formatChange, removeSections, showSections } from "./sections.js";
import { storeToken, token } from "./token.js";

const ANNOUNCEMENT_INTERVAL_MS = 60_000; // minimum between two automatic announcements
const TITLE = "Survey progress";
const WRONG_TOKEN = "This is not this collector's operator token. Check LDP_OPERATOR_TOKEN in the collector's environment, or its token file.";

const state = { digests: new Map(), survey: null, counts: null, announced: 0 }; // counts: null if none are shown
const refresher = new Refresher(refresh);

start();

async function start() {
  byId("survey").addEventListener("change", ({ target }) => (location.hash = encodeURIComponent(target.value)));
  byId("unlock").addEventListener("submit", unlock);
  byId("forget").addEventListener("click", forget);
  byId("refresh").addEventListener("click", refreshNow);
  byId("auto").addEventListener("change", ({ target }) => (refresher.automatic = target.checked));
  byId("download").addEventListener("click", download);
  window.addEventListener("hashchange", selectSurvey);
  refresher.automatic = byId("auto").checked; // browsers remember it over a reload
  try {
    await listSurveys();
  } catch (error) {
    showProblem(`${error.message} Load the page again to retry.`);
    return;
  }
  await selectSurvey();
}

async function listSurveys() {
  const found = await api.surveys();
  if (found.length === 0) throw new Error("No survey of this collector has started.");
  byId("survey").replaceChildren(...found.map(({ id }) => element("option", { value: id }, id)));
  byId("survey").disabled = false;
  state.digests = new Map(found.map(({ id, digest }) => [id, digest]));
}

/** Show the survey that the address names, otherwise the first one. A link to a part of the page selects none. */
async function selectSurvey() {
  const wanted = decodeHash(location.hash.slice(1));
  if (wanted && state.survey && !state.digests.has(wanted)) {
    history.replaceState(null, "", `#${encodeURIComponent(state.survey)}`);
    return;
  }
  const survey = state.digests.has(wanted) ? wanted : state.digests.keys().next().value;
  if (survey === undefined || survey === state.survey) return;
  for (const id of ["plan", "figures"]) byId(id).hidden = true; // they are those of another survey
  Object.assign(state, { survey, counts: null, announced: 0 });
  byId("survey").value = survey;
  document.title = `${survey} – ${TITLE}`;
  try {
    const plan = await api.plan(survey);
    if (survey !== state.survey) return;
    showPlan(plan, state.digests.get(survey));
    byId("plan").hidden = false;
  } catch (error) {
    showProblem(error.message);
  }
  if (token() === null) askForToken();
  else await refresher.runAgain();
}

function decodeHash(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

// -- the token --------------------------------------------------------------------------------

async function unlock(event) {
  event.preventDefault();
  const entered = byId("token").value.trim();
  if (!entered) return;
  if (!/^[\x20-\x7e]+$/.test(entered)) return refuse(WRONG_TOKEN); // not allowed in a header
  setText(byId("token-problem"), "");
  storeToken(entered);
  refresher.automatic = byId("auto").checked;
  await refresher.runAgain();
  if (!byId("figures").hidden) byId("main").focus();
}

/** Show the form instead of the estimates, which are removed. */
function askForToken(why = "") {
  refresher.stop();
  storeToken(null);
  state.counts = null;
  removeSections();
  showProblem("");
  byId("figures").hidden = true;
  byId("unlock").hidden = false;
  byId("token").toggleAttribute("aria-invalid", Boolean(why));
  setText(byId("token-problem"), why);
}

/** Forget a token that was refused, or that the operator wants to be forgotten. */
function refuse(why) {
  askForToken(why);
  byId("token").select();
  byId("token").focus();
}

function forget() {
  byId("token").value = "";
  refuse("");
}

// -- refreshing -------------------------------------------------------------------------------

async function refreshNow() {
  state.announced = 0;
  await refresher.runAgain();
}

/** Fetch and show once; resolve to null, or after a failure to the seconds to wait. */
async function refresh() {
  const survey = state.survey;
  if (survey === null || token() === null) return null;
  try {
    const sections = await api.progress(survey);
    if (survey !== state.survey || token() === null) return null;
    show(sections);
    return null;
  } catch (error) {
    return survey === state.survey ? handleFailure(error) : 0;
  }
}

/** Save all estimates as a CSV file. A link could not send the token, so the page fetches the file. */
async function download() {
  const survey = state.survey;
  try {
    saveFile(await api.estimatesTable(survey), `${survey}-estimates.csv`);
    setText(byId("status"), "The table of estimates was downloaded.");
  } catch (error) {
    if (survey === state.survey) handleFailure(error);
  }
}

function handleFailure(error) {
  if (!(error instanceof api.Problem)) console.error(error); // an error of this page itself
  if (error.status === 401 && !error.message.includes(" expired on ")) {
    refuse(WRONG_TOKEN);
  } else if (error.reason === "not-authorised") {
    refuse(`Access denied: ${error.message}.`);
  } else {
    const stale = state.counts ? " The numbers below are from the last successful refresh; trying again." : " Trying again.";
    showProblem(error.message.replace(/\.?$/, ".") + stale);
  }
  return error.retryAfter ?? 0;
}

function showProblem(problem) {
  setText(byId("problem"), problem);
  byId("problem").hidden = !problem;
}

// -- showing ----------------------------------------------------------------------------------

function show(sections) {
  const before = state.counts;
  showProblem("");
  setText(byId("token-problem"), "");
  byId("token").value = "";
  byId("unlock").hidden = true;
  byId("figures").hidden = false;
  state.counts = showSections(sections, before);
  announce(state.counts.get("reports"), before?.get("reports"));
}

/** Announce the update to screen readers, at most once per interval. */
function announce(reports, before) {
  const at = new Date();
  const updated = `Updated at ${at.toLocaleTimeString("en", { hourCycle: "h23" })}`;
  setText(byId("updated"), updated);
  if (state.announced && (reports === before || at - state.announced < ANNOUNCEMENT_INTERVAL_MS)) return;
  state.announced = at.getTime();
  const more = before === undefined ? "" : `, ${formatChange(reports - before)} since the last refresh`;
  const total = `${formatCount(reports)} ${reports === 1 ? "report" : "reports"}`;
  setText(byId("status"), `${updated}: ${total}${more}.`);
}
