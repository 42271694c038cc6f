// Runs over one another, over time: strips below one another, of a column each, with one cursor and one zoom.

import { button, el, reachable, select } from "../lib/dom.js";
import { csvOf, saveButton, svgText } from "../lib/save.js";
import { colourOf, dashOf, keyRows, lookOf } from "../lib/series.js";
import { Strips } from "../lib/strips.js";
import { changed, choice, chosen } from "./choice.js";
import { ask, comes } from "./folder.js";
import { trouble } from "./trouble.js";

const MOST_RUNS = 24;
const FEW_RUNS = 4;

export class TimeView {
  constructor(folder) {
    Object.assign(this, { folder, name: "time", title: "Over time", columns: null, between: null, cache: new Map(), turn: 0 });
    this.over = new Strips((between) => this.zoom(between));
    this.which = el("p", { class: "soft" });
    this.tools = el("div", { class: "controls actions" });
    this.key = el("ul", { class: "key" });
    this.place = el("div", {});
    this.note = el("p", { class: "soft" });
    this.actions = el("div", { class: "actions" });
    this.element = el("div", {}, this.which, this.tools, this.key, this.place, this.note, this.actions);
  }
  /** Those that were picked, or the first that are chosen. */
  get runs() {
    const picked = this.folder.every.filter((run) => choice.picked.has(run));
    return (picked.length ? picked : chosen(this.folder).slice(0, FEW_RUNS)).slice(0, MOST_RUNS);
  }
  get strips() {
    const known = new Set(this.columns.map(({ table, column }) => `${table}.${column}`));
    const said = (choice.menus.get("strips") ?? "").split(",").filter((own) => known.has(own));
    if (said.length) return said;
    return ["flows.delivery_rate_bps", "flows.srtt_s", "queues.sojourn_mean_s"].filter((own) => known.has(own)).concat([...known]).slice(0, 2);
  }
  async draw() {
    const { folder, runs } = this;
    const turn = (this.turn += 1);
    if (!runs.length) {
      for (const own of [this.tools, this.key, this.place, this.actions]) own.replaceChildren();
      this.which.textContent = "No run is chosen.";
      return;
    }
    const picked = choice.picked.size > 0;
    this.which.textContent = picked ? `${runs.length} picked run${runs.length === 1 ? "" : "s"}${choice.picked.size > MOST_RUNS ? ` (of ${choice.picked.size}: no more lie over one another)` : ""}.` : `The first ${runs.length} of the chosen runs. Pick others under Runs, or in a plot of one metric against another.`;
    try {
      if (this.of !== runs[0]) this.columns = (await ask("run", { revision: folder.revision, run: runs[0] })).columns;
      this.of = runs[0];
      if (turn !== this.turn) return;
      if (!this.columns.length) {
        this.place.replaceChildren(el("p", { class: "soft" }, "The first run has no table over time."));
        return;
      }
      const found = [];
      for (const strip of this.strips) found.push(await this.fetch(strip, runs));
      if (turn !== this.turn) return;
      trouble(null);
      this.show(found);
    } catch (error) {
      if (turn === this.turn) trouble(error);
    }
  }
  async fetch(strip, runs) {
    const key = JSON.stringify([strip, this.between]);
    if (!this.cache.has(key)) this.cache.set(key, new Map());
    const own = this.cache.get(key);
    const wanted = runs.filter((run) => !own.has(run));
    const [table, column] = strip.split(".");
    if (wanted.length) for await (const part of comes("series", { revision: this.folder.revision, table, column, runs: wanted, between: this.between })) own.set(part.index, part);
    if (this.cache.size > 40) this.cache.delete(this.cache.keys().next().value);
    return { strip, table, column, runs: runs.map((run) => own.get(run)) };
  }
  show(found) {
    const { folder } = this;
    const wrong = found.flatMap((own) => own.runs.filter((part) => part.error).map((part) => `${folder.title(part.index)}: ${part.error}`));
    const several = found[0].runs.length > 1;
    const subjects = [...new Set(found.flatMap(({ strip, runs }) => (several ? runs.flatMap((part) => (part.lines ?? []).map(({ name }) => `${strip} ${name}`)) : [])))];
    // One run: a colour a line. Several: a colour a run, a dash a flow or queue of the strip.
    const look = (strip, run, at, name, index) => {
      if (!several) return { ...lookOf(index), name };
      const own = subjects.filter((subject) => subject.startsWith(`${strip} `));
      return { colour: colourOf(at), dash: dashOf(own.indexOf(`${strip} ${name}`)), name: `${folder.title(run)}, ${name}` };
    };
    const seconds = Math.max(...found.flatMap((own) => own.runs.map((part) => part.seconds ?? 0)), 1e-3);
    const ends = this.between ?? [0, seconds];
    const offered = this.columns.map(({ table, column, label }) => [`${table}.${column}`, `${label} · ${table}`]);
    const menus = found.map(({ strip }, at) => {
      const picked = (value) => this.set(this.strips.map((own, index) => (index === at ? value : own)));
      const away = button("Take away", () => this.set(this.strips.filter((_, index) => index !== at)), { disabled: found.length < 2, "aria-label": `Take away strip ${at + 1}` });
      return el("div", { class: "strip" }, el("label", {}, `Strip ${at + 1}`, select(offered, picked, strip)), away);
    });
    const add = () => this.set([...this.strips, offered.find(([value]) => !this.strips.includes(value))?.[0] ?? offered[0][0]]);
    this.tools.replaceChildren(
      button("One strip more", add, { disabled: found.length >= 5 }),
      button("Show all of it", () => this.zoom(null), { disabled: !this.between }),
      el("span", { class: "soft" }, "Drag to zoom; 0 shows all."),
    );
    const focused = this.over.charts.findIndex(({ svg }) => svg === document.activeElement);
    this.over.drop();
    this.place.replaceChildren();
    const charts = found.map((own, at) => {
      const lines = own.runs.flatMap((part, index) => (part.lines ?? []).map((line, nth) => ({ ...line, ...look(own.strip, part.index, index, line.name, nth) })));
      const place = el("div", { class: "chart" });
      this.place.append(menus[at], place);
      const { label, unit } = own.runs.find((part) => part.label) ?? { label: own.column, unit: "" };
      const title = unit ? `${label} (${unit})` : label;
      const [first] = own.runs;
      const words = `${title} over time: ${lines.map((line) => line.name).join("; ").slice(0, 300)}.`;
      return this.over.add(place, { title, unit, lines, ends, words, ...(several ? {} : { events: first.events, window: first.window }) });
    });
    charts[focused]?.svg.focus({ preventScroll: true });
    const names = several ? found[0].runs.map((part) => folder.title(part.index)) : [];
    const alone = several ? [] : (found.map(({ runs: [run] }) => run.lines ?? []).sort((a, b) => b.length - a.length)[0] ?? []);
    const key = several ? names.map((name, at) => [name, colourOf(at), null]) : alone.map(({ name }, at) => [name, lookOf(at).colour, lookOf(at).dash]);
    // What the dashes tell, where a strip has several lines of a run.
    if (several && subjects.length > found.length) key.push(...dashesSaid(found, subjects).map(([name, dash]) => [name, "currentColor", dash]));
    this.key.replaceChildren(...keyRows(key));
    this.note.textContent = `Means over steps that an eye can tell apart.${wrong.length ? ` Left out: ${wrong.slice(0, 3).join("; ")}.` : ""}`;
    const csv = () => csvOf(["run", "of", "column", "t_s", "value", "unit"], found.flatMap(({ strip, runs }) => runs.flatMap((part) => (part.lines ?? []).flatMap((line) => line.t.map((t, i) => [part.run, line.name, strip, t, line.y[i], part.unit])))));
    this.actions.replaceChildren(
      ...charts.map(({ svg }, at) => saveButton(charts.length > 1 ? `Save picture ${at + 1} (SVG)` : "Save the picture (SVG)", `over-time-${at + 1}.svg`, "image/svg+xml", () => svgText([{ svg, key }]))),
      saveButton("Save the numbers (CSV)", "over-time.csv", "text/csv", csv),
    );
    reachable(this.element.querySelectorAll(".scroll"));
  }
  set(strips) {
    choice.menus.set("strips", strips.join(","));
    changed(this.folder);
  }
  zoom(between) {
    this.between = between;
    this.draw();
  }
}

/** The flows and queues of all strips with their dashes, each once; those that share them stand together. */
function dashesSaid(found, subjects) {
  const byDash = new Map();
  for (const { strip } of found) {
    const own = subjects.filter((subject) => subject.startsWith(`${strip} `));
    if (own.length < 2) continue;
    own.forEach((subject, at) => {
      const dash = dashOf(at);
      if (!byDash.has(dash)) byDash.set(dash, new Set());
      byDash.get(dash).add(subject.slice(strip.length + 1));
    });
  }
  return [...byDash].map(([dash, names]) => [[...names].join(", "), dash]);
}
