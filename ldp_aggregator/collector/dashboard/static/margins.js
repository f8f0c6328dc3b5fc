// The table of margins: now, with twice and with ten times the reports.

import { byId } from "./dom.js";
import { Table } from "./table.js";
import * as format from "./format.js";

export class MarginsTable {
  constructor() {
    const heads = ["Estimate of", "Now", "Twice the reports", "Ten times the reports"];
    this.table = new Table("Margins of a typical estimate", heads);
    byId("outlook").replaceChildren(this.table.node);
  }

  show({ label, features }) {
    this.table.show([
      ...(label ? [marginRow(`${label.name} (shares)`, label.margins, true)] : []),
      ...features.map((each) => marginRow(...titleOf(each))),
    ]);
  }
}

const titleOf = ({ name, kind, margins }) =>
  kind === "numeric" ? [`${name} (mean)`, margins, false] : [name, margins, true];

const marginRow = (name, { now, times_2, times_10 }, isShare) => [
  name,
  ...[now, times_2, times_10].map((each) => formatRange(each, isShare)),
];

/** Format the smallest and the largest margin; one of them if the texts are equal. */
function formatRange(margins, isShare) {
  const known = margins.filter((each) => each !== null);
  if (known.length === 0) return "unknown";
  const [least, most] = [Math.min(...known), Math.max(...known)].map((each) => format.margin(each, isShare));
  const unit = isShare ? " points" : "";
  if (known.length < margins.length) return `${least}${unit} to unknown`;
  return least === most ? `${least}${unit}` : `${least} to ${most}${unit}`;
}
