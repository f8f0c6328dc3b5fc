// Asks the collector. Addresses are relative, so the page may live below a prefix.

import { token } from "./token.js";

const PATIENCE = 15_000;

/** The collector said no, or nothing. */
export class Problem extends Error {
  constructor(status, reason, detail, retryAfter = 0) {
    super(detail);
    Object.assign(this, { status, reason, retryAfter });
  }
}

export const surveys = async () => (await ask("v1/surveys")).surveys;
export const plan = (id) => ask(`v1/surveys/${encodeURIComponent(id)}`);
export const progress = (id) => ask(`v1/surveys/${encodeURIComponent(id)}/progress`, true);

async function ask(path, asOperator = false) {
  const headers = asOperator ? { Authorization: `Bearer ${token()}` } : {};
  const answer = await reach(path, headers);
  if (!answer.ok) throw await problemOf(answer);
  try {
    return await answer.json();
  } catch {
    throw new Problem(answer.status, "garbled", "The answer could not be read. Is this address the collector's?");
  }
}

async function reach(path, headers) {
  try {
    return await fetch(path, { headers, credentials: "omit", signal: AbortSignal.timeout(PATIENCE) });
  } catch {
    throw new Problem(0, "unreachable", "The collector does not answer.");
  }
}

async function problemOf(answer) {
  const said = await answer.json().catch(() => ({}));
  const retryAfter = Number(answer.headers.get("Retry-After")) || 0;
  return new Problem(answer.status, said.reason ?? "", said.detail || said.title || answer.statusText, retryAfter);
}
