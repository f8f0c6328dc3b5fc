// One card per feature: whether its classes differ, and its tables of estimates.

import { element, markOf, setText } from "./dom.js";
import { EstimateTable } from "./estimates.js";
import { choosePositiveAxis, chooseShareAxis } from "./interval.js";
import * as format from "./format.js";

const SHARE = {
  bounds: [0, 1],
  chooseAxis: chooseShareAxis,
  write: format.percent,
  writeAxis: format.axisPercent,
  fromZero: true,
};

/** A card that shows estimates; it stays the same element, so that a refresh does not move the focus. */
export class Card {
  constructor(title) {
    this.title = title;
    this.heading = element("h3");
    this.note = element("p", { class: "note" });
    this.warning = element("p", { class: "notice" });
    this.node = element("article", { class: "card", "aria-label": title }, this.heading, this.note, this.warning);
  }

  /** Show a view, which the functions below return; all views of a card have as many tables. */
  show({ note, mark, warning, tables, comparesClasses = true }) {
    this.isDistinguishable = Boolean(mark) || !comparesClasses;
    this.heading.replaceChildren(element("bdi", {}, this.title), markOf(mark, mark));
    setText(this.note, mark || !comparesClasses ? `${note}.` : `${note}. Not distinguishable from noise.`);
    setText(this.warning, warning ?? "");
    this.warning.hidden = !warning;
    if (!this.tables) {
      this.tables = tables.map(({ caption }) => new EstimateTable(caption, this.title));
      this.node.append(...this.tables.map(({ node }) => node));
    }
    this.tables.forEach((table, place) => table.show(tables[place]));
  }
}

/** View of the label: the share of each class. */
export function viewLabel({ label, reports, rule }) {
  const source = label.counts === "rows" ? [reports, "message of silos", "messages of silos"] : [reports, "report", "reports"];
  const even = format.percent(1 / label.values.length);
  const rows = label.values.map((name, place) => ({
    name,
    differs: label.non_uniform[place],
    ...pickEstimate(label.prior, place),
  }));
  return {
    note: `From all ${format.plural(...source)}; a share that differs significantly from ${even} is marked`,
    mark: label.non_uniform.some(Boolean) && "classes differ from equal shares",
    tables: [{ caption: "Share of each class", scale: { ...SHARE, rule }, groups: [{ rows }] }],
  };
}

/** View of a feature: the estimates of all people, then of each class if the survey has a label. */
export const viewFeature = (feature, classes, rule) => ({
  comparesClasses: classes.length > 0,
  ...(feature.kind === "numeric" ? viewNumber(feature, classes, rule) : viewValues(feature, classes, rule)),
  mark: feature.distinguishable && "classes are distinguishable",
  warning: feature.warning,
});

/** View of a discrete feature: the shares of its values, and within each class. */
function viewValues(feature, classes, rule) {
  const others = feature.asked_with.length ? `, same reports as ${feature.asked_with.join(", ")}` : "";
  const shares = feature.values.map((name, place) => ({ name, colour: 0, ...pickEstimate(feature.shares, place) }));
  const groups = feature.values.map((value, row) => ({
    value,
    differs: feature.distinguishable_entries?.[row],
    rows: classes.map((name, place) => ({ name, ...pickEstimate(feature.conditionals, row, place) })),
  }));
  const several = feature.kind === "choices";
  const caption = several ? "Share of people who ticked each choice" : "Share of each value";
  return {
    note: (several && feature.mechanism ? "at least " : "") + describeQuestion(feature, feature.counts) + others,
    tables: [
      { caption, scale: { ...SHARE, rule }, groups: [{ rows: shares }], head: "Value" },
      ...(classes.length ? [{ caption: "Share of each value in each class", scale: { ...SHARE, rule }, groups }] : []),
    ],
  };
}

/** View of a numeric feature: its mean, standard deviation and share of missing answers, and within each class. */
function viewNumber(feature, classes, rule) {
  const { bounds, mean_question: mean, square_question: square, counts, distinguishable_entries: differ } = feature;
  const [low, high] = bounds;
  const width = (high - low) / 2; // a standard deviation is at most half of the range
  const inUnit = { write: format.number, writeAxis: format.axisNumber, rule };
  const makeTable = (caption, key, scale, mark) => {
    const rows = [{ name: "all people", ...pickEstimate(feature.overall[key], 0) }];
    rows.push(...classes.map((name, place) => ({ name, ...pickEstimate(feature[key], place) })));
    return { caption, scale, groups: [{ rows }], differs: differ?.[mark], head: "People" };
  };
  const means = { ...inUnit, bounds, chooseAxis: () => ({ low, high }), fromZero: false };
  const deviations = {
    ...inUnit,
    bounds: [0, width],
    chooseAxis: (highest) => choosePositiveAxis(highest, width),
    fromZero: true,
  };
  const tables = [
    makeTable("Mean", "means", means, "means"),
    makeTable("Standard deviation", "deviations", deviations, "variances"),
  ];
  const hasMissing = Boolean(feature.overall.missing);
  if (hasMissing) tables.push(makeTable("Share of missing answers", "missing", { ...SHARE, rule }, "missing"));
  const ofSquare = counts === "rows" ? "" : `; its square: ${describeQuestion(square)}`;
  return { note: `Number: ${describeQuestion(mean, counts)}${ofSquare}`, tables };
}

/** Return one estimate of nested lists with its intervals. */
function pickEstimate({ value, stderr, low, high, simultaneous }, ...indices) {
  const pick = (nested) => indices.reduce((part, index) => part[index], nested);
  return {
    value: pick(value),
    stderr: pick(stderr),
    single: [pick(low), pick(high)],
    simultaneous: [pick(simultaneous.low), pick(simultaneous.high)],
  };
}

const describeQuestion = ({ mechanism, n }, counts) => (mechanism ? `${describeCount(n, counts)}, ${mechanism}` : "not asked");
const describeCount = (n, counts) =>
  counts === "rows" ? `an estimated ${format.plural(n, "row", "rows")}` : format.plural(n, "report", "reports");
