// Horizontal bars with 95% intervals, drawn by Chart.js when they become visible.

import { element } from "./dom.js";
import { withInterval } from "./format.js";

export const COLOURS = 10;
const BAR_HEIGHT_PX = 13;
const GROUP_GAP_PX = 12;
const AXIS_HEIGHT_PX = 26;
const WHISKER_CAP_PX = 3;
const MAX_DESCRIBED_BARS = 24;
const AXIS_FRACTIONS = [0.1, 0.2, 0.4, 0.6, 0.8, 1];

/** Return the page's current colours, light or dark. */
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

/** Draws the interval of each bar, from `low` to `high`, over the bar. */
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
          ctx.moveTo(x, y - WHISKER_CAP_PX);
          ctx.lineTo(x, y + WHISKER_CAP_PX);
        }
      });
    });
    ctx.stroke();
    ctx.restore();
  },
};

const visibility = new IntersectionObserver(
  (entries) => entries.forEach(({ target, isIntersecting }) => target.chart.setVisible(isIntersecting)),
  { rootMargin: "300px" },
);
const charts = new Set();

/** One chart. `bounds` is the possible range; `write` formats an estimate, `axisLabel` a number at the axis. */
export class IntervalChart {
  #chart = null;
  #visible = false;
  #stale = false;

  /** `series`: [{label, colour, bars: [{value, low, high}]}], as many bars as `rows`. */
  constructor({ title, rows, bounds, write, axisLabel, wholeRange = false }) {
    Object.assign(this, { title, rows, bounds, write, axisLabel, wholeRange, series: [] });
    this.canvas = element("canvas", { role: "img", "aria-label": title });
    this.node = element("div", { class: "chart" }, this.canvas);
    this.node.chart = this;
    charts.add(this);
    visibility.observe(this.node);
  }

  /** Show estimates now, or when the chart becomes visible. */
  show(series, description) {
    this.series = series;
    const groupHeight = series.length * BAR_HEIGHT_PX + GROUP_GAP_PX;
    this.node.style.height = `${this.rows.length * groupHeight + AXIS_HEIGHT_PX}px`;
    const count = this.rows.length * series.length;
    const label = count > MAX_DESCRIBED_BARS ? `The table below contains its ${count} estimates.` : description;
    this.canvas.setAttribute("aria-label", `${this.title}. ${label}`);
    this.#stale = true;
    if (this.#visible) this.#draw();
  }

  setVisible(visible) {
    this.#visible = visible;
    if (visible && this.#stale) this.#draw();
  }

  /** Draw again in the current colours. */
  repaint() {
    this.#stale = true;
    if (this.#visible) this.#draw();
  }

  remove() {
    visibility.unobserve(this.node);
    charts.delete(this);
    this.#chart?.destroy();
  }

  /** The ends of the axis: the possible range, or its first part that contains all intervals. */
  get axis() {
    const [low, high] = this.bounds;
    if (this.wholeRange) return this.bounds;
    const most = Math.max(...this.series.flatMap(({ bars }) => bars.map((bar) => bar.high)));
    const part = AXIS_FRACTIONS.find((each) => low + each * (high - low) >= most) ?? 1;
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
      barThickness: BAR_HEIGHT_PX - 3,
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
          ticks: { ...ticks, maxTicksLimit: 6, maxRotation: 0, padding: 4, callback: (x) => this.axisLabel(x) },
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

window.addEventListener("beforeprint", () => charts.forEach((chart) => chart.setVisible(true)));
for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
  matchMedia(query).addEventListener("change", () => charts.forEach((chart) => chart.repaint()));
}
