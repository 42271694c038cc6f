// Lines: their colours and dashes, their paths, the point that is nearest.

import { el, svgEl } from "./dom.js";

/** Okabe and Ito (2008), as the project's figures have them: every kind of colour vision tells them apart. */
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
/** Dashes distinguish the lines beyond the sixth. */
const DASHES = [null, "7 3", "2 2.5", "8 3 2 3"];
export const colourOf = (index) => COLOURS[index % COLOURS.length];
export const dashOf = (index) => DASHES[index % DASHES.length];
export const lookOf = (index) => ({ colour: colourOf(index), dash: dashOf(Math.floor(index / COLOURS.length)) });

/** The index of the point of a line that is nearest; `null` where the line is not. */
export function nearest(x, value) {
  let [low, high] = [0, x.length - 1];
  if (high < 0) return null;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (x[middle] <= value) low = middle;
    else high = middle;
  }
  const at = Math.abs(x[high] - value) < Math.abs(x[low] - value) ? high : low;
  const step = high > low ? x[high] - x[low] : 1;
  return Math.abs(x[at] - value) <= step * 1.01 ? at : null;
}

/** The points of a line as a path; values below an axis's floor lie on it, and a gap is where no number is. */
export function pathOf(xs, ys, scales, { floor = -Infinity, steps = false } = {}) {
  let path = "";
  let pen = false;
  for (let i = 0; i < xs.length; i++) {
    if (!Number.isFinite(ys[i])) {
      pen = false;
      continue;
    }
    const [at, down] = [scales.x.of(xs[i]).toFixed(1), scales.y.of(Math.max(ys[i], floor)).toFixed(1)];
    path += pen ? (steps ? `H${at}V${down}` : `L${at} ${down}`) : `M${at} ${down}`;
    pen = true;
  }
  return path;
}

/** A small square of a colour. */
export const swatch = (colour) => svgEl("svg", { viewBox: "0 0 10 10", width: 10, height: 10 }, svgEl("rect", { width: 10, height: 10, rx: 2, fill: colour }));

/** What colours and dashes stand for, `[name, colour, dash]`, as items of a list. */
export function keyRows(key) {
  return key.map(([name, colour, dash]) => el("li", {}, dashed(colour, dash), name));
}

/** A piece of a line, for a key. */
export const dashed = (colour, dash) =>
  svgEl("svg", { width: 26, height: 10, viewBox: "0 0 26 10", "aria-hidden": "true" }, svgEl("line", { x1: 0, x2: 26, y1: 5, y2: 5, stroke: colour, "stroke-width": 3, "stroke-dasharray": dash }));
