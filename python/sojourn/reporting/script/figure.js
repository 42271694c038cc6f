// One figure. It is shown as it was drawn until somebody asks for something else; then its axes are drawn anew in their
// places, by the same scales, from the numbers beside it. Units are the picture's own, points.

let clips = 0;

class Figure {
  constructor(element, group) {
    Object.assign(this, { element, group, svg: element.querySelector("svg"), head: null, tip: null, rule: null });
    this.block = element.querySelector("script.numbers");
    this.ready = null;
    element.classList.add("answers");
    const { svg } = this;
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("pointermove", (event) => this.moved(event));
    svg.addEventListener("pointerleave", () => this.dragged || this.group.point(null));
    svg.addEventListener("pointerdown", (event) => this.pressed(event));
    svg.addEventListener("pointerup", (event) => this.released(event));
    svg.addEventListener("pointercancel", () => this.drag(null));
    svg.addEventListener("dblclick", (event) => this.twice(event));
    svg.addEventListener("keydown", (event) => this.key(event));
    svg.addEventListener("focus", () => this.load());
    svg.addEventListener("blur", () => this.group.point(null));
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
    const [left, top, width, height] = axes.box;
    const ends = this.shown(axes, index);
    return { ends, x: scaleOf(ends.x, left, left + width), y: scaleOf(ends.y, top + height, top) };
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
    const [left, top, width, height] = axes.box;
    const { ends, x, y } = this.scales(index);
    const clip = `clip-${(clips += 1)}`;
    const out = svgEl("g", { class: "redrawn" });
    out.append(svgEl("clipPath", { id: clip }, svgEl("rect", { x: left, y: top, width, height })));
    const inside = svgEl("g", { "clip-path": `url(#${clip})` });
    if (axes.span) inside.append(svgEl("rect", { x: x.of(axes.span[0]), y: top, width: Math.max(0, x.of(axes.span[1]) - x.of(axes.span[0])), height, fill: "currentColor", "fill-opacity": 0.1 }));
    const text = (at, down, words, anchor) => svgEl("text", { x: at, y: down, "text-anchor": anchor, class: "tick" }, words);
    for (const value of ticksOf(ends.x, Math.max(3, Math.min(9, width / 55)))) {
      const at = x.of(value);
      out.append(svgEl("line", { x1: at, x2: at, y1: top, y2: top + height, class: "grid" }));
      if (axes.told[0]) out.append(text(at, top + height + 11.5, String(value), "middle"));
    }
    for (const value of ticksOf(ends.y, Math.max(2, Math.min(6, height / 22)))) {
      const down = y.of(value);
      out.append(svgEl("line", { x1: left, x2: left + width, y1: down, y2: down, class: "grid" }));
      if (axes.told[1]) out.append(text(left - 5, down + 3, String(value), "end"));
    }
    const { seeds } = this.group.view;
    for (const line of axes.main) {
      const over = line.seeds.length > 0;
      if (line.low && (!over || seeds === "range")) inside.append(svgEl("path", { d: band(line, x, y, ends), fill: line.c, "fill-opacity": 0.25 }));
      if (over && seeds === "lines") for (const own of line.seeds) inside.append(stroke({ ...line, y: own, w: 0.7, a: 0.55 }, x, y, ends));
      inside.append(stroke(line, x, y, ends));
    }
    for (const at of axes.events ?? []) inside.append(svgEl("line", { x1: x.of(at), x2: x.of(at), y1: top, y2: top + height, class: "event" }));
    out.append(inside);
    for (const [at, words] of axes.notes ?? []) if (at >= ends.x[0] && at <= ends.x[1]) out.append(svgEl("text", { x: x.of(at) + 2, y: top - 1, class: "tick note" }, words));
    out.append(svgEl("path", { d: `M${left} ${top}V${top + height}H${left + width}`, class: "spine" }));
    return out;
  }

  // --- the cursor ---------------------------------------------------------------------------------------------------

  /** Where an event is, in points, and in which axes; `null` outside of all. */
  place(event) {
    const matrix = this.svg.getScreenCTM();
    if (!matrix || !this.head) return null;
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    const near = this.head.axes.map(({ box: [l, t, w, h] }, index) => ({ index, off: Math.max(l - x, x - l - w, 0) * 4 + Math.max(t - y, y - t - h, 0) }));
    const [{ index, off }] = near.sort((a, b) => a.off - b.off);
    return off > 40 ? null : { x, y, index };
  }

  async moved(event) {
    await this.load();
    const at = this.place(event);
    if (this.dragged) return this.drag(at);
    if (!at) return this.group.point(null);
    this.group.point({ figure: this, index: at.index, x: this.scales(at.index).x.back(at.x), at });
  }

