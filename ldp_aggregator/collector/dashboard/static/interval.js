// Draws an estimate with its intervals as a small SVG without text: the picture of the results page (charts.py there).
// Positions are percentages, so the picture has the width of its cell without being drawn again.

import { svgElement } from "./dom.js";

const COLOURS = 10; // number of colours of classes in style.css
const PARTS = 4;
const AXIS_ENDS = [0.1, 0.2, 0.4, 0.6, 0.8];
const [MIDDLE, HEIGHT, BAR_HEIGHT, CAP] = [11, 22, 12, 4];

/** Return the axis of shares: from 0 to the first round number that is not below the highest end. */
export const chooseShareAxis = (highest) => ({ low: 0, high: AXIS_ENDS.find((end) => end >= highest) ?? 1 });

/** Return the axis of a number that is at least 0: to a number of one or two digits, at most `maximum`. */
export function choosePositiveAxis(highest, maximum) {
  if (!(highest > 0 && highest < maximum)) return { low: 0, high: maximum };
  const unit = 10 ** Math.floor(Math.log10(highest));
  return { low: 0, high: Math.min((unit * Math.ceil((2 * highest) / unit)) / 2, maximum) };
}

/**
 * Return the picture of one row; without a mark, the lines of the axis alone.
 *
 * `mark`: {value, single: [low, high], simultaneous: [low, high], colour, fromZero}; `colour` is the index of the
 * class. An estimate is a bar from the low end of the axis if `fromZero`, otherwise a dot. A value of null is not drawn.
 */
export function drawInterval(axis, mark = null) {
  const place = (number) => formatPlace((number - axis.low) / (axis.high - axis.low));
  const lines = Array.from({ length: PARTS + 1 }, (_, part) => drawLine(`${(100 * part) / PARTS}%`, 0, HEIGHT, "grid"));
  const parts = mark ? [...lines, ...drawMark(mark, place)] : lines;
  const size = { width: "100%", height: HEIGHT };
  return svgElement("svg", { class: "chart", ...size, "aria-hidden": "true", focusable: "false" }, ...parts);
}

function drawMark({ value, single, simultaneous, colour, fromZero }, place) {
  const name = `class-${colour % COLOURS}`;
  const whiskers = [...drawWhisker(simultaneous.map(place), "wide"), ...drawWhisker(single.map(place), "single")];
  if (value === null) return whiskers;
  if (!fromZero) {
    const dot = svgElement("circle", { class: `dot ${name}`, cx: place(value), cy: MIDDLE, r: 5 });
    return [...whiskers, dot];
  }
  const size = { x: 0, y: MIDDLE - BAR_HEIGHT / 2, width: place(value), height: BAR_HEIGHT };
  return [svgElement("rect", { class: `bar ${name}`, ...size }), ...whiskers];
}

function drawWhisker([low, high], name) {
  const line = svgElement("line", { class: name, x1: low, y1: MIDDLE, x2: high, y2: MIDDLE });
  return [line, ...[low, high].map((end) => drawLine(end, MIDDLE - CAP, MIDDLE + CAP, name))];
}

const drawLine = (x, y1, y2, name) => svgElement("line", { class: name, x1: x, y1, x2: x, y2 });

/** Return a share of the width as a percentage; beyond the axis, its end. */
const formatPlace = (share) => `${(100 * Math.min(Math.max(share, 0), 1)).toFixed(2)}%`;
