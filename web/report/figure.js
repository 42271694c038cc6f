// One figure. It is shown as it was drawn until somebody asks for something else; then its axes are drawn anew in their
// places, by the same scales, from the numbers beside it. Units are the picture's own, points.

import { grid, scalesOf, within } from "../lib/axis.js";
import { asked, draggable, pointOf, rule, tipAt, tipRow } from "../lib/cursor.js";
import { el, fill, say, svgEl } from "../lib/dom.js";
import { digits } from "../lib/quantity.js";
import { clamp, logFloor } from "../lib/scale.js";
import { nearest, pathOf } from "../lib/series.js";
import { arraysOf, unpacked } from "./packed.js";

/** The box of axes, of which the numbers have a list. */
const boxOf = ({ box: [left, top, width, height] }) => ({ left, top, width, height });
/** Letters of the pictures, points. */
const EM = 8.5;

export class Figure {
  constructor(element, group) {
    Object.assign(this, { element, group, svg: element.querySelector("svg"), head: null, rule: null });
    this.block = element.querySelector("script.numbers");
    this.ready = null;
    element.classList.add("answers");
    draggable(this.svg, {
      boxAt: (event) => {
        const at = this.free && this.place(event);
        return at ? { ...boxOf(this.head.axes[at.index]), index: at.index } : null;
      },
      moved: (event) => this.moved(event),
      left: () => this.group.point(null),
      zoomed: ({ index }, across, down) => {
        const { x, y, ends } = this.scales(index);
        this.zoom(index, across?.map(x.back), down && [...down.reverse().map(y.back), ends.y[2]], ends.x[2]);
      },
      both: true,
    });
    fill(this.svg, { tabindex: 0, dblclick: (event) => this.twice(event), keydown: (event) => this.key(event), focus: () => this.load() });
  }

  /** Reads the numbers, once. */
  load() {
    this.ready ??= unpacked(this.block.textContent).then(({ value, body }) => {
      const arrays = arraysOf(value, body);
      const seen = new Map();
      const array = (place) => {
        const key = JSON.stringify(place);
        if (!seen.has(key)) seen.set(key, arrays(place));
        return seen.get(key);
      };
      for (const axes of value.axes) {
        axes.lines = axes.lines.map((line) => ({ ...line, x: array(line.x), y: array(line.y) }));
        axes.main = axes.lines.filter((line) => !line.r);
        for (const line of axes.main) {
          const beside = axes.lines.filter((own) => own.r && own.n === line.n && own.c === line.c);
          line.seeds = beside.filter((own) => own.r === "seed").map((own) => own.y);
          const end = (role) => beside.find((own) => own.r === role)?.y;
          line.low = line.seeds.length ? over(line, Math.min) : end("low");
          line.high = line.seeds.length ? over(line, Math.max) : end("high");
        }
      }
      this.head = value;
      this.time = value.axes.length > 0 && value.axes.some((own) => own.called[0].startsWith("Time")) && value.axes.every((own) => String(own.x) === String(value.axes[0].x));
      this.free = value.axes.every((own) => own.free);
      this.svg.classList.toggle("zooms", this.free);
      this.draw();
    });
    return this.ready;
  }

  get seeds() {
    return Boolean(this.head?.axes.some((axes) => axes.main.some((line) => line.seeds.length)));
  }

  /** What an axis shows now, `[low, high, logarithmic]`. */
  shown(axes, index) {
    const { x, y, log } = this.group.view;
    const wide = [...(this.time && x ? [...x, 0] : this.own?.x?.[index] ?? axes.x)];
    let tall = y?.[index] ?? this.own?.y?.[index] ?? axes.y;
    if (log === "log" && !tall[2]) {
      tall = [tall[0] > 0 ? tall[0] : logFloor(axes.main.map((line) => line.y), tall[1]), tall[1], 1];
    } else if (log === "linear" && tall[2]) tall = [y?.[index] ? tall[0] : 0, tall[1], 0];
    return { x: wide, y: tall };
  }

