// Tables of estimates: each row has a class, its picture, and the same numbers as text.

import { element, markOf } from "./dom.js";
import { drawInterval } from "./interval.js";
import { makeScrollBox } from "./table.js";

/** A table of one statistic; its contents can be replaced. */
export class EstimateTable {
  constructor(caption, feature) {
    Object.assign(this, { caption, feature });
    this.node = makeScrollBox(`${caption}: ${feature}`);
  }

  /**
   * Show rows, of classes grouped by the feature's values or of values; `head` is the heading of their names.
   *
   * `groups`: [{value, differs, rows: [{name, differs, value, single, simultaneous}]}]; `value` is undefined if
   * there is one group. `scale`: {bounds, rule, chooseAxis, write, writeAxis, fromZero}.
   */
  show({ groups, scale, differs = false, head = "Class" }) {
    const known = groups.flatMap(({ rows }) => rows).filter((row) => isKnown(row, scale));
    const highest = known.length ? Math.max(...known.map((row) => row.simultaneous[1])) : scale.bounds[1];
    const axis = scale.chooseAxis(highest);
    const hasValues = groups[0].value !== undefined;
    const table = element(
      "table",
      { class: "estimates" },
      element("caption", {}, this.caption, element("span", { class: "hidden" }, `: ${this.feature}`), markOf(differs)),
      element("thead", {}, makeHead(axis, scale, hasValues, head)),
      ...groups.map((group) => makeGroup(group, axis, scale)),
    );
    this.node.replaceChildren(table);
  }
}

/** Return whether an estimate shows anything: the rule of `statements/rules.py`, whose numbers the collector sends. */
function isKnown({ single: [low, high], stderr }, { bounds, rule }) {
  const span = bounds[1] - bounds[0];
  const isNarrow = high - low < rule.unknown_share * span;
  return isNarrow && (stderr === null || rule.z * stderr <= rule.largest_margin * span);
}

function makeHead({ low, high }, { writeAxis }, hasValues, head) {
  const ends = [low, (low + high) / 2, high].map(writeAxis);
  const ticks = element("span", { class: "ticks", "aria-hidden": "true" }, ...ends.map((end) => element("span", {}, end)));
  const description = element("span", { class: "hidden" }, `Bar from ${ends[0]} to ${ends[2]}`);
  return element(
    "tr",
    {},
    hasValues ? element("th", { scope: "col" }, "Value") : null,
    element("th", { scope: "col" }, head),
    element("th", { scope: "col", class: "axis" }, ticks, description),
    ...["Estimate", "95% interval", "Simultaneous"].map((text) => element("th", { scope: "col", class: "number" }, text)),
  );
}

function makeGroup({ value, differs, rows }, axis, scale) {
  const body = element("tbody", {}, ...rows.map((row, colour) => makeRow({ colour, ...row }, axis, scale)));
  if (value !== undefined) {
    const name = element("bdi", {}, value);
    const span = { scope: "rowgroup", rowspan: rows.length, class: "value" };
    body.firstChild.prepend(element("th", span, name, markOf(differs)));
  }
  return body;
}

function makeRow(row, axis, scale) {
  const { name, differs, value, single, simultaneous } = row;
  const known = isKnown(row, scale);
  const mark = known ? { ...row, fromZero: scale.fromZero } : null;
  const formatEnds = (ends) => ends.map(scale.write).join(" to ");
  return element(
    "tr",
    {},
    element("th", { scope: "row", class: "class" }, element("bdi", {}, name), markOf(known && differs, "differs")),
    element("td", { class: "plot" }, drawInterval(axis, mark)),
    element("td", { class: `number ${known ? "main" : "soft"}` }, scale.write(known ? value : null)),
    element("td", { class: `number single-ends${known ? "" : " soft"}` }, known ? formatEnds(single) : scale.write(null)),
    element("td", { class: "number simultaneous-ends soft" }, known ? formatEnds(simultaneous) : scale.write(null)),
  );
}
