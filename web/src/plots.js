// The plots of a page: one column a side, one panel a quantity; a cursor and a zoom that all of them share.

import uPlot from "uplot";
import { el } from "./dom.js";
import { inWords, panels } from "./panels.js";

const SYNC = uPlot.sync("time");
const HEIGHT = 150;

/** The largest value of each panel, by its title, of both sides: they have one scale, so that they can be compared. */
const most = new Map();

/** Where the scale of a panel ends. */
const top = (title) => (most.get(title) || 1) * 1.05;

/** Every plot that is on the page. */
const shown = new Set();
/** The columns, one a side. */
const sides = new Set();
let zoom = null;
let zooming = false;

/** Shows this interval of time in every plot; null: all of it. */
export function zoomTo(interval) {
  zoom = interval;
  zooming = true;
  for (const plot of shown) {
    plot.setScale("x", zoom ?? { min: 0, max: plot.end });
  }
  zooming = false;
}

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function options(panel, width) {
  const axis = { stroke: style("--muted"), grid: { stroke: style("--grid"), width: 1 }, ticks: { stroke: style("--grid"), width: 1 } };
  return {
    width,
    height: HEIGHT,
    cursor: { sync: { key: SYNC.key, setSeries: false }, drag: { x: true, y: false, setScale: true }, focus: { prox: 16 } },
    legend: { live: true },
    scales: { x: { time: false, min: 0, max: panel.end }, y: { range: () => [0, top(panel.title)] } },
    axes: [
      { ...axis, size: 30, values: (_, ticks) => ticks.map((t) => `${t} s`) },
      { ...axis, size: 56, values: (_, ticks) => ticks.map((v) => (v >= 1e4 ? `${v / 1e3}k` : String(v))) },
    ],
    series: [
      { label: "Time", value: (_, v) => (v === null ? "–" : `${v.toFixed(2)} s`) },
      ...panel.lines.map(({ name, colour, dash }) => ({
        label: name,
        stroke: colour,
        width: 1.5,
        dash,
        spanGaps: false,
        points: { show: false },
        value: (_, v) => (v === null ? "–" : `${Number(v.toPrecision(3))}`),
      })),
    ],
    hooks: {
      setScale: [
        (plot, key) => {
          if (key === "y") plot.root.dataset.top = String(plot.scales.y.max);
          if (key !== "x" || zooming || plot.status !== 1 || plot.end === undefined) return;
          const { min, max } = plot.scales.x;
          zoomTo(min <= 0 && max >= plot.end ? null : { min: Math.max(min, 0), max: Math.min(max, plot.end) });
        },
      ],
    },
  };
}

/** Arrow keys move the cursor, plus and minus zoom, 0 shows all. */
function keys(plot, event) {
  const t = plot.data[0];
  const { min, max } = plot.scales.x;
  const at = plot.cursor.idx ?? plot.valToIdx(min);
  const step = Math.max(1, Math.round((plot.valToIdx(max) - plot.valToIdx(min)) / 100));
  const middle = t[at];
  const around = (factor) => {
    const half = ((max - min) * factor) / 2;
    zoomTo({ min: Math.max(0, middle - half), max: Math.min(plot.end, middle + half) });
  };
  const moves = { ArrowLeft: -step, ArrowRight: step };
  if (event.key in moves) {
    const to = Math.min(Math.max(at + moves[event.key], 0), t.length - 1);
    plot.setCursor({ left: plot.valToPos(t[to], "x"), top: plot.over.clientHeight / 2 }, true, true);
  } else if (event.key === "+") around(0.5);
  else if (event.key === "-") around(2);
  else if (event.key === "0") zoomTo(null);
  else return;
  event.preventDefault();
}

export class Plots {
  /** @param {HTMLElement} place */
  constructor(place, side) {
    Object.assign(this, { place, side, own: [], result: null, all: [] });
    sides.add(this);
    new ResizeObserver(() => this.resize()).observe(place);
  }

  /** Draws a run in place of the one before. */
  show(result) {
    this.result = result;
    this.all = panels(result);
    this.draw();
    for (const other of sides) if (other !== this) other.rescale();
  }

  /** Takes the scales anew, which ask for the largest values. */
  rescale() {
    most.clear();
    for (const { all } of sides) for (const panel of all) most.set(panel.title, Math.max(most.get(panel.title) ?? 0, panel.most));
    for (const plot of this.own) plot.setScale("y", { min: 0, max: top(plot.title) });
  }

  /** Nothing is shown any more. */
  empty() {
    Object.assign(this, { result: null, all: [] });
    this.clear();
    for (const other of sides) other.rescale();
  }

  draw() {
    this.rescale();
    this.clear();
    for (const panel of this.all) {
      const box = el("div", { class: "plot", tabindex: "0", role: "group", "aria-label": `${this.side}. ${inWords(panel)} Arrow keys move the cursor, plus and minus zoom, 0 shows all.` });
      const figure = el("figure", {}, el("figcaption", {}, `${panel.title} `, el("span", { class: "unit" }, panel.unit)), box);
      this.place.append(figure);
      if (!panel.lines.length) {
        box.append(el("p", { class: "nothing" }, panel.title === "Marks and drops" ? "No packet was marked or dropped." : "Nothing to show."));
        continue;
      }
      const plot = new uPlot(options(panel, this.width()), [panel.t, ...panel.lines.map((l) => l.values)], box);
      Object.assign(plot, { end: panel.end, title: panel.title });
      plot.root.setAttribute("aria-hidden", "true");
      box.addEventListener("keydown", (event) => keys(plot, event));
      SYNC.sub(plot);
      shown.add(plot);
      this.own.push(plot);
    }
    if (zoom) zoomTo(zoom);
  }

  /** As it is, in the colours of the page as they are now. */
  redraw() {
    if (this.result) this.show(this.result);
  }

  clear() {
    for (const plot of this.own) {
      SYNC.unsub(plot);
      shown.delete(plot);
      plot.destroy();
    }
    this.own = [];
    this.place.replaceChildren();
  }

  width() {
    return Math.max(240, this.place.clientWidth - 2);
  }

  resize() {
    for (const plot of this.own) plot.setSize({ width: this.width(), height: HEIGHT });
  }
}
