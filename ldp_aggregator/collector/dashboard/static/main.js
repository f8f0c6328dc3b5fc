// The page: survey, token and refreshes. The other modules build what it shows.

import * as api from "./api.js";
import { Card, viewFeature, viewLabel } from "./cards.js";
import { byId, element, saveFile, setText } from "./dom.js";
import { MarginsTable } from "./margins.js";
import { Refresher } from "./refresher.js";
import { Counts, showPlan } from "./counts.js";
import { showSilos } from "./silos.js";
import { storeToken, token } from "./token.js";
import * as format from "./format.js";

const ANNOUNCEMENT_INTERVAL_MS = 60_000; // minimum between two automatic announcements
const TITLE = "Survey progress";
const WRONG_TOKEN = "This is not this collector's operator token. Check LDP_OPERATOR_TOKEN in the collector's environment, or its token file.";

const state = { digests: new Map(), survey: null, shown: null, announced: 0, cards: [] };
const refresher = new Refresher(refresh);
const counts = new Counts();
const marginsTable = new MarginsTable();

start();

async function start() {
  byId("survey").addEventListener("change", ({ target }) => (location.hash = encodeURIComponent(target.value)));
  byId("unlock").addEventListener("submit", unlock);
  byId("forget").addEventListener("click", forget);
  byId("refresh").addEventListener("click", refreshNow);
  byId("auto").addEventListener("change", ({ target }) => (refresher.automatic = target.checked));
  byId("only").addEventListener("change", filter);
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

/** Show the survey that the address names, otherwise the first one. */
async function selectSurvey() {
  const wanted = decodeHash(location.hash.slice(1));
  const survey = state.digests.has(wanted) ? wanted : state.digests.keys().next().value;
  if (survey === undefined || survey === state.survey) return;
  byId("figures").hidden = true; // they are those of another survey
  Object.assign(state, { survey, shown: null, announced: 0 });
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
  state.shown = null;
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
    const now = await api.progress(survey);
    if (survey !== state.survey || token() === null) return null;
    show(now);
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
  if (error.status === 401) {
    refuse(WRONG_TOKEN);
  } else if (error.reason === "not-authorised") {
    refuse("This collector was started without LDP_OPERATOR_TOKEN, so nobody can see its estimates.");
  } else {
    const stale = state.shown ? " The numbers below are from the last successful refresh; trying again." : " Trying again.";
    showProblem(error.message.replace(/\.?$/, ".") + stale);
  }
  return error.retryAfter ?? 0;
}

function showProblem(problem) {
  setText(byId("problem"), problem);
  byId("problem").hidden = !problem;
}

// -- showing ----------------------------------------------------------------------------------

function show(now) {
  const before = state.shown?.survey === now.survey ? state.shown : null;
  showProblem("");
  setText(byId("token-problem"), "");
  byId("token").value = "";
  byId("unlock").hidden = true;
  byId("figures").hidden = false;
  counts.show(now, before);
  showSilos(now);
  // Estimates change only if reports arrive; without them, a selection of text stays.
  if (now.reports !== before?.reports) showEstimates(now, before === null);
  state.shown = now;
  announce(now, before);
}

function showEstimates(now, isFirst) {
  if (isFirst) createCards(now);
  const classes = now.label?.values ?? [];
  const views = now.features.map((feature) => viewFeature(feature, classes, now.rule));
  if (now.label) views.unshift(viewLabel(now));
  views.forEach((view, place) => state.cards[place].show(view));
  if (!now.silo) marginsTable.show(now);
  byId("no-reports").hidden = now.reports > 0;
  byId("all-looks").hidden = now.intervals !== "all looks";
  for (const node of document.querySelectorAll(".about-classes")) node.hidden = !now.label;
  filter();
}

/** Create the cards of a survey. */
function createCards({ label, features }) {
  state.cards = [...(label ? [label] : []), ...features].map(({ name }) => new Card(name));
  byId("cards").replaceChildren(...state.cards.map(({ node }) => node));
}

function filter() {
  const only = byId("only").checked;
  state.cards.forEach(({ node, isDistinguishable }) => (node.hidden = only && !isDistinguishable));
  byId("none-shown").hidden = state.cards.some(({ node }) => !node.hidden);
}

/** Announce the update to screen readers, at most once per interval. */
function announce(now, before) {
  const at = new Date();
  setText(byId("updated"), `Updated at ${format.clock(at)}`);
  const unchanged = before && now.reports === before.reports;
  if (state.announced && (unchanged || at - state.announced < ANNOUNCEMENT_INTERVAL_MS)) return;
  state.announced = at.getTime();
  const more = before ? `, ${format.change(now.reports - before.reports)} since the last refresh` : "";
  setText(byId("status"), `Updated at ${format.clock(at)}: ${format.plural(now.reports, "report", "reports")}${more}.`);
}
