// One card per question's estimates: a mark, charts, and a table of the same figures.

import { IntervalChart } from "./charts.js";
import { element, setText } from "./dom.js";
import { Table, foldedTable } from "./table.js";
import * as words from "./words.js";

const NOISE = "Not distinguishable from noise";
const SHARE = { bounds: [0, 1], write: words.percent, atAxis: (x) => `${Math.round(100 * x)}%` };

/** The frame that all cards share. */
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
      foldedTable("Figures as a table", this.table),
    );
  }

  say(note, distinguishable, found, warning = null) {
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

/** The classes' shares. */
export class PriorCard extends Card {
  constructor(label) {
    const chart = { title: "share of each class", rows: label.values, ...SHARE };
    super(label.name, [chart], ["Class", "Share (95% interval)", "Differs from an even split"]);
    this.node.classList.add("prior");
  }

  show(label, reports) {
    const bars = barsOf(label.prior);
    const texts = bars.map((bar) => inWords(words.percent, bar));
    this.charts[0].show([{ label: "", colour: colours(bars), bars }], listed(label.values, texts));
    this.table.show(label.values.map((name, place) => [name, texts[place], label.non_uniform[place] ? "yes" : "no"]));
    const even = words.percent(1 / label.values.length);
    this.say(
      `The class itself, from ${words.plural(reports, "report", "reports")} of all questions`,
      label.non_uniform.some(Boolean),
      `Differs from an even split (${even} each)`,
    );
  }
}

/** Of a feature with values: how they are spread within each class. */
export class ValuesCard extends Card {
  constructor(feature, classes) {
    const chart = { title: "shares within each class", rows: feature.values, ...SHARE };
    super(feature.name, [chart], ["Value", "Classes differ", ...classes]);
    this.classes = classes;
  }

  show(feature) {
    const columns = this.classes.map((_, place) => barsOf(feature.conditionals, place));
    const texts = columns.map((bars) => bars.map((bar) => inWords(words.percent, bar)));
    const series = columns.map((bars, place) => ({ label: this.classes[place], colour: place, bars }));
    const said = this.classes.map((name, place) => `${name}: ${listed(feature.values, texts[place])}`);
    this.charts[0].show(series, said.join(" "));
    this.table.show(
      feature.values.map((value, row) => [
        value,
        feature.distinguishable_entries[row] ? "yes" : "no",
        ...texts.map((column) => column[row]),
      ]),
    );
    const found = feature.values.filter((_, row) => feature.distinguishable_entries[row]);
    const others = feature.asked_with.length ? `, same reports as ${feature.asked_with.join(", ")}` : "";
    this.say(asked(feature) + others, feature.distinguishable, `Classes differ in ${few(found)}`, feature.warning);
  }
}

/** Of a number: its mean and spread within each class. */
export class NumberCard extends Card {
  constructor(feature, classes) {
    const [low, high] = feature.bounds;
    const inUnit = { write: words.number, atAxis: words.atAxis };
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
    const figures = [
      [feature.means, words.number],
      [feature.deviations, words.number],
      ...(feature.missing ? [[feature.missing, words.percent]] : []),
    ];
    const texts = figures.map(([figure, write], place) => this.#chart(place, barsOf(figure), write));
    const variances = barsOf(feature.variances).map((bar) => inWords(words.number, bar));
    texts.splice(2, 0, variances);
    this.table.show(this.classes.map((name, row) => [name, ...texts.map((column) => column[row])]));
    const found = Object.keys(feature.distinguishable_entries).filter((name) => feature.distinguishable_entries[name]);
    const differs = `Classes differ in their ${few(found.map(plain))}`;
    this.say(askedTwice(feature), feature.distinguishable, differs, feature.warning);
  }

  #chart(place, bars, write) {
    const texts = bars.map((bar) => inWords(write, bar));
    this.charts[place].show([{ label: "", colour: colours(bars), bars }], listed(this.classes, texts));
    return texts;
  }
}

/** Return the bars of a figure: of one class, if it has a column for each. */
function barsOf(figure, column = null) {
  const pick = (array, row) => (column === null ? array[row] : array[row][column]);
  return figure.value.map((_, row) => ({
    value: pick(figure.value, row),
    low: pick(figure.low, row),
    high: pick(figure.high, row),
  }));
}

const asked = ({ mechanism, n }) => (mechanism ? `${words.plural(n, "report", "reports")}, ${mechanism}` : "not asked");
const askedTwice = (feature) =>
  `Number: ${asked(feature.mean_question)}; its square: ${asked(feature.square_question)}`;

const inWords = (write, { value, low, high }) => words.withInterval(write, value, low, high);
const colours = (bars) => bars.map((_, place) => place);
const listed = (names, texts) => `${names.map((name, place) => `${name} ${texts[place]}`).join("; ")}.`;
const plain = (name) => (name === "missing" ? "share missing" : name);

/** Name the first three. */
function few(names) {
  const first = names.slice(0, 3).join(", ");
  return names.length > 3 ? `${first} and ${names.length - 3} more` : first;
}
