// Axes: a grid with its numbers, titles, labels. Letters and distances are in units of the picture.

import { svgEl } from "./dom.js";
import { clamp, scaleOf, ticksOf } from "./scale.js";

/** The scales of a box for these ends, `{x, y}`. */
export const scalesOf = ({ left, top, width, height }, ends) => ({ x: scaleOf(ends.x, left, left + width), y: scaleOf(ends.y, top + height, top) });

let clips = 0;
/** A group in a picture that shows nothing outside of a box. */
export function within(place, { left, top, width, height }) {
  const id = `clip-${(clips += 1)}`;
  const own = svgEl("g", { "clip-path": `url(#${id})` });
  place.append(svgEl("clipPath", { id }, svgEl("rect", { x: left, y: top, width, height })), own);
  return own;
}

/** Draws grid, numbers and the two spines. `em` is the size of the letters; without `below` or `aside` an axis has no numbers,
 * and with `along` false no ticks; `unit` stands behind the numbers below. */
export function grid(place, box, ends, em, { along = true, below = true, aside = true, unit = "" } = {}) {
  const { left, top, width, height } = box;
  const scales = scalesOf(box, ends);
  const text = (x, y, words, anchor) => place.append(svgEl("text", { x, y, "text-anchor": anchor, class: "tick" }, String(words)));
  for (const value of along ? ticksOf(ends.x, clamp(width / (6.4 * em), 3, 9)) : []) {
    const at = scales.x.of(value);
    place.append(svgEl("line", { x1: at, x2: at, y1: top, y2: top + height, class: "grid" }));
    if (below) text(at, top + height + 1.4 * em, value + unit, "middle");
  }
  for (const value of ticksOf(ends.y, clamp(height / (2.7 * em), 2, 6))) {
    const down = scales.y.of(value);
    place.append(svgEl("line", { x1: left, x2: left + width, y1: down, y2: down, class: "grid" }));
    if (aside) text(left - 0.6 * em, down + em / 3, value, "end");
  }
  place.append(svgEl("path", { d: `M${left} ${top}V${top + height}H${left + width}`, class: "spine" }));
  return scales;
}

/** Letters of the explorer and the playground, pixels. */
const EM = 12;
export const widthOf = (text) => 0.56 * EM * String(text).length;
/** A label in so much room. */
export const cut = (label, room) => (widthOf(label) > room ? `${label.slice(0, Math.max(3, Math.floor(room / (0.56 * EM)) - 1))}…` : label);
/** Whether labels stand at a slant: one of them has not enough room. */
export const slants = (labels, room) => labels.some((label) => widthOf(label) > room - 6);

/** Axes with titles in a picture of pixels; `x` may have labels at its places, `[place, label]`. */
export function axes(svg, box, ends, titles, { labels = null, unit = "" } = {}) {
  const { left, top, width, height } = box;
  const scales = grid(svg, box, ends, EM, { along: !labels, unit });
  const turned = labels && slants(labels.map(([, label]) => label), width / Math.max(1, labels.length));
  for (const [value, label] of labels ?? []) {
    const at = scales.x.of(value);
    const way = turned ? { transform: `translate(${at + 4} ${top + height + 12}) rotate(-38)`, "text-anchor": "end" } : { x: at, y: top + height + 18, "text-anchor": "middle" };
    svg.append(svgEl("line", { x1: at, x2: at, y1: top, y2: top + height, class: "grid" }), svgEl("text", { ...way, class: "tick" }, cut(label, 150)));
  }
  if (titles.y) svg.append(svgEl("text", { x: 2, y: top - 9, class: "title" }, titles.y));
  if (titles.x) svg.append(svgEl("text", { x: left + width, y: box.foot, "text-anchor": "end", class: "title" }, titles.x));
  return scales;
}

/** A picture of pixels; it is as wide as its place, so that letters have one size on any screen. */
export const picture = (width, height, words) => svgEl("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": words, tabindex: 0 });
export const widthIn = (place) => Math.max(300, Math.floor(place.clientWidth) || 800);