  scales(index) {
    const axes = this.head.axes[index];
    const ends = this.shown(axes, index);
    return { ends, floor: ends.y[2] ? ends.y[0] : -Infinity, ...scalesOf(boxOf(axes), ends) };
  }

  /** Draws it as the group wants it; as it was drawn if that is what it wants. */
  draw() {
    if (!this.head) return;
    this.svg.querySelectorAll(".redrawn").forEach((own) => own.remove());
    const { x, y, log, seeds } = this.group.view;
    const anew = this.free && Boolean((x && this.time) || (y && this.time) || log || (seeds !== "range" && this.seeds) || this.own);
    for (const own of this.svg.querySelectorAll("[data-axes]")) conceal(own, anew);
    if (anew) this.head.axes.forEach((axes, index) => this.svg.append(this.axes(axes, index)));
    this.point();
  }

  axes(axes, index) {
    const { top, height } = boxOf(axes);
    const scales = this.scales(index);
    const { ends, x } = scales;
    const out = svgEl("g", { class: "redrawn" });
    grid(out, boxOf(axes), ends, EM, { below: axes.told[0], aside: axes.told[1] });
    const inside = within(out, boxOf(axes));
    if (axes.span) inside.append(svgEl("rect", { x: x.of(axes.span[0]), y: top, width: Math.max(0, x.of(axes.span[1]) - x.of(axes.span[0])), height, fill: "currentColor", "fill-opacity": 0.1 }));
    const { seeds } = this.group.view;
    for (const line of axes.main) {
      const over = line.seeds.length > 0;
      if (line.low && (!over || seeds === "range")) inside.append(svgEl("path", { d: band(line, scales), fill: line.c, "fill-opacity": 0.25 }));
      if (over && seeds === "lines") for (const own of line.seeds) inside.append(stroke({ ...line, y: own, w: 0.7, a: 0.55 }, scales));
      inside.append(stroke(line, scales));
    }
    for (const at of axes.events ?? []) inside.append(svgEl("line", { x1: x.of(at), x2: x.of(at), y1: top, y2: top + height, class: "event" }));
    for (const [at, words] of axes.notes ?? []) if (at >= ends.x[0] && at <= ends.x[1]) out.append(svgEl("text", { x: x.of(at) + 2, y: top - 1, class: "tick note" }, words));
    return out;
  }

  // --- the cursor ---------------------------------------------------------------------------------------------------

  /** Where an event is, in points, and in which axes; `null` outside of all. */
  place(event) {
    if (!this.svg.getScreenCTM() || !this.head) return null;
    const { x, y } = pointOf(this.svg, event);
    const near = this.head.axes.map(({ box: [l, t, w, h] }, index) => ({ index, off: Math.max(l - x, x - l - w, 0) * 4 + Math.max(t - y, y - t - h, 0) }));
    const [{ index, off }] = near.sort((a, b) => a.off - b.off);
    return off > 40 ? null : { x, y, index };
  }

  async moved(event) {
    await this.load();
    const at = this.place(event);
    if (!at) return this.group.point(null);
    this.group.point({ figure: this, index: at.index, x: this.scales(at.index).x.back(at.x), at });
  }

  /** Shows this part of it: of a figure over time all of the group's, of others this one alone. */
  zoom(index, wide, tall, logarithmic = 0) {
    if (this.time) {
      if (wide) this.group.own.x = wide;
      if (tall) this.group.own.y = { ...this.group.own.y, [index]: tall };
    } else {
      const every = this.head.axes.map((_, own) => own);
      this.own ??= { x: {}, y: {} };
      if (wide) for (const own of every) this.own.x[own] = [...wide, logarithmic];
      if (tall) this.own.y[index] = tall;
    }
    this.group.changed();
  }

  /** Half as much, around a point: two clicks, two taps. */
  async twice(event) {
    await this.load();
    const at = this.place(event);
    if (at && this.free) this.around(at.index, this.scales(at.index).x.back(at.x), 0.5);
  }

