/** The piecewise mechanism with the class hidden: a report is a class and a number near the true one. */

import { indexToBytes, readHighBits, readWord } from "../bytes.js";
import { requireValid } from "../errors.js";
import { greatest, reduce } from "../arithmetic.js";
import { cellSizes, largeCells, multiplyShift, WORD } from "../probability_tables.js";
import { countSlots, GRID, GRID_BITS, splitValue } from "./numeric_base.js";
import { checkKeyCount, readProbability, readSmallInteger } from "./parameters.js";

/** @typedef {import("./base.js").Mechanism} Mechanism */
/** @typedef {import("./base.js").Tables} Tables */
/** @typedef {import("./base.js").Fraction} Fraction */
/** @typedef {import("./numeric_base.js").NumericDomain} NumericDomain */

const POSITIONS = 64;
const POSITION_BITS = GRID_BITS - 7;
const MAX_CELLS = 1 << 16;

/**
 * Reports a cell: one of the window around the true number with probability near / 2^64, otherwise any cell.
 *
 * @param {NumericDomain} domain
 * @param {Tables} tables
 * @returns {Mechanism}
 */
export function piecewise(domain, tables) {
  checkKeyCount(tables, 2);
  const near = readProbability(tables.near);
  const window = 2 * readSmallInteger(tables.reach, 0, POSITIONS) + 1;
  const line = 2 * POSITIONS + window;
  const slots = countSlots(domain);
  const cells = slots * line;
  requireValid(cells <= MAX_CELLS);
  const [words, allWords] = greatestDrawRatio(window, line, slots);
  const rest = (WORD - near) * allWords;
  return {
    payloadBytes: 2,
    randomBytes: 24,
    ratio: reduce(rest + near * words, rest),
    perturb([value], random) {
      const [slot, code] = splitValue(value, domain.labels);
      const place = domain.square ? 2 * (code - GRID) : code;
      const up = Number(readHighBits(random, 0, POSITION_BITS) < (place & ((1 << POSITION_BITS) - 1)));
      const first = slot * line + (place >> POSITION_BITS) + up;
      const choice = readWord(random, 2);
      const reported = [multiplyShift(choice, cells), first + multiplyShift(choice, window)];
      return indexToBytes(reported[Number(readWord(random, 1) < near)], 2);
    },
  };
}

/**
 * Return the greatest ratio of a cell's draws within a window to its draws among all cells.
 *
 * Cells have two sizes that differ by one draw. Not every pair of sizes occurs, so all windows are searched.
 *
 * @param {number} window number of cells of a window
 * @param {number} line number of cells of a line
 * @param {number} slots number of lines
 */
function greatestDrawRatio(window, line, slots) {
  const sizes = cellSizes(window);
  const sizesOfAll = cellSizes(slots * line);
  const countLarge = largeCells(slots * line);
  const countLargeInWindow = largeCells(window);
  /** @type {Fraction[]} */
  const ratios = [];
  for (let place = 0; place < window; place++) {
    const isLarge = countLargeInWindow(place, place + 1);
    for (let first = place; first < slots * line; first += line) {
      // the cells at this place of the windows on one line
      const end = first + 2 * POSITIONS + 1;
      const allLarge = Number(countLarge(first, end) === end - first);
      ratios.push([sizes[isLarge], sizesOfAll[allLarge]]);
    }
  }
  return greatest(ratios);
}
