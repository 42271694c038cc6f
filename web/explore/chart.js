// Pictures: points with their ranges, and a field of colours. Pixels are the page's own, so that letters have one size on any
// screen; a picture is drawn anew where its place becomes another.

import { axes, cut, picture, slants, widthIn, widthOf } from "../lib/axis.js";
import { pointOf, tipAt } from "../lib/cursor.js";
import { el, say, svgEl } from "../lib/dom.js";
import { digits } from "../lib/quantity.js";
import { clamp } from "../lib/scale.js";
import { lookOf } from "../lib/series.js";

const CIVIDIS = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];

/** The colour of a part of the whole, and that of letters on it. */
function shade(part) {
  const at = clamp(part, 0, 1) * (CIVIDIS.length - 1);
  const below = Math.min(Math.floor(at), CIVIDIS.length - 2);
  const mix = (index) => {
    const of = (colour) => parseInt(colour.slice(1 + 2 * index, 3 + 2 * index), 16);
    return Math.round(of(CIVIDIS[below]) + (of(CIVIDIS[below + 1]) - of(CIVIDIS[below])) * (at - below));
  };
  const rgb = [mix(0), mix(1), mix(2)];
  const light = rgb.map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
  return { ground: `rgb(${rgb.join(",")})`, ink: luminance > 0.19 ? "#000" : "#fff" };
}

/** Points of several series, with ranges, and lines between those that belong together. `said(point)` is `[head, value]` rows. */
export function pointsChart(place, { series, x, y, labels, titles, lines, told, said, chose }) {
  const width = widthIn(place);
  const foot = labels && slants(labels.map(([, label]) => label), (width - 74) / labels.length) ? 92 : 30;
  const height = clamp(width * 0.5, 300, 460) + foot;
  const box = { left: 58, top: 26, width: width - 74, height: height - 26 - foot - 18, foot: height - 4 };
  const svg = picture(width, height, `${told}. Arrow keys go from point to point.`);
  const scales = axes(svg, box, { x, y }, titles, { labels });
  const every = [];
  series.forEach((own, index) => {
    const { colour, dash } = lookOf(index);
    const at = own.points.map((point) => ({ ...point, name: own.name, colour, px: scales.x.of(point.x + (point.off ?? 0)), py: scales.y.of(point.y) }));
    const group = svgEl("g", {});
    if (lines && at.length > 1) group.append(svgEl("path", { d: at.map((p, i) => `${i ? "L" : "M"}${p.px.toFixed(1)} ${p.py.toFixed(1)}`).join(""), fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": dash }));
    for (const p of at) {
      if (p.high > p.low) group.append(svgEl("line", { x1: p.px, x2: p.px, y1: scales.y.of(p.low), y2: scales.y.of(p.high), stroke: colour, "stroke-width": 1.5, "stroke-opacity": 0.65 }));
      group.append(svgEl("circle", { cx: p.px.toFixed(1), cy: p.py.toFixed(1), r: at.length > 300 ? 2.2 : 3.6, fill: colour, "fill-opacity": lines ? 1 : 0.75 }));
    }
    svg.append(group);
    every.push(...at);
  });
  const show = (point) => {
    svg.querySelector(".cursor")?.remove();
    if (!point) return tipAt(place, svg, null);
    svg.append(svgEl("g", { class: "cursor" }, svgEl("circle", { cx: point.px, cy: point.py, r: 6, class: "ring", fill: "none", stroke: "currentColor", "stroke-width": 1.5 })));
    const rows = said(point).map(([head, value]) => el("tr", {}, el("th", {}, head), el("td", {}, value)));
    tipAt(place, svg, el("table", {}, ...rows), point.px, point.py);
  };
  let now = -1;
  svg.addEventListener("pointermove", (event) => {
    const { x: px, y: py } = pointOf(svg, event);
    let [best, off] = [null, 26];
    for (const point of every) {
      const own = Math.hypot(point.px - px, point.py - py);
      if (own < off) [best, off] = [point, own];
    }
    now = best ? every.indexOf(best) : now;
    show(best);
  });
  svg.addEventListener("pointerleave", () => show(null));
  svg.addEventListener("blur", () => show(null));
  svg.addEventListener("click", () => now >= 0 && chose?.(every[now]));
  svg.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !every.length) return;
    const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") return show(null);
    if (event.key === "Enter" && now >= 0) return chose?.(every[now]);
    if (!way) return;
    event.preventDefault();
    now = (now + way + every.length) % every.length;
    show(every[now]);
    say(said(every[now]).map(([head, value]) => `${head} ${value}`).join(", "));
  });
  place.replaceChildren(svg);
  return svg;
}

/** A field of colours with the numbers in it. */
export function heatChart(place, { rows, columns, values, titles, told, low, high, unit }) {
  const width = widthIn(place);
  const left = Math.min(width * 0.3, Math.max(48, ...rows.map((label) => widthOf(label) + 14)));
  const wide = Math.min(150, (width - left - 8) / Math.max(1, columns.length));
  const turned = slants(columns, wide);
  const head = turned ? 88 : 44;
  const tall = clamp(420 / Math.max(1, rows.length), 24, 44);
  const height = head + tall * rows.length + 58;
  const svg = picture(width, height, told);
  svg.append(svgEl("text", { x: 2, y: 14, class: "title" }, `${titles.y} ↓   ${titles.x} →`));
  columns.forEach((label, at) => {
    const middle = left + wide * (at + 0.5);
    svg.append(turned ? svgEl("text", { transform: `translate(${middle - 4} ${head - 6}) rotate(-38)`, class: "tick" }, cut(label, 96)) : svgEl("text", { x: middle, y: head - 7, "text-anchor": "middle", class: "tick" }, label));
  });
  rows.forEach((label, row) => {
    const y = head + tall * row;
    svg.append(svgEl("text", { x: left - 7, y: y + tall / 2 + 4, "text-anchor": "end", class: "tick" }, cut(label, left - 8)));
    columns.forEach((_, column) => {
      const value = values[row][column];
      const x = left + wide * column;
      if (value === null) return svg.append(svgEl("rect", { x: x + 1, y: y + 1, width: wide - 2, height: tall - 2, fill: "none", class: "grid" }));
      const { ground, ink } = shade(high > low ? (value - low) / (high - low) : 0.5);
      const text = digits(value);
      svg.append(svgEl("rect", { x: x + 0.5, y: y + 0.5, width: wide - 1, height: tall - 1, fill: ground }, svgEl("title", {}, `${rows[row]}, ${columns[column]}: ${text} ${unit}`)));
      if (widthOf(text) < wide - 2) svg.append(svgEl("text", { x: x + wide / 2, y: y + tall / 2 + 4, "text-anchor": "middle", class: "num", fill: ink }, text));
    });
  });
  const foot = head + tall * rows.length + 18;
  for (let i = 0; i < 60; i++) svg.append(svgEl("rect", { x: left + 3 * i, y: foot, width: 3.2, height: 10, fill: shade(i / 59).ground }));
  svg.append(svgEl("text", { x: left, y: foot + 24, class: "tick" }, digits(low)), svgEl("text", { x: left + 180, y: foot + 24, "text-anchor": "end", class: "tick" }, `${digits(high)} ${unit}`));
  place.replaceChildren(svg);
  return svg;
}
