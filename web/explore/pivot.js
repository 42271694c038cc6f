// One metric by two axes: a table, or a field of colours. A click on a number leaves its runs alone.

import { copyButton } from "../lib/copy.js";
import { button, el, reachable } from "../lib/dom.js";
import { digits } from "../lib/quantity.js";
import { csvOf, saveButton, svgText } from "../lib/save.js";
import { tableOf } from "../lib/table.js";
import { heatChart } from "./chart.js";
import { changed, choice, chosen, menuOf, menuValue, NO_LABEL, patternOf, shellWord } from "./choice.js";
import { FLOW, NOTHING } from "./folder.js";
import { axesOfMetric, labelOfValue, labelsAmong, Measuring, metricField, metricOf, overSaid, spreadOf } from "./measured.js";

const HOW = [["mean", "mean"], ["median", "median"], ["min", "least"], ["max", "greatest"], ["count", "how many values"]];

export class PivotView {
  constructor(folder) {
    Object.assign(this, { folder, name: "pivot", title: "Pivot" });
    this.controls = el("div", { class: "controls" });
    this.measuring = new Measuring();
    this.place = el("div", { class: "chart" });
    this.note = el("p", { class: "soft" });
    this.actions = el("div", { class: "actions" });
    this.element = el("div", {}, this.controls, this.measuring.element, this.place, this.note, this.actions);
  }
  hide() {
    this.measuring.stop();
  }
  draw() {
    const { folder } = this;
    const metric = metricOf(folder, choice.menus.get("metric") ?? folder.metrics[0].metric);
    const runs = chosen(folder);
    const axes = axesOfMetric(folder, metric, runs);
    const own = axes.filter((name) => name !== "seed" && name !== FLOW);
    const choices = [...axes.map((name) => [name, name]), ["", "nothing"]];
    const known = choices.map(([name]) => name);
    const rows = menuValue("rows", known, own[0] ?? axes[0] ?? "");
    const columns = menuValue("columns", known, (metric.eachFlow ? FLOW : own.find((name) => name !== rows)) ?? "");
    const how = menuValue("how", HOW.map(([value]) => value), "mean");
    const as = menuValue("as", ["table", "heat"], "table");
    this.controls.replaceChildren(
      ...metricField(folder, "metric", "Metric", folder.metrics[0].metric),
      menuOf(folder, "rows", "Down", choices, rows),
      menuOf(folder, "columns", "Across", choices, columns),
      menuOf(folder, "how", "Shown", HOW, how),
      menuOf(folder, "as", "As", [["table", "table"], ["heat", "heatmap"]], as),
    );
    this.measuring.show([metric], runs, (done) => this.fill({ metric, rows, columns, how, as, runs, done }));
  }
  fill({ metric, rows, columns, how, as, runs, done }) {
    const { folder } = this;
    const downs = labelsAmong(folder, runs, rows, metric);
    const acrosses = labelsAmong(folder, runs, columns, metric);
    const at = (labels) => new Map(labels.map((label, index) => [label, index]));
    const [down, across] = [at(downs), at(acrosses)];
    const cells = downs.map(() => acrosses.map(() => ({ values: [], runs: new Set() })));
    for (const run of runs) {
      for (const [of, value] of metric.byRun.get(run) ?? []) {
        const i = down.get(labelOfValue(folder, run, of, rows, metric));
        const j = across.get(labelOfValue(folder, run, of, columns, metric));
        if (i === undefined || j === undefined || value === null) continue;
        cells[i][j].values.push(value);
        cells[i][j].runs.add(run);
      }
    }
    const spreads = cells.map((row) => row.map(({ values }) => spreadOf(values)));
    const shown = spreads.map((row) => row.map((own) => (own ? own[how] : null)));
    const every = shown.flat().filter((value) => value !== null);
    const unit = how === "count" ? "" : metric.unit;
    const rest = overSaid(folder, runs, [rows, columns], metric);
    const [howSaid] = HOW.filter(([value]) => value === how).map(([, words]) => words);
    const told = `${metric.axis}: ${howSaid}${rest ? ` over ${rest}` : ""}, by ${rows || "nothing"} and ${columns || "nothing"}`;
    if (!every.length) {
      this.place.replaceChildren(el("p", { class: "soft" }, done ? "No chosen run has a value of it." : ""));
    } else if (as === "heat") {
      this.svg = heatChart(this.place, { rows: downs.map((own) => own ?? NOTHING), columns: acrosses.map((own) => own ?? NOTHING), values: shown, titles: { x: columns, y: rows }, told, low: Math.min(...every), high: Math.max(...every), unit });
    } else this.place.replaceChildren(el("div", { class: "scroll" }, this.table({ metric, rows, columns, how, downs, acrosses, spreads, cells, told })));
    const ranges = as === "table" && how !== "count" ? " Small: least to greatest." : "";
    this.note.textContent = every.length ? `${told}.${ranges}` : "";
    const csv = () => csvOf([rows || "all", columns || "all", "mean", "median", "least", "greatest", "values"], spreads.flatMap((row, i) => row.map((own, j) => [downs[i] || "all", acrosses[j] || "all", own?.mean, own?.median, own?.min, own?.max, own?.count ?? 0])));
    this.actions.replaceChildren(saveButton("Save the numbers (CSV)", "pivot.csv", "text/csv", csv));
    if (as === "heat" && every.length) this.actions.append(saveButton("Save the picture (SVG)", "heatmap.svg", "image/svg+xml", () => svgText([{ svg: this.svg }])));
    const command = this.command({ metric, rows, columns, how, as });
    if (command) this.actions.append(copyButton("Copy the command", command));
    reachable(this.element.querySelectorAll(".scroll"));
  }
  /** The command that shows the same; none where it shows otherwise. */
  command({ metric, rows, columns, how, as }) {
    const pattern = patternOf(this.folder);
    if (pattern === null || how !== "mean") return null;
    const cell = pattern ? ` --cell ${shellWord(pattern)}` : "";
    const folder = shellWord(this.folder.folder);
    if (as !== "heat") return `sojourn table ${folder} ${shellWord(metric.expression)}${cell}`;
    if (!rows || !columns || rows === "seed" || columns === "seed") return null;
    return `sojourn plot ${folder} heatmap ${shellWord(`value=${metric.expression}`)} ${shellWord(`x=${columns}`)} ${shellWord(`y=${rows}`)}${cell} -o heatmap.svg`;
  }
  table({ metric, rows, columns, how, downs, acrosses, spreads, cells, told }) {
    const { folder } = this;
    const only = (run, name, label) => {
      if (name === "" || name === FLOW) return;
      choice.filters.set(name, new Set([label === null ? NO_LABEL : folder.byName.get(name).labels.indexOf(label)]));
    };
    const heads = [el("th", { class: "text", scope: "col" }, rows || "all"), ...acrosses.map((label) => label || (columns ? NOTHING : metric.label))];
    const body = downs.map((label, i) => {
      const row = acrosses.map((other, j) => {
        const own = spreads[i][j];
        if (!own) return NOTHING;
        const range = how !== "count" && own.max > own.min ? el("small", {}, `${digits(own.min)}–${digits(own.max)}`) : null;
        const click = () => {
          const [run] = cells[i][j].runs;
          only(run, rows, label);
          only(run, columns, other);
          choice.view = "runs";
          changed(folder);
        };
        return el("td", {}, button(how === "count" ? String(own.count) : digits(own[how]), click, { title: "These runs alone" }), range);
      });
      return [el("th", { class: "text", scope: "row" }, label || (rows ? NOTHING : "all")), ...row];
    });
    return tableOf(el("caption", { class: "unseen" }, told), heads, body, { class: "pivot" });
  }
}