  around(index, middle, factor) {
    const { ends } = this.scales(index);
    const full = this.head.axes[index].x;
    if (ends.x[2]) {
      const half = (Math.log(ends.x[1] / ends.x[0]) * factor) / 2;
      return this.zoom(index, [Math.max(full[0], middle * Math.exp(-half)), Math.min(full[1], middle * Math.exp(half))], null, 1);
    }
    const half = (Math.abs(ends.x[1] - ends.x[0]) * factor) / 2;
    if (factor > 1 && 2 * half >= Math.abs(full[1] - full[0])) return this.all();
    this.zoom(index, [Math.max(full[0], middle - half), Math.min(full[1], middle + half)], null);
  }

  all() {
    this.own = null;
    this.group.all();
  }

  async key(event) {
    const wanted = asked(event);
    if (!wanted) return;
    await this.load();
    const index = this.group.cursor?.index ?? 0;
    const { ends } = this.scales(index);
    const now = this.group.cursor?.x ?? (ends.x[0] + ends.x[1]) / 2;
    if (wanted.way) {
      const x = clamp(now + wanted.way * (ends.x[1] - ends.x[0]), Math.min(ends.x[0], ends.x[1]), Math.max(ends.x[0], ends.x[1]));
      this.group.point({ figure: this, index, x, at: null });
      say(this.words(this.values(index, x)));
    } else if (wanted.off) this.group.point(null);
    else if (wanted.all) this.all();
    else if (this.free) this.around(index, now, wanted.zoom);
  }

  /** The axes that stand with this one over the same time: a sheet may have several runs below one another. */
  together(index) {
    const { axes } = this.head;
    let from = index;
    while (from > 0 && !axes[from - 1].called[0]) from -= 1;
    let to = index;
    while (to < axes.length - 1 && !axes[to].called[0]) to += 1;
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  }

  /** What every line is at a time: `[{title, unit, rows: [{name, colour, value, low, high, at}]}]`. */
  values(index, x) {
    return this.together(index).map((own) => {
      const axes = this.head.axes[own];
      const [, title, unit] = /^(.*?)(?: \(([^()]*)\))?$/.exec(axes.called[1]);
      const rows = [];
      for (const line of axes.main) {
        const i = nearest(line.x, x);
        if (i === null) continue;
        rows.push({ name: line.n || title, colour: line.c, value: line.y[i], low: line.low?.[i], high: line.high?.[i], at: line.x[i], own });
      }
      return { title, unit: unit ?? "", rows };
    });
  }

  words(values) {
    return values.map(({ title, unit, rows }) => `${title}: ${rows.map((row) => `${row.name} ${digits(row.value)} ${unit}`).join(", ")}`).join("; ");
  }

  /** Draws the cursor where the group has it, and says the values if it is this figure that is pointed at. */
  point() {
    this.rule?.remove();
    tipAt(this.element, this.svg, null);
    const { cursor } = this.group;
    if (!cursor || !this.head) return;
    if (this.time) this.pointTime(cursor);
    else if (cursor.figure === this) this.pointNearest(cursor);
  }

  pointTime({ figure, index, x, at }) {
    this.rule = svgEl("g", { class: "cursor" });
    this.head.axes.forEach((axes, own) => {
      const { left, top, width, height } = boxOf(axes);
      const { x: across, y, floor } = this.scales(own);
      const place = across.of(x);
      if (place < left - 0.5 || place > left + width + 0.5) return;
      const dots = axes.main.flatMap((line) => {
        const i = nearest(line.x, x);
        return i === null || !Number.isFinite(line.y[i]) ? [] : [[across.of(line.x[i]), y.of(Math.max(line.y[i], floor)), line.c]];
      });
      this.rule.append(...rule(place, { top, height }, dots.filter(([, down]) => down >= top - 1 && down <= top + height + 1), 2.4));
    });
    this.svg.append(this.rule);
    if (figure !== this) return;
    const rows = this.values(index, x).flatMap(({ title, unit, rows: own }) => [
      el("tr", { class: "of" }, el("th", { colspan: 2 }, title), el("td", {}, unit)),
      ...own.map((row) => tipRow(row.name === title ? { ...row, name: "" } : row)),
    ]);
    tipAt(this.element, this.svg, el("table", {}, el("caption", {}, `${digits(x)} s`), ...rows), this.scales(index).x.of(x), at?.y ?? this.head.axes[index].box[1]);
  }

