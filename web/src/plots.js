// The plots of a page: one column a side, one panel a quantity; a cursor and a zoom that all of them share.

import { button, el } from "../lib/dom.js";
import { digits } from "../lib/quantity.js";
import { dashed } from "../lib/series.js";
import { Strips } from "../lib/strips.js";
import { inWords, panels } from "./panels.js";

const HEIGHT = 120;
/** Room above the largest value. */
const ROOM = 1.05;

/** Every plot that is on the page. */
const strips = new Strips(zoomTo);
/** The columns, one a side. */
const sides = new Set();
let zoom = null;

/** Shows this interval of time in every plot; null is all of it. */
export function zoomTo(interval) {
  zoom = interval;
  strips.point(null);
  for (const chart of strips.charts) strips.draw(Object.assign(chart, { ends: shown(chart.end) }));
}

const shown = (end) => (zoom ? [zoom[0], Math.min(zoom[1], end)] : [0, end]);

/** Where the scale of a panel ends: above what both sides have, so that they can be compared. */
const top = (title) => ROOM * Math.max(...[...sides].flatMap(({ all }) => all.filter((own) => own.title === title).map((own) => own.most))) || ROOM;

export class Plots {
  /** @param {HTMLElement} place */
  constructor(place, side) {
    Object.assign(this, { place, side, own: [], all: [] });
    sides.add(this);
    let width = 0;
    new ResizeObserver(() => {
      if (width !== (width = place.clientWidth)) this.redraw();
    }).observe(place);
  }

  /** Draws a run in place of the one before; nothing of none. */
  show(result) {
    this.all = result ? panels(result) : [];
    strips.drop(this.own);
    this.place.replaceChildren();
    this.own = this.all.flatMap((panel) => this.panel(panel));
    for (const other of sides) if (other !== this) other.redraw();
  }

  panel(panel) {
    const place = el("figure", { class: "plot" });
    this.place.append(place);
    const title = `${panel.title} (${panel.unit})`;
    if (!panel.lines.length) {
      place.append(el("figcaption", {}, title), el("p", { class: "nothing" }, panel.title === "Marks and drops" ? "No packet was marked or dropped." : "Nothing to show."));
      return [];
    }
    const time = el("span", { class: "time" });
    const rows = panel.lines.map((line) => {
      const value = el("span", { class: "value" });
      const hide = () => {
        line.hidden = !line.hidden;
        own.setAttribute("aria-pressed", String(!line.hidden));
        strips.draw(chart);
      };
      const own = button([dashed(line.colour, line.dash), line.name], hide, { class: "quiet", "aria-pressed": "true", title: "Hide or show this line" });
      return { line, value, item: el("li", {}, own, value) };
    });
    /** The values at the cursor stand in the key. */
    const read = (t, values) => {
      time.textContent = t === null ? "" : `${t.toFixed(2)} s`;
      for (const { line, value } of rows) value.textContent = t === null ? "" : digits(values.find((own) => own.line === line)?.value);
    };
    const words = `${this.side}. ${inWords(panel)}`;
    const chart = strips.add(place, { title, name: panel.title, unit: panel.unit, lines: panel.lines, end: panel.end, ends: shown(panel.end), top: top(panel.title), height: HEIGHT, words, read });
    place.append(el("ul", { class: "key" }, ...rows.map(({ item }) => item), el("li", {}, time)));
    return [chart];
  }

  /** The pictures with what their colours are; each title begins with these words. */
  pictures(before) {
    return this.own.map(({ svg, lines }) => ({ svg, before, key: lines.filter((line) => !line.hidden).map(({ name, colour, dash }) => [name, colour, dash]) }));
  }

  /** As it is, in the width and by the scales that it has now. */
  redraw() {
    for (const chart of this.own) strips.draw(Object.assign(chart, { top: top(chart.name) }));
  }
}
