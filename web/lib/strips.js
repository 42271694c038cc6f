// Charts over time, strips below one another, that share a cursor and a zoom.

import { axes, picture, widthIn, within } from "./axis.js";
import { asked, draggable, pointOf, rule, tipAt, tipRow } from "./cursor.js";
import { el, fill, say, svgEl } from "./dom.js";
import { digits } from "./quantity.js";
import { clamp, endsOf } from "./scale.js";
import { nearest, pathOf } from "./series.js";

/** The points of a line from the last before an interval to the first behind it. */
function between({ t, y }, [from, to]) {
  const first = Math.max(0, t.findIndex((own) => own >= from) - 1);
  const behind = t.findIndex((own) => own > to);
  return [t, y].map((own) => own.slice(first, behind < 0 ? own.length : behind + 1));
}

const KEYS = "Arrow keys move the cursor, + and − zoom, 0 shows all.";
/** Rows of the box at the cursor. */
const MOST_ROWS = 12;
/** How near the pointer makes a line stand out, pixels. */
const NEAR = 16;

export class Strips {
  /** `zoom` is called with the interval that somebody wants to see, `[from, to]` in seconds; `null` is all of it. */
  constructor(zoom) {
    Object.assign(this, { zoom, charts: [], at: null });
  }

  /**
   * A chart at the end of a place. `lines` are `{name, t, y, colour, dash, hidden}`, `ends` the interval that it shows, s; `top` is
   * the end of the scale, if not above the values; `events` are `[t, words]`, `window` is an interval to shade; `read` is called
   * with a time and the values there, and stands for the box at the cursor.
   */
  add(place, options) {
    const chart = { place, height: 172, events: [], window: null, top: null, read: null, near: null, ...options };
    chart.svg = picture(0, 0, `${chart.words} ${KEYS}`);
    chart.svg.classList.add("zooms");
    place.append(chart.svg);
    this.charts.push(chart);
    this.draw(chart);
    this.listen(chart);
    return chart;
  }

  /** Takes charts away. */
  drop(charts = this.charts) {
    this.charts = this.charts.filter((own) => !charts.includes(own));
  }

  draw(chart) {
    const { svg, ends, lines, height } = chart;
    const width = widthIn(chart.place);
    const box = (chart.box = { left: 58, top: 24, width: width - 76, height });
    const seen = lines.filter((line) => !line.hidden);
    fill(svg, { viewBox: `0 0 ${width} ${height + 48}`, width, height: height + 48 }).replaceChildren();
    const shade = svgEl("rect", { y: box.top, height, fill: "currentColor", "fill-opacity": 0.07 });
    svg.append(shade);
    const y = endsOf(seen.flatMap((line) => line.y.filter((v) => v !== null)), false, chart.top);
    const scales = (chart.scales = axes(svg, box, { x: [...ends, 0], y }, { y: chart.title }, { unit: " s" }));
    const [from, to] = (chart.window ?? [0, 0]).map((t) => scales.x.of(clamp(t, ...ends)));
    fill(shade, { x: from, width: to - from });
    const inside = within(svg, box);
    for (const [t, words] of chart.events) {
      if (t >= ends[0] && t <= ends[1]) inside.append(svgEl("line", { x1: scales.x.of(t), x2: scales.x.of(t), y1: box.top, y2: box.top + height, class: "event" }, svgEl("title", {}, words)));
    }
    chart.near = null;
    chart.paths = new Map(seen.map((line) => [line, svgEl("path", { d: pathOf(...between(line, ends), scales), fill: "none", stroke: line.colour, "stroke-width": 1.6, "stroke-dasharray": line.dash, "stroke-linejoin": "round" })]));
    inside.append(...chart.paths.values());
  }

  listen(chart) {
    const { svg } = chart;
    draggable(svg, {
      boxAt: () => chart.box,
      moved: (event) => {
        const { x, y } = pointOf(svg, event);
        this.point(chart, chart.scales.x.back(clamp(x, chart.box.left, chart.box.left + chart.box.width)), y);
      },
      left: () => this.point(null),
      zoomed: (box, across) => this.zoom(across.map(chart.scales.x.back)),
    });
    fill(svg, {
      dblclick: () => this.zoom(null),
      keydown: (event) => {
        const wanted = asked(event);
        if (!wanted) return;
        const [a, b] = chart.ends;
        const now = this.at ?? (a + b) / 2;
        if (wanted.way) {
          const t = clamp(now + wanted.way * (b - a), a, b);
          this.point(chart, t);
          say(`${digits(t)} s: ${this.values(chart, t).map(({ line, value }) => `${line.name} ${digits(value)} ${chart.unit}`).join(", ")}`);
        } else if (wanted.off) this.point(null);
        else if (wanted.all) this.zoom(null);
        else {
          const half = ((b - a) * wanted.zoom) / 2;
          this.zoom([Math.max(0, now - half), now + half]);
        }
      },
    });
  }

  values(chart, t) {
    return [...chart.paths.keys()].flatMap((line) => {
      const i = nearest(line.t, t);
      return i === null || line.y[i] === null ? [] : [{ line, value: line.y[i], at: line.t[i] }];
    });
  }

  /** Puts the cursor into all charts, and the values at it into a box in this one; `down` is where the pointer is. */
  point(chart, t = null, down = null) {
    this.at = t;
    for (const own of this.charts) {
      const { svg, scales, box } = own;
      svg.querySelector(".cursor")?.remove();
      const values = t === null ? [] : this.values(own, t);
      const off = own === chart && down !== null ? values.map(({ value }) => Math.abs(scales.y.of(value) - down)) : [];
      const near = Math.min(...off) < NEAR ? values[off.indexOf(Math.min(...off))].line : null;
      if (near !== own.near) for (const [line, path] of own.paths) fill(path, { "stroke-opacity": near && line !== near ? 0.3 : 1 });
      own.near = near;
      if (t !== null) svg.append(svgEl("g", { class: "cursor" }, ...rule(scales.x.of(t), box, values.map(({ line, value, at }) => [scales.x.of(at), scales.y.of(value), line.colour]))));
      if (own.read) own.read(t, values);
      else tipAt(own.place, svg, own === chart && this.box(own, t, values), scales.x.of(t ?? 0), box.top + box.height / 2);
    }
  }

  box(chart, t, values) {
    const rows = values.slice(0, MOST_ROWS).map(({ line, value }) => tipRow({ name: line.name, colour: line.colour, value }));
    if (values.length > MOST_ROWS) rows.push(el("tr", {}, el("td", {}), el("th", {}, `and ${values.length - MOST_ROWS} more`)));
    return el("table", {}, el("caption", {}, [`${digits(t)} s`, chart.unit].filter(Boolean).join(" · ")), ...rows);
  }
}
