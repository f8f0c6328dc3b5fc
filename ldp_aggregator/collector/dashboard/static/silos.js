// A survey of silos: each report is one organisation's message of counts, and the page has no estimates of it.

import { byId, setText } from "./dom.js";
import * as format from "./format.js";

/** Show what the messages are, in place of estimates; show the estimates for a survey of people. */
export function showSilos(now) {
  byId("silos").hidden = !now.silo;
  byId("estimates").hidden = byId("margins").hidden = Boolean(now.silo);
  if (now.silo) setText(byId("silo-text"), describeMessages(now));
}

function describeMessages({ reports, silo }) {
  const cells = format.plural(silo.cells, "noisy count", "noisy counts");
  const rows = format.plural(silo.rows, "row", "rows");
  const noise = reports
    ? `The sum of a count over all messages so far has a standard error of at most ${format.count(Math.ceil(silo.count_error))} rows from the noise.`
    : "There are no messages yet.";
  return `Each report is the message of one organisation: ${cells} of at most ${rows}. ${noise} This page has no estimates of them: ldp-train computes estimates from the totals.`;
}
