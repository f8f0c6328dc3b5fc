// Requests to the collector. Addresses are relative, so the page works below any prefix.

import { token } from "./token.js";

const TIMEOUT_MS = 15_000;

/** A request that the collector refused or did not respond to. */
export class Problem extends Error {
  constructor(status, reason, detail, retryAfter = 0) {
    super(detail);
    Object.assign(this, { status, reason, retryAfter });
  }
}

export const surveys = async () => (await getJson("v1/surveys")).surveys;
export const plan = (id) => getJson(`v1/surveys/${encodeURIComponent(id)}`);
/** Resolve to the sections about a survey, as HTML. */
export const progress = (id) =>
  get(`v1/surveys/${encodeURIComponent(id)}/progress.html`, true, (response) => response.text());
/** Resolve to the CSV file of all estimates, as a Blob. */
export const estimatesTable = (id) =>
  get(`v1/surveys/${encodeURIComponent(id)}/estimates.csv`, true, (response) => response.blob());

const getJson = (path) => get(path, false, (response) => response.json());

async function get(path, asOperator, read) {
  const headers = asOperator ? { Authorization: `Bearer ${token()}` } : {};
  const response = await fetchOrFail(path, headers);
  if (!response.ok) throw await readProblem(response);
  try {
    return await read(response);
  } catch {
    throw new Problem(response.status, "garbled", "The response could not be read. Is this the address of the collector?");
  }
}

async function fetchOrFail(path, headers) {
  try {
    return await fetch(path, { headers, credentials: "omit", signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch {
    throw new Problem(0, "unreachable", "The collector does not respond.");
  }
}

async function readProblem(response) {
  const problem = await response.json().catch(() => ({}));
  const retryAfter = Number(response.headers.get("Retry-After")) || 0;
  const detail = problem.detail || problem.title || response.statusText;
  return new Problem(response.status, problem.reason ?? "", detail, retryAfter);
}