  async pressed(event) {
    await this.load();
    const at = this.place(event);
    if (event.pointerType === "touch") return this.moved(event);
    if (!at || !this.free || event.button !== 0) return;
    event.preventDefault();
    this.svg.focus({ preventScroll: true });
    this.svg.setPointerCapture(event.pointerId);
    this.dragged = { from: at, rect: svgEl("rect", { class: "chosen" }) };
    this.svg.append(this.dragged.rect);
  }

  /** Shows what would be zoomed to; `null`: nothing is. */
  drag(at) {
    if (!this.dragged) return;
    if (at === null) {
      this.dragged.rect.remove();
      this.dragged = null;
      return;
    }
    const { from, rect } = this.dragged;
    const [left, top, width, height] = this.head.axes[from.index].box;
    const [a, b] = [from.x, at.x].map((v) => Math.min(Math.max(v, left), left + width)).sort((p, q) => p - q);
    const tall = Math.abs(at.y - from.y) > 24;
    const [c, d] = tall ? [from.y, at.y].map((v) => Math.min(Math.max(v, top), top + height)).sort((p, q) => p - q) : [top, top + height];
    Object.assign(this.dragged, { to: [a, b], tall: tall ? [d, c] : null });
    fill(rect, { x: a, y: c, width: b - a, height: d - c }, []);
  }

  released(event) {
    if (!this.dragged) return;
    const { from, to, tall } = this.dragged;
    this.drag(null);
    if (!to || (to[1] - to[0] < 6 && !tall)) return;
    const { x, y, ends } = this.scales(from.index);
    const wide = to[1] - to[0] < 6 ? null : to.map(x.back);
    this.zoom(from.index, wide, tall ? [...tall.map(y.back), ends.y[2]] : null, ends.x[2]);
    this.moved(event);
  }

  /** Shows this part of it: of a figure over time all of the group's, of others this one alone. */
  zoom(index, wide, tall, logarithmic = 0) {
    if (this.time) {
      if (wide) this.group.view.x = wide;
      if (tall) this.group.view.y = { ...this.group.view.y, [index]: tall };
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
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!way && !["+", "=", "-", "0", "Escape"].includes(event.key)) return;
    event.preventDefault();
    await this.load();
    const index = this.group.cursor?.index ?? 0;
    const { ends } = this.scales(index);
    const now = this.group.cursor?.x ?? (ends.x[0] + ends.x[1]) / 2;
    if (way) {
      const step = ((ends.x[1] - ends.x[0]) / 100) * (event.shiftKey ? 10 : 1);
      const x = Math.min(Math.max(now + way * step, Math.min(ends.x[0], ends.x[1])), Math.max(ends.x[0], ends.x[1]));
      this.group.point({ figure: this, index, x, at: null });
      say(this.words(this.values(index, x)));
    } else if (event.key === "Escape") this.group.point(null);
    else if (event.key === "0") this.all();
    else if (this.free) this.around(index, now, event.key === "-" ? 2 : 0.5);
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
    this.tip?.remove();
    this.rule = this.tip = null;
    const { cursor } = this.group;
    if (!cursor || !this.head) return;
    if (this.time) this.pointTime(cursor);
    else if (cursor.figure === this) this.pointNearest(cursor);
  }

  pointTime({ figure, index, x, at }) {
    this.rule = svgEl("g", { class: "cursor" });
    this.head.axes.forEach((axes, own) => {
      const [left, top, width, height] = axes.box;
      const { x: across, y, ends } = this.scales(own);
      const place = across.of(x);
      if (place < left - 0.5 || place > left + width + 0.5) return;
      this.rule.append(svgEl("line", { x1: place, x2: place, y1: top, y2: top + height }));
      for (const line of axes.main) {
        const i = nearest(line.x, x);
        if (i === null || !Number.isFinite(line.y[i])) continue;
        const down = y.of(Math.max(line.y[i], ends.y[2] ? ends.y[0] : -Infinity));
        if (down >= top - 1 && down <= top + height + 1) this.rule.append(svgEl("circle", { cx: across.of(line.x[i]), cy: down, r: 2.4, fill: line.c }));
      }
    });
    this.svg.append(this.rule);
    if (figure !== this) return;
    const rows = this.values(index, x).flatMap(({ title, unit, rows: own }) => [
      el("tr", { class: "of" }, el("th", { colspan: 2 }, title), el("td", {}, unit)),
      ...own.map((row) => tipRow(row.name === title ? { ...row, name: "" } : row)),
    ]);
    this.show(el("table", {}, el("caption", {}, `${digits(x)} s`), ...rows), this.scales(index).x.of(x), at?.y ?? this.head.axes[index].box[1]);
  }