  pointNearest({ index, at }) {
    if (!at) return;
    const axes = this.head.axes[index];
    const { x, y, ends, floor } = this.scales(index);
    const along = (value) => axes.labels?.find(([place]) => Math.abs(place - value) < 0.5)?.[1] ?? digits(value);
    let best = null;
    for (const line of axes.main) {
      for (let i = 0; i < line.x.length; i++) {
        if (!Number.isFinite(line.y[i])) continue;
        const off = Math.hypot(x.of(line.x[i]) - at.x, y.of(line.y[i]) - at.y);
        if (off < (best?.off ?? 18)) best = { off, name: line.n, colour: line.c, value: line.y[i], where: along(line.x[i]), px: x.of(line.x[i]), py: y.of(line.y[i]) };
      }
    }
    for (const [left, width, foot, height, name] of axes.bars ?? []) {
      const [a, b] = [x.of(left), x.of(left + width)];
      const top = y.of(foot + height);
      if (at.x >= a && at.x <= b && at.y >= top - 6 && at.y <= y.of(Math.max(foot, floor)) + 2) {
        best = { off: 0, name, colour: "currentColor", value: foot > ends.y[0] || !ends.y[2] ? height : foot + height, where: along(left + width / 2), px: (a + b) / 2, py: top };
      }
    }
    if (!best) return;
    this.rule = svgEl("g", { class: "cursor" }, svgEl("circle", { cx: best.px, cy: best.py, r: 4, class: "ring" }));
    this.svg.append(this.rule);
    const below = this.head.axes.at(-1).called[0];
    const rows = [el("tr", {}, el("th", { colspan: 2 }, axes.called[1] || "value"), el("td", {}, digits(best.value))), el("tr", {}, el("th", { colspan: 2 }, below || "at"), el("td", {}, best.where))];
    tipAt(this.element, this.svg, el("table", {}, el("caption", {}, [best.name, axes.called[2]].filter(Boolean).join(", ") || best.where), ...rows), best.px, best.py);
  }
}

/** The least or the greatest of a line and of the other seeds', at every point. */
function over(line, choose) {
  return line.y.map((value, i) => {
    const there = [value, ...line.seeds.map((own) => own[i])].filter(Number.isFinite);
    return there.length ? choose(...there) : NaN;
  });
}

function stroke(line, scales) {
  const out = svgEl("g", {});
  if (!(line.d && line.d.length === 0)) out.append(svgEl("path", { d: pathOf(line.x, line.y, scales, { floor: scales.floor, steps: line.steps }), fill: "none", stroke: line.c, "stroke-width": line.w, "stroke-opacity": line.a ?? 1, "stroke-dasharray": line.d?.join(" ") }));
  if (line.m) line.x.forEach((value, i) => Number.isFinite(line.y[i]) && out.append(svgEl("circle", { cx: scales.x.of(value), cy: scales.y.of(line.y[i]), r: 2.4, fill: line.c })));
  return out;
}

/** The band around a line, in pieces where there is nothing between. */
function band(line, { x, y, floor }) {
  let path = "";
  let way = [];
  for (let i = 0; i <= line.x.length; i++) {
    if (Number.isFinite(line.low[i]) && Number.isFinite(line.high[i])) way.push(i);
    else if (way.length) {
      const points = (values) => way.map((own) => `${x.of(line.x[own]).toFixed(1)} ${y.of(Math.max(values[own], floor)).toFixed(1)}`);
      path += `M${points(line.high).join("L")}L${points(line.low).reverse().join("L")}Z`;
      way = [];
    }
  }
  return path;
}

/** Takes what is drawn anew out of sight: lines, ticks and grids; what axes are called stays. */
function conceal(axes, hidden) {
  const drawn = (own) => own.classList.contains("event") || own.querySelector("path, use") !== null || own.matches("path, use");
  for (const own of axes.children) {
    const parts = own.querySelector(":scope > g text") ? own.children : [own];
    for (const part of parts) if (drawn(part)) part.style.display = hidden ? "none" : "";
  }
}
