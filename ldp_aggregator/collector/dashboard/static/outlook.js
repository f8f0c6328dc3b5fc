// What more reports would bring: margins now, with twice and with ten times as many.

import { byId } from "./dom.js";
import { Table } from "./table.js";
import * as words from "./words.js";

export class Outlook {
  constructor() {
    const heads = ["Estimate of", "Now", "Twice the reports", "Ten times the reports"];
    this.table = new Table("Margins of a typical estimate", heads, { hideCaption: true });
    byId("outlook").replaceChildren(this.table.node);
  }

  show({ label, features }) {
    this.table.show([
      row(`${label.name} (shares)`, label.margins, true),
      ...features.map((each) => row(...titled(each))),
    ]);
  }
}

const titled = ({ name, kind, margins }) =>
  kind === "numeric" ? [`${name} (mean)`, margins, false] : [name, margins, true];

const row = (name, { now, times_2, times_10 }, isShare) => [
  name,
  ...[now, times_2, times_10].map((each) => range(each, isShare)),
];

/** Say the margins of the best and the least known class, once if they read the same. */
function range(margins, isShare) {
  const known = margins.filter((each) => each !== null);
  if (known.length === 0) return "unknown";
  const [least, most] = [Math.min(...known), Math.max(...known)].map((each) => words.margin(each, isShare));
  const unit = isShare ? " points" : "";
  if (known.length < margins.length) return `${least}${unit} to unknown`;
  return least === most ? `${least}${unit}` : `${least} to ${most}${unit}`;
}