  pointNearest({ index, at }) {
    if (!at) return;
    const axes = this.head.axes[index];
    const { x, y, ends } = this.scales(index);
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
      if (at.x >= a && at.x <= b && at.y >= top - 6 && at.y <= y.of(Math.max(foot, ends.y[2] ? ends.y[0] : foot)) + 2) {
        best = { off: 0, name, colour: "currentColor", value: foot > ends.y[0] || !ends.y[2] ? height : foot + height, where: along(left + width / 2), px: (a + b) / 2, py: top };
      }
    }
    if (!best) return;
    this.rule = svgEl("g", { class: "cursor" }, svgEl("circle", { cx: best.px, cy: best.py, r: 4, class: "ring" }));
    this.svg.append(this.rule);
    const below = this.head.axes.at(-1).called[0];
    const rows = [el("tr", {}, el("th", { colspan: 2 }, axes.called[1] || "value"), el("td", {}, digits(best.value))), el("tr", {}, el("th", { colspan: 2 }, below || "at"), el("td", {}, best.where))];
    this.show(el("table", {}, el("caption", {}, [best.name, axes.called[2]].filter(Boolean).join(", ") || best.where), ...rows), best.px, best.py);
  }

  /** Puts a box beside a point of the picture, on the side where there is room. */
  show(content, x, y) {
    this.tip = el("div", { class: "tip", "aria-hidden": "true" }, content);
    this.element.append(this.tip);
    const at = new DOMPoint(x, y).matrixTransform(this.svg.getScreenCTM());
    const frame = this.element.getBoundingClientRect();
    const { offsetWidth: wide, offsetHeight: tall } = this.tip;
    const right = at.x + 14 + wide < Math.min(frame.right, innerWidth);
    const left = right ? at.x + 14 : Math.max(at.x - 14 - wide, Math.max(frame.left, 0) + 2);
    const top = Math.min(Math.max(at.y - tall / 2, 4), innerHeight - tall - 4);
    this.tip.style.left = `${left - frame.left + this.element.scrollLeft}px`;
    this.tip.style.top = `${top - frame.top}px`;
  }
}

const tipRow = ({ name, colour, value, low, high }) => {
  const swatch = svgEl("svg", { viewBox: "0 0 10 10", width: 10, height: 10 }, svgEl("rect", { width: 10, height: 10, rx: 2, fill: colour }));
  const range = low !== undefined && Number.isFinite(low) && Number.isFinite(high) && high > low ? el("small", {}, ` ${digits(low)}–${digits(high)}`) : null;
  return el("tr", {}, el("td", {}, swatch), el("th", {}, name), el("td", {}, digits(value), range));
};

/** The least or the greatest of a line and of the other seeds', at every point. */
function over(line, choose) {
  return line.y.map((value, i) => {
    const there = [value, ...line.seeds.map((own) => own[i])].filter(Number.isFinite);
    return there.length ? choose(...there) : NaN;
  });
}

/** The index of the point of a line that is nearest; `null` where the line is not. */
function nearest(x, value) {
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

/** The points of a line as a path; on a logarithmic axis what is below it lies on its floor. */
function pathOf(xs, ys, x, y, ends, steps) {
  let path = "";
  let pen = false;
  const floor = ends.y[2] ? ends.y[0] : -Infinity;
  for (let i = 0; i < xs.length; i++) {
    if (!Number.isFinite(ys[i])) {
      pen = false;
      continue;
    }
    const [at, down] = [x.of(xs[i]).toFixed(1), y.of(Math.max(ys[i], floor)).toFixed(1)];
    path += pen ? (steps ? `H${at}V${down}` : `L${at} ${down}`) : `M${at} ${down}`;
    pen = true;
  }
  return path;
}

function stroke(line, x, y, ends) {
  const out = svgEl("g", {});
  if (!(line.d && line.d.length === 0)) out.append(svgEl("path", { d: pathOf(line.x, line.y, x, y, ends, line.steps), fill: "none", stroke: line.c, "stroke-width": line.w, "stroke-opacity": line.a ?? 1, "stroke-dasharray": line.d?.join(" ") }));
  if (line.m) line.x.forEach((value, i) => Number.isFinite(line.y[i]) && out.append(svgEl("circle", { cx: x.of(value), cy: y.of(line.y[i]), r: 2.4, fill: line.c })));
  return out;
}

/** The band around a line, in pieces where there is nothing between. */
function band(line, x, y, ends) {
  let path = "";
  let from = null;
  const close = (to) => {
    if (from === null) return;
    const way = Array.from({ length: to - from }, (_, i) => from + i);
    const point = (values) => (i) => `${x.of(line.x[i]).toFixed(1)} ${y.of(Math.max(values[i], ends.y[2] ? ends.y[0] : -Infinity)).toFixed(1)}`;
    path += `M${way.map(point(line.high)).join("L")}L${way.reverse().map(point(line.low)).join("L")}Z`;
    from = null;
  };
  for (let i = 0; i < line.x.length; i++) {
    const there = Number.isFinite(line.low[i]) && Number.isFinite(line.high[i]);
    if (there && from === null) from = i;
    if (!there) close(i);
  }
  close(line.x.length);
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
