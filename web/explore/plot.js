// Any metric against any axis, or against another metric. Along an axis of numbers labels stand at their numbers.

import { copyButton } from "../lib/copy.js";
import { el, reachable, say } from "../lib/dom.js";
import { digits } from "../lib/quantity.js";
import { csvOf, saveButton, svgText } from "../lib/save.js";
import { endsOf } from "../lib/scale.js";
import { keyRows, lookOf } from "../lib/series.js";
import { tableOf } from "../lib/table.js";
import { pointsChart } from "./chart.js";
import { choice, chosen, menuOf, menuValue, patternOf, shellWord } from "./choice.js";
import { FLOW, NOTHING } from "./folder.js";
import { axesOfMetric, labelOfValue, labelsAmong, Measuring, metricField, metricOf, overSaid, spreadOf } from "./measured.js";

const BY_METRIC = "another metric";

export class PlotView {
  constructor(folder) {
    Object.assign(this, { folder, name: "plot", title: "Plot" });
    this.controls = el("div", { class: "controls" });
    this.measuring = new Measuring();
    this.place = el("div", { class: "chart" });
    this.key = el("ul", { class: "key" });
    this.note = el("p", { class: "soft" });
    this.actions = el("div", { class: "actions" });
    this.numbers = el("details", {}, el("summary", {}, "The numbers"));
    this.element = el("div", {}, this.controls, this.measuring.element, this.place, this.key, this.note, this.actions, this.numbers);
  }
  hide() {
    this.measuring.stop();
  }
  draw() {
    const { folder } = this;
    const first = folder.metrics[0].metric;
    const metric = metricOf(folder, choice.menus.get("y") ?? choice.menus.get("metric") ?? first);
    const runs = chosen(folder);
    const axes = axesOfMetric(folder, metric, runs);
    const own = axes.filter((name) => name !== "seed" && name !== FLOW);
    const numbers = own.filter((name) => folder.byName.get(name).at);
    const along = [...axes.filter((name) => name !== FLOW).map((name) => [name, name]), [BY_METRIC, BY_METRIC]];
    const x = menuValue("x", along.map(([name]) => name), numbers.at(-1) ?? own.at(-1) ?? (axes.includes("seed") ? "seed" : BY_METRIC));
    const tells = [["", "nothing"], ...axes.map((name) => [name, name])];
    const usual = metric.eachFlow ? FLOW : (own.find((name) => name !== x) ?? "");
    const colour = menuValue("colour", tells.map(([name]) => name), usual);
    const log = menuValue("log", ["", "x", "y", "xy"], "");
    const scatter = x === BY_METRIC;
    const other = scatter ? metricOf(folder, choice.menus.get("x-metric") ?? folder.metrics.find((m) => m.metric !== metric.expression)?.metric ?? first) : null;
    this.controls.replaceChildren(
      ...metricField(folder, "y", "Metric", metric.expression),
      menuOf(folder, "x", "Against", along, x),
      ...(scatter ? metricField(folder, "x-metric", "Metric along", other.expression) : []),
      menuOf(folder, "colour", "Colours", tells, colour),
      menuOf(folder, "log", "Logarithmic", [["", "neither"], ["x", "along"], ["y", "up"], ["xy", "both"]], log),
    );
    const asked = { metric, other, x, colour, log, runs };
    this.measuring.show(other ? [other, metric] : [metric], runs, () => (scatter ? this.scatter(asked) : this.lines(asked)));
  }
  lines({ metric, x, colour, log, runs }) {
    const { folder } = this;
    const axis = folder.byName.get(x);
    if (!axis) return this.nothing();
    const groups = new Map();
    for (const run of runs) {
      const code = axis.codes[run];
      for (const [of, value] of metric.byRun.get(run) ?? []) {
        if (code < 0 || value === null) continue;
        const name = labelOfValue(folder, run, of, colour, metric) ?? NOTHING;
        if (!groups.has(name)) groups.set(name, new Map());
        const own = groups.get(name);
        if (!own.has(code)) own.set(code, []);
        own.get(code).push(value);
      }
    }
    const names = [...groups.keys()];
    const known = labelsAmong(folder, runs, colour, metric);
    names.sort((a, b) => known.indexOf(a) - known.indexOf(b));
    const there = axis.labels.map((_, code) => code).filter((code) => names.some((name) => groups.get(name).has(code)));
    const placeOf = axis.at ? (code) => axis.at[code] : (code) => there.indexOf(code);
    const series = names.map((name, index) => ({
      name,
      points: [...groups.get(name)]
        .map(([code, values]) => ({ x: placeOf(code), off: axis.at ? 0 : (index - (names.length - 1) / 2) * Math.min(0.12, 0.6 / names.length), label: axis.labels[code], ...spreadOf(values) }))
        .map((point) => ({ ...point, y: point.mean, low: point.min, high: point.max }))
        .sort((a, b) => a.x - b.x),
    }));
    const flat = series.flatMap((own) => own.points);
    if (!flat.length) return this.nothing();
    const labels = axis.at ? null : there.map((code, index) => [index, axis.labels[code]]);
    const rest = overSaid(folder, runs, [x, colour], metric);
    const told = `${metric.axis} against ${x}${colour ? `, colours: ${colour}` : ""}${rest ? `; mean and range over ${rest}` : ""}`;
    const ends = axis.at ? endsOf(flat.map((p) => p.x), log.includes("x")) : [-0.5, there.length - 0.5, 0];
    this.svg = pointsChart(this.place, {
      series,
      x: ends,
      y: endsOf(flat.flatMap((p) => [p.low, p.high]), log.includes("y"), metric.top),
      labels,
      titles: { x: axis.at ? axis.title : x, y: metric.axis },
      // Between labels that are no numbers there is nothing.
      lines: Boolean(axis.at),
      told,
      said: (p) => [...(p.name ? [[colour, p.name]] : []), [x, p.label], [metric.label, `${digits(p.mean)} ${metric.unit}`], ...(p.count > 1 ? [["range", `${digits(p.low)}–${digits(p.high)}`], ["values", String(p.count)]] : [])],
    });
    const heads = [...(colour ? [colour] : []), x, `mean${metric.unit ? ` (${metric.unit})` : ""}`, "least", "greatest", "values"];
    const rows = series.flatMap((own) => own.points.map((p) => [...(colour ? [own.name] : []), p.label, p.mean, p.min, p.max, p.count]));
    this.finish({ told, names: colour ? names : [], heads, rows, command: this.command({ metric, x, colour, log }) });
  }
  scatter({ metric, other, colour, log, runs }) {
    const { folder } = this;
    const groups = new Map();
    for (const run of runs) {
      for (const [of, value] of metric.byRun.get(run) ?? []) {
        // Both of the same flow, or the one that the run has.
        const beside = (other.byRun.get(run) ?? []).find(([own]) => own === of || !other.eachFlow || !metric.eachFlow);
        if (!beside || value === null || beside[1] === null) continue;
        const name = labelOfValue(folder, run, of, colour, metric) ?? NOTHING;
        if (!groups.has(name)) groups.set(name, []);
        groups.get(name).push({ x: beside[1], y: value, low: value, high: value, run, of });
      }
    }
    const known = labelsAmong(folder, runs, colour, metric);
    const names = [...groups.keys()].sort((a, b) => known.indexOf(a) - known.indexOf(b));
    const series = names.map((name) => ({ name, points: groups.get(name) }));
    const flat = series.flatMap((own) => own.points);
    if (!flat.length) return this.nothing();
    const told = `${metric.axis} against ${other.axis}, a point a run${metric.eachFlow ? " and flow" : ""}${colour ? `, colours: ${colour}` : ""}`;
    this.svg = pointsChart(this.place, {
      series,
      x: endsOf(flat.map((p) => p.x), log.includes("x"), other.top),
      y: endsOf(flat.map((p) => p.y), log.includes("y"), metric.top),
      titles: { x: other.axis, y: metric.axis },
      lines: false,
      told,
      said: (p) => [["run", folder.title(p.run)], ...(p.of ? [[FLOW, p.of]] : []), [other.label, `${digits(p.x)} ${other.unit}`], [metric.label, `${digits(p.y)} ${metric.unit}`]],
      chose: (p) => {
        choice.picked.add(p.run);
        say(`Picked: ${folder.title(p.run)}`);
        this.note.textContent = `${told}. Picked: ${folder.title(p.run)}. Its lines are under Over time.`;
      },
    });
    const heads = ["run", "flow", other.axis, metric.axis];
    const rows = flat.map((p) => [folder.title(p.run), p.of, p.x, p.y]);
    this.finish({ told: `${told}. A click, or Enter, picks the run`, names: colour ? names : [], heads, rows, command: null });
  }
  nothing() {
    this.place.replaceChildren(el("p", { class: "soft" }, "No chosen run has a value of it."));
    for (const own of [this.key, this.actions]) own.replaceChildren();
    this.note.textContent = "";
    this.numbers.hidden = true;
  }
  finish({ told, names, heads, rows, command }) {
    this.note.textContent = `${told}.`;
    const csv = () => csvOf(heads, rows);
    const key = names.map((name, index) => [name, lookOf(index).colour, lookOf(index).dash]);
    this.key.replaceChildren(...keyRows(key));
    this.actions.replaceChildren(saveButton("Save the picture (SVG)", "plot.svg", "image/svg+xml", () => svgText([{ svg: this.svg, key }])), saveButton("Save the numbers (CSV)", "plot.csv", "text/csv", csv));
    if (command) this.actions.append(copyButton("Copy the command", command));
    const most = 500;
    const body = rows.slice(0, most).map((row) => row.map((value) => (typeof value === "number" ? digits(value) : el("td", { class: "text" }, value ?? NOTHING))));
    const caption = rows.length > most ? `The first ${most} of ${rows.length}; the CSV has all.` : null;
    const table = tableOf(caption, heads.map((head) => el("th", { class: "text", scope: "col" }, head)), body);
    this.numbers.hidden = false;
    this.numbers.replaceChildren(el("summary", {}, "The numbers"), el("div", { class: "scroll" }, table));
    this.numbers.ontoggle = () => reachable(this.numbers.querySelectorAll(".scroll"));
  }
  command({ metric, x, colour, log }) {
    const pattern = patternOf(this.folder);
    if (pattern === null || x === "seed" || colour === "seed") return null;
    const words = [`y=${metric.expression}`, `x=${x}`, `colour=${colour || "-"}`, ...(log ? [`log=${log}`] : [])];
    return `sojourn plot ${shellWord(this.folder.folder)} lines ${words.map(shellWord).join(" ")}${pattern ? ` --cell ${shellWord(pattern)}` : ""} -o plot.svg`;
  }
}
