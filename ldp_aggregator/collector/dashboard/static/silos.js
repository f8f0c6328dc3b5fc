// A silo survey: each report is one organisation's message of counts.

import { byId, setText } from "./dom.js";
import * as format from "./format.js";

/** Show what the messages are; hide the margins with more reports, which are for local surveys. */
export function showSilos(now) {
  byId("silos").hidden = !now.silo;
  byId("margins").hidden = Boolean(now.silo);
  if (now.silo) setText(byId("silo-text"), describeMessages(now));
}

function describeMessages({ reports, silo }) {
  const cells = format.plural(silo.cells, "noisy count", "noisy counts");
  const limit = format.plural(silo.rows, "row", "rows");
  const rows = format.plural(Math.max(0, Math.round(silo.counted_rows)), "row", "rows");
  const found = reports
    ? `All messages so far count an estimated ${rows}. The noise in the sum of one count has a standard error of at most ${format.plural(Math.ceil(silo.count_error), "row", "rows")}.`
    : "There are no messages yet.";
  return `Each report is the message of one organisation: ${cells} of at most ${limit}. ${found}`;
}
