// Horizontal bars with 95% intervals, by Chart.js: drawn when they come into sight.

import { element } from "./dom.js";
import { withInterval } from "./words.js";

export const COLOURS = 10;
const BAR = 13;
const GAP = 12;
const AXIS = 26;
const CAP = 3;
const MOST_SAID = 24;
const PARTS = [0.1, 0.2, 0.4, 0.6, 0.8, 1];

/** Return the page's colours as they are now, in light or dark. */
function palette() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  return {
    classes: Array.from({ length: COLOURS }, (_, place) => read(`--class-${place}`)),
    text: read("--soft"),
    grid: read("--line"),
    whisker: read("--text"),
    font: style.fontFamily,
  };
}

/** Draws each bar's interval from `low` to `high` over it. */
const whiskers = {
  id: "whiskers",
  afterDatasetsDraw(chart) {
    const { ctx, scales } = chart;
    ctx.save();
    ctx.strokeStyle = chart.options.plugins.whiskers.colour;
    ctx.lineWidth = 1.25;
    ctx.beginPath();
    chart.data.datasets.forEach((dataset, place) => {
      chart.getDatasetMeta(place).data.forEach((bar, index) => {
        const { low, high } = dataset.intervals[index];
        const [from, to] = [low, high].map((end) => Math.round(scales.x.getPixelForValue(end)));
        const y = Math.round(bar.y) + 0.5;
        ctx.moveTo(from, y);
        ctx.lineTo(to, y);
        for (const x of [from, to]) {
          ctx.moveTo(x, y - CAP);
          ctx.lineTo(x, y + CAP);
        }
      });
    });
    ctx.stroke();
    ctx.restore();
  },
};

const inSight = new IntersectionObserver(
  (entries) => entries.forEach(({ target, isIntersecting }) => target.chart.seen(isIntersecting)),
  { rootMargin: "300px" },
);
const all = new Set();

/** One chart. `bounds` are what is possible; `write` puts a figure in words, `atAxis` in short ones. */
export class IntervalChart {
  #chart = null;
  #visible = false;
  #stale = false;

  /** `series`: [{label, colour, bars: [{value, low, high}]}], as many bars as `rows`. */
  constructor({ title, rows, bounds, write, atAxis, wholeRange = false }) {
    Object.assign(this, { title, rows, bounds, write, atAxis, wholeRange, series: [] });
    this.canvas = element("canvas", { role: "img", "aria-label": title });
    this.node = element("div", { class: "chart" }, this.canvas);
    this.node.chart = this;
    all.add(this);
    inSight.observe(this.node);
  }

  /** Show figures: now, or when the chart comes into sight. */
  show(series, inWords) {
    this.series = series;
    this.node.style.height = `${this.rows.length * (series.length * BAR + GAP) + AXIS}px`;
    const figures = this.rows.length * series.length;
    const said = figures > MOST_SAID ? `The table below has its ${figures} figures.` : inWords;
    this.canvas.setAttribute("aria-label", `${this.title}. ${said}`);
    this.#stale = true;
    if (this.#visible) this.#draw();
  }

  seen(visible) {
    this.#visible = visible;
    if (visible && this.#stale) this.#draw();
  }

  /** Take the colours of now. */
  repaint() {
    this.#stale = true;
    if (this.#visible) this.#draw();
  }

  remove() {
    inSight.unobserve(this.node);
    all.delete(this);
    this.#chart?.destroy();
  }

  /** The axis's ends: what is possible, or the part of it from its start that holds all intervals. */
  get axis() {
    const [low, high] = this.bounds;
    if (this.wholeRange) return this.bounds;
    const most = Math.max(...this.series.flatMap(({ bars }) => bars.map((bar) => bar.high)));
    const part = PARTS.find((each) => low + each * (high - low) >= most) ?? 1;
    return [low, low + part * (high - low)];
  }

  #draw() {
    this.#stale = false;
    const colours = palette();
    const data = { labels: this.rows, datasets: this.series.map((each) => this.#dataset(each, colours)) };
    const options = this.#options(colours);
    if (this.#chart === null) {
      this.#chart = new Chart(this.canvas, { type: "bar", data, options, plugins: [whiskers] });
    } else {
      Object.assign(this.#chart, { data, options });
      this.#chart.update("none");
    }
  }

  #dataset({ label, colour, bars }, { classes }) {
    const fills = [colour].flat().map((place) => classes[place % COLOURS]);
    return {
      label,
      data: bars.map(({ value }) => value),
      intervals: bars,
      backgroundColor: fills,
      base: this.axis[0],
      barThickness: BAR - 3,
    };
  }

  #options({ text, grid, whisker, font }) {
    const ticks = { color: text, font: { family: font, size: 12 } };
    const lines = { color: grid, drawTicks: false };
    const [min, max] = this.axis;
    return {
      indexAxis: "y",
      animation: false,
      maintainAspectRatio: false,
      events: ["mousemove", "mouseout", "touchstart"],
      scales: {
        x: {
          min,
          max,
          grid: lines,
          border: { display: false },
          ticks: { ...ticks, maxTicksLimit: 6, maxRotation: 0, padding: 4, callback: (x) => this.atAxis(x) },
        },
        y: {
          grid: { display: false },
          border: { color: grid },
          ticks: { ...ticks, autoSkip: false, callback: (_, place) => shorten(this.rows[place]) },
        },
      },
      plugins: {
        legend: { display: false },
        whiskers: { colour: whisker },
        tooltip: {
          animation: false,
          displayColors: false,
          callbacks: { title: () => "", label: (item) => this.#hover(item) },
        },
      },
    };
  }

  #hover({ dataset, dataIndex }) {
    const { value, low, high } = dataset.intervals[dataIndex];
    const name = dataset.label ? `${this.rows[dataIndex]}, ${dataset.label}` : this.rows[dataIndex];
    return `${name}: ${withInterval(this.write, value, low, high)}`;
  }
}

/** Shorten the middle of a long name: names often differ at their ends. */
const shorten = (text) => (text.length > 20 ? `${text.slice(0, 9)}…${text.slice(-9)}` : text);

window.addEventListener("beforeprint", () => all.forEach((chart) => chart.seen(true)));
for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
  matchMedia(query).addEventListener("change", () => all.forEach((chart) => chart.repaint()));
}
