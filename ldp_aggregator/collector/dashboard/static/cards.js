// One card per feature: whether classes differ, charts, and a table of the same estimates.

import { IntervalChart } from "./charts.js";
import { element, setText } from "./dom.js";
import { Table, foldedTable } from "./table.js";
import * as format from "./format.js";

const NOISE = "Not distinguishable from noise";
const SHARE = { bounds: [0, 1], write: format.percent, axisLabel: (x) => `${Math.round(100 * x)}%` };

/** The parts that all cards share. */
class Card {
  constructor(title, chartSpecs, heads) {
    this.note = element("p", { class: "note" });
    this.mark = element("p", { class: "mark" });
    this.warning = element("p", { class: "warning", hidden: true });
    this.charts = chartSpecs.map((spec) => new IntervalChart({ ...spec, title: `${title}: ${spec.title}` }));
    this.table = new Table(`${title}: estimates with 95% intervals`, heads, { hideCaption: true });
    this.node = element(
      "article",
      { class: "card", "aria-label": title },
      element("h3", {}, title),
      this.note,
      this.mark,
      this.warning,
      ...this.charts.flatMap((chart, place) => [
        chartSpecs.length > 1 ? element("h4", {}, chartSpecs[place].title) : null,
        chart.node,
      ].filter(Boolean)),
      foldedTable("Estimates as a table", this.table),
    );
  }

  showNote(note, distinguishable, found, warning = null) {
    setText(this.note, note);
    setText(this.mark, distinguishable ? found : NOISE);
    this.mark.classList.toggle("found", distinguishable);
    this.node.classList.toggle("noise", !distinguishable);
    setText(this.warning, warning ? `${warning[0].toUpperCase()}${warning.slice(1)}.` : "");
    this.warning.hidden = !warning;
  }

  remove() {
    this.charts.forEach((chart) => chart.remove());
  }
}

/** The card of the label: the share of each class. */
export class PriorCard extends Card {
  constructor(label) {
    const chart = { title: "share of each class", rows: label.values, ...SHARE };
    super(label.name, [chart], ["Class", "Share (95% interval)", "Differs from equal shares"]);
    this.node.classList.add("prior");
  }

  show(label, reports) {
    const bars = barsOf(label.prior);
    const texts = bars.map((bar) => formatEstimate(format.percent, bar));
    this.charts[0].show([{ label: "", colour: colours(bars), bars }], joinNamed(label.values, texts));
    this.table.show(label.values.map((name, place) => [name, texts[place], label.non_uniform[place] ? "yes" : "no"]));
    const even = format.percent(1 / label.values.length);
    this.showNote(
      label.counts === "rows"
        ? `The class itself, from ${format.plural(reports, "message", "messages")} of silos`
        : `The class itself, from ${format.plural(reports, "report", "reports")} of all questions`,
      label.non_uniform.some(Boolean),
      `Differs from equal shares (${even} each)`,
    );
  }
}

/** The card of a discrete feature: the shares of its values within each class. */
export class ValuesCard extends Card {
  constructor(feature, classes) {
    const chart = { title: "shares within each class", rows: feature.values, ...SHARE };
    super(feature.name, [chart], ["Value", "Classes differ", ...classes]);
    this.classes = classes;
  }

  show(feature) {
    const columns = this.classes.map((_, place) => barsOf(feature.conditionals, place));
    const texts = columns.map((bars) => bars.map((bar) => formatEstimate(format.percent, bar)));
    const series = columns.map((bars, place) => ({ label: this.classes[place], colour: place, bars }));
    const descriptions = this.classes.map((name, place) => `${name}: ${joinNamed(feature.values, texts[place])}`);
    this.charts[0].show(series, descriptions.join(" "));
    this.table.show(
      feature.values.map((value, row) => [
        value,
        feature.distinguishable_entries[row] ? "yes" : "no",
        ...texts.map((column) => column[row]),
      ]),
    );
    const found = feature.values.filter((_, row) => feature.distinguishable_entries[row]);
    const others = feature.asked_with.length ? `, same reports as ${feature.asked_with.join(", ")}` : "";
    this.showNote(
      describeQuestion(feature) + others,
      feature.distinguishable,
      `Classes differ in ${nameFirst(found)}`,
      feature.warning,
    );
  }
}

/** The card of a numeric feature: its mean and standard deviation within each class. */
export class NumberCard extends Card {
  constructor(feature, classes) {
    const [low, high] = feature.bounds;
    const inUnit = { write: format.number, axisLabel: format.axisLabel };
    const charts = [
      { title: "Mean", rows: classes, bounds: [low, high], ...inUnit, wholeRange: true },
      { title: "Standard deviation", rows: classes, bounds: [0, high - low], ...inUnit },
    ];
    if (feature.missing) charts.push({ title: "Share missing", rows: classes, ...SHARE });
    const heads = ["Class", "Mean", "Standard deviation", "Variance", ...(feature.missing ? ["Missing"] : [])];
    super(feature.name, charts, heads);
    this.classes = classes;
  }

  show(feature) {
    const estimates = [
      [feature.means, format.number],
      [feature.deviations, format.number],
      ...(feature.missing ? [[feature.missing, format.percent]] : []),
    ];
    const texts = estimates.map(([estimate, write], place) => this.#chart(place, barsOf(estimate), write));
    const variances = barsOf(feature.variances).map((bar) => formatEstimate(format.number, bar));
    texts.splice(2, 0, variances);
    this.table.show(this.classes.map((name, row) => [name, ...texts.map((column) => column[row])]));
    const found = Object.keys(feature.distinguishable_entries).filter((name) => feature.distinguishable_entries[name]);
    const differs = `Classes differ in their ${nameFirst(found.map(entryLabel))}`;
    this.showNote(describeQuestions(feature), feature.distinguishable, differs, feature.warning);
  }

  #chart(place, bars, write) {
    const texts = bars.map((bar) => formatEstimate(write, bar));
    this.charts[place].show([{ label: "", colour: colours(bars), bars }], joinNamed(this.classes, texts));
    return texts;
  }
}

/** Return the bars of an estimate; if it has a column per class, of one column. */
function barsOf(estimate, column = null) {
  const pick = (array, row) => (column === null ? array[row] : array[row][column]);
  return estimate.value.map((_, row) => ({
    value: pick(estimate.value, row),
    low: pick(estimate.low, row),
    high: pick(estimate.high, row),
  }));
}

const describeQuestion = ({ mechanism, n, counts }) =>
  mechanism ? `${describeCount(n, counts)}, ${mechanism}` : "not asked";
const describeCount = (n, counts) =>
  counts === "rows" ? `an estimated ${format.plural(n, "row", "rows")}` : format.plural(n, "report", "reports");
const describeQuestions = (feature) =>
  feature.counts === "rows"
    ? `Number: ${describeQuestion({ ...feature.mean_question, counts: feature.counts })}`
    : `Number: ${describeQuestion(feature.mean_question)}; its square: ${describeQuestion(feature.square_question)}`;

const formatEstimate = (write, { value, low, high }) => format.withInterval(write, value, low, high);
const colours = (bars) => bars.map((_, place) => place);
const joinNamed = (names, texts) => `${names.map((name, place) => `${name} ${texts[place]}`).join("; ")}.`;
const entryLabel = (name) => (name === "missing" ? "share missing" : name);

/** Return the first three names, and the number of others. */
function nameFirst(names) {
  const first = names.slice(0, 3).join(", ");
  return names.length > 3 ? `${first} and ${names.length - 3} more` : first;
}
