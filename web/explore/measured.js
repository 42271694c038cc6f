// Metrics of the chosen runs: asked for as a view needs them, drawn as they come, kept for every other arrangement.

import { button, el, select } from "../lib/dom.js";
import { choice, changed, NO_LABEL } from "./choice.js";
import { comes, FLOW } from "./folder.js";
import { trouble } from "./trouble.js";

const kept = new Map();

class Metric {
  constructor(folder, expression) {
    Object.assign(this, { folder, expression, label: expression, unit: "", top: null, byRun: new Map(), wrong: [] });
  }
  get axis() {
    return this.unit ? `${this.label} (${this.unit})` : this.label;
  }
  get eachFlow() {
    return this.expression.includes("{flow}");
  }
  /** Whether these runs' values are all here. */
  has(runs) {
    return runs.every((run) => this.byRun.has(run));
  }
  async fetch(runs, signal, progress) {
    const wanted = this.folder.inTurn(runs.filter((run) => !this.byRun.has(run)));
    if (!wanted.length) return;
    let told = 0;
    for await (const part of comes("measure", { revision: this.folder.revision, metric: this.expression, runs: wanted }, signal)) {
      if (part.label !== undefined) {
        Object.assign(this, { label: part.label, unit: part.unit, top: part.top });
        continue;
      }
      for (; told < part.done; told++) this.byRun.set(wanted[told], []);
      for (const [run, of, value] of part.rows) this.byRun.get(run).push([of, value]);
      if (part.wrong) this.wrong = part.wrong;
      progress(told, wanted.length);
    }
  }
}

export function metricOf(folder, expression) {
  if (!kept.has(expression)) kept.set(expression, new Metric(folder, expression));
  return kept.get(expression);
}

/** A field for a metric, with those of a summary to choose from. */
export function metricField(folder, name, label, usual) {
  const value = choice.menus.get(name) ?? usual;
  const set = (text) => {
    if (!text.trim() || text.trim() === value) return;
    choice.menus.set(name, text.trim());
    changed(folder);
  };
  const field = el("input", { value, spellcheck: "false", autocomplete: "off", autocapitalize: "off", change: () => set(field.value) });
  const usuals = [["", "usual ones …"], ...folder.metrics.map(({ metric, name: words }) => [metric, words])];
  return [el("label", { class: "wide" }, label, field), el("label", {}, "", select(usuals, set, "", { "aria-label": `${label}: usual ones` }))];
}

/** What shows metrics: asks for them, says how far it is, and can be stopped. `draw` is called as numbers come. */
export class Measuring {
  constructor() {
    this.element = el("div", { class: "progress" });
    this.control = null;
    this.turn = 0;
  }
  stop() {
    this.control?.abort();
    this.control = null;
  }
  async show(metrics, runs, draw) {
    this.stop();
    const own = (this.control = new AbortController());
    const turn = (this.turn += 1);
    const current = () => turn === this.turn;
    this.element.replaceChildren();
    if (metrics.every((metric) => metric.has(runs))) {
      draw(true);
      return this.tellWrong(metrics);
    }
    const bar = el("progress", { max: 1, value: 0, "aria-label": "Measured" });
    const text = el("span", {}, "measuring …");
    const stop = button("Stop", () => this.stop());
    this.element.replaceChildren(bar, text, stop);
    let drawn = 0;
    try {
      for (const metric of metrics) {
        await metric.fetch(runs, own.signal, (done, of) => {
          if (!current()) return;
          bar.value = done / of;
          text.textContent = `${done} of ${of} runs`;
          if (performance.now() - drawn > 400) {
            draw(false);
            drawn = performance.now();
          }
        });
      }
      trouble(null);
    } catch (error) {
      if (!current()) return;
      if (error.name === "AbortError") text.textContent = `Stopped: ${text.textContent}`;
      else {
        this.element.replaceChildren();
        draw(true);
        return trouble(error);
      }
      stop.remove();
      return draw(true);
    }
    if (!current()) return;
    draw(true);
    this.tellWrong(metrics);
  }
  tellWrong(metrics) {
    const wrong = metrics.flatMap((metric) => metric.wrong);
    const said = wrong.map(({ why, runs }) => `${runs} run${runs === 1 ? "" : "s"} without a value: ${why}`);
    this.element.replaceChildren(...(said.length ? [el("span", {}, said.slice(0, 3).join(" "))] : []));
  }
}

/** Mean, least, greatest and median of numbers; nothing of none. */
export function spreadOf(values) {
  if (!values.length) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { mean: values.reduce((sum, v) => sum + v, 0) / values.length, min: sorted[0], max: sorted.at(-1), median, count: values.length };
}

/** The axes that a metric can be told by: those that vary, and the flows if each has a value. */
export const axesOfMetric = (folder, metric, runs) => [...(metric.eachFlow ? [FLOW] : []), ...folder.variedAmong(runs).map((axis) => axis.name)];

/** In how many labels an axis comes among these runs. */
export function labelsAmong(folder, runs, name, metric) {
  if (name === "") return [""];
  if (name === FLOW && metric.eachFlow) return [...new Set(runs.flatMap((run) => (metric.byRun.get(run) ?? []).map(([of]) => of)))];
  const axis = folder.byName.get(name);
  const there = new Set(runs.map((run) => axis.codes[run]));
  return [...axis.labels.filter((_, code) => there.has(code)), ...(there.has(NO_LABEL) ? [null] : [])];
}

export const labelOfValue = (folder, run, of, name, metric) => (name === "" ? "" : name === FLOW && metric.eachFlow ? of : folder.label(run, name));

/** The axes that vary among these runs and are none of those that are shown: what a number is the mean over. */
export function overSaid(folder, runs, shown, metric) {
  const rest = axesOfMetric(folder, metric, runs).filter((name) => !shown.includes(name)).map((name) => [name, labelsAmong(folder, runs, name, metric).length]);
  const said = rest.filter(([, count]) => count > 1).map(([name, count]) => `${name} (${count})`);
  return said.length ? said.join(", ") : "";
}
