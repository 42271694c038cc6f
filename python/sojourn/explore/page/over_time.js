// Runs over one another, over time: strips below one another, of a column each, with one cursor and one zoom.

const MOST_RUNS = 24;
const FEW_RUNS = 4;

class TimeView {
  constructor(folder) {
    Object.assign(this, { folder, name: "time", title: "Over time", columns: null, between: null, cache: new Map(), charts: [] });
    this.which = el("p", { class: "soft" });
    this.tools = el("div", { class: "controls actions" });
    this.key = el("ul", { class: "key" });
    this.place = el("div", {});
    this.note = el("p", { class: "soft" });
    this.actions = el("div", { class: "actions" });
    this.element = el("div", {}, this.which, this.tools, this.key, this.place, this.note, this.actions);
    this.turn = 0;
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
      return { colour: COLOURS[at % COLOURS.length], dash: DASHES[own.indexOf(`${strip} ${name}`) % DASHES.length], name: `${folder.title(run)}, ${name}` };
    };
    const seconds = Math.max(...found.flatMap((own) => own.runs.map((part) => part.seconds ?? 0)), 1e-3);
    const ends = this.between ?? [0, seconds];
    const offered = this.columns.map(({ table, column, label }) => [`${table}.${column}`, `${label} · ${table}`]);
    const menus = found.map(({ strip }, at) => {
      const select = el("select", {}, ...offered.map(([value, words]) => el("option", { value, selected: value === strip }, words)));
      select.addEventListener("change", () => this.set(this.strips.map((own, index) => (index === at ? select.value : own))));
      const away = el("button", { type: "button", disabled: found.length < 2, "aria-label": `Take away strip ${at + 1}` }, "Take away");
      away.addEventListener("click", () => this.set(this.strips.filter((_, index) => index !== at)));
      return el("div", { class: "strip" }, el("label", {}, `Strip ${at + 1}`, select), away);
    });
    const add = el("button", { type: "button", disabled: found.length >= 5 }, "One strip more");
    add.addEventListener("click", () => this.set([...this.strips, offered.find(([value]) => !this.strips.includes(value))?.[0] ?? offered[0][0]]));
    const back = el("button", { type: "button", disabled: !this.between }, "Show all of it");
    back.addEventListener("click", () => this.zoom(null));
    this.tools.replaceChildren(add, back, el("span", { class: "soft" }, "Drag to zoom; 0 shows all."));
    this.place.replaceChildren();
    this.charts = found.map((own, at) => {
      const lines = own.runs.flatMap((part, index) => (part.lines ?? []).map((line, nth) => ({ ...line, ...look(own.strip, part.index, index, line.name, nth) })));
      const place = el("div", { class: "chart" });
      this.place.append(menus[at], place);
      const label = own.runs.find((part) => part.label) ?? { label: own.column, unit: "" };
      const title = label.unit ? `${label.label} (${label.unit})` : label.label;
      const first = own.runs[0];
      return this.strip(place, { title, unit: label.unit, lines, ends, last: at === found.length - 1, events: several ? [] : (first.events ?? []), window: several ? null : first.window });
    });
    const names = several ? found[0].runs.map((part) => folder.title(part.index)) : [];
    const alone = several ? [] : (found.map(({ runs: [run] }) => run.lines ?? []).sort((a, b) => b.length - a.length)[0] ?? []);
    const key = several ? names.map((name, at) => [name, COLOURS[at % COLOURS.length], null]) : alone.map(({ name }, at) => [name, lookOf(at).colour, lookOf(at).dash]);
    // What the dashes tell, where a strip has several lines of a run.
    if (several && subjects.length > found.length) key.push(...dashesSaid(found, subjects).map(([name, dash]) => [name, "currentColor", dash]));
    this.key.replaceChildren(...keyRows(key));
    this.note.textContent = `Means over steps that an eye can tell apart.${wrong.length ? ` Left out: ${wrong.slice(0, 3).join("; ")}.` : ""}`;
    const csv = () => csvOf(["run", "of", "column", "t_s", "value", "unit"], found.flatMap(({ strip, runs }) => runs.flatMap((part) => (part.lines ?? []).flatMap((line) => line.t.map((t, i) => [part.run, line.name, strip, t, line.y[i], part.unit])))));
    this.actions.replaceChildren(
      ...this.charts.map((chart, at) => saveButton(this.charts.length > 1 ? `Save picture ${at + 1} (SVG)` : "Save the picture (SVG)", `over-time-${at + 1}.svg`, "image/svg+xml", () => svgText(chart.svg, key))),
      saveButton("Save the numbers (CSV)", "over-time.csv", "text/csv", csv),
    );
    reachable(this.element);
  }
  set(strips) {
    choice.menus.set("strips", strips.join(","));
    changed(this.folder);
  }
  zoom(between) {
    this.between = between;
    this.draw();
  }
  strip(place, { title, unit, lines, ends, last, events, window: measured }) {
    const width = Math.max(300, Math.floor(place.clientWidth) || 800);
    const height = last ? 250 : 214;
    const box = { left: 58, top: 24, width: width - 70, height: 172, foot: height - 4 };
    const svg = emptySvg(width, height, `${title} over time: ${lines.map((line) => line.name).join("; ").slice(0, 300)}. Arrow keys move the cursor, + and − zoom, 0 shows all.`);
    svg.classList.add("zooms");
    const tops = lines.flatMap((line) => line.y.filter((v) => v !== null));
    if (measured) {
      const [from, to] = measured.map((t) => Math.min(Math.max(t, ends[0]), ends[1]));
      if (to > from) svg.append(svgEl("rect", { x: box.left + ((from - ends[0]) / (ends[1] - ends[0])) * box.width, y: box.top, width: ((to - from) / (ends[1] - ends[0])) * box.width, height: box.height, fill: "currentColor", "fill-opacity": 0.07 }));
    }
    const scales = axes(svg, box, [...ends, 0], endsOf(tops, false), { x: last ? "Time (s)" : "", y: title }, null, true);
    for (const [t, words] of events) {
      if (t < ends[0] || t > ends[1]) continue;
      svg.append(svgEl("line", { x1: scales.x.of(t), x2: scales.x.of(t), y1: box.top, y2: box.top + box.height, class: "event" }, svgEl("title", {}, words)));
    }
    for (const line of lines) {
      let path = "";
      let pen = false;
      line.t.forEach((t, i) => {
        if (line.y[i] === null) pen = false;
        else {
          path += `${pen ? "L" : "M"}${scales.x.of(t).toFixed(1)} ${scales.y.of(line.y[i]).toFixed(1)}`;
          pen = true;
        }
      });
      svg.append(svgEl("path", { d: path, fill: "none", stroke: line.colour, "stroke-width": 1.6, "stroke-dasharray": line.dash, "stroke-linejoin": "round" }));
    }
    place.append(svg);
    const chart = { svg, place, lines, scales, box, unit, ends };
    this.listen(chart);
    return chart;
  }
  listen(chart) {
    const { svg, scales, box, ends } = chart;
    let from = null;
    const clamp = (x) => Math.min(Math.max(x, box.left), box.left + box.width);
    const rect = svgEl("rect", { class: "chosen", y: box.top, height: box.height });
    const wide = ends[1] - ends[0];
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch") return;
      from = clamp(pointOf(svg, event).x);
      svg.setPointerCapture(event.pointerId);
      svg.focus({ preventScroll: true });
      event.preventDefault();
    });
    svg.addEventListener("pointermove", (event) => {
      const x = clamp(pointOf(svg, event).x);
      if (from !== null) {
        fill(rect, { x: Math.min(from, x), width: Math.abs(x - from) }, []);
        if (!rect.isConnected) svg.append(rect);
      }
      this.point(chart, scales.x.back(x));
    });
    svg.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const ends_ = [from, clamp(pointOf(svg, event).x)].sort((a, b) => a - b);
      from = null;
      rect.remove();
      if (ends_[1] - ends_[0] > 8) this.zoom(ends_.map((x) => scales.x.back(x)));
    });
    svg.addEventListener("pointerleave", () => from === null && this.point(null));
    svg.addEventListener("blur", () => this.point(null));
    svg.addEventListener("dblclick", () => this.zoom(null));
    svg.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!way && !["+", "=", "-", "0", "Escape"].includes(event.key)) return;
      event.preventDefault();
      const middle = this.at ?? (ends[0] + ends[1]) / 2;
      if (way) {
        const t = Math.min(Math.max(middle + (way * wide * (event.shiftKey ? 10 : 1)) / 100, ends[0]), ends[1]);
        this.point(chart, t);
        say(`${digits(t)} s: ${this.values(chart, t).map(({ line, value }) => `${line.name} ${digits(value)} ${chart.unit}`).join(", ")}`);
      } else if (event.key === "Escape") this.point(null);
      else if (event.key === "0") this.zoom(null);
      else if (event.key === "-") this.zoom(this.between && [Math.max(0, middle - wide), middle + wide]);
      else this.zoom([Math.max(0, middle - wide / 4), middle + wide / 4]);
    });
  }
  values(chart, t) {
    return chart.lines.flatMap((line) => {
      const i = nearestOf(line.t, t);
      return i === null || line.y[i] === null ? [] : [{ line, value: line.y[i] }];
    });
  }
  /** The cursor in all strips, and the values beside it in one. */
  point(chart, t = null) {
    this.at = t;
    for (const own of this.charts) {
      own.svg.querySelector(".cursor")?.remove();
      if (own !== chart) tipAt(own.place, own.svg, null);
      if (t === null) continue;
      const x = own.scales.x.of(t);
      const values = this.values(own, t);
      own.svg.append(svgEl("g", { class: "cursor" }, svgEl("line", { x1: x, x2: x, y1: own.box.top, y2: own.box.top + own.box.height }), ...values.map(({ line, value }) => svgEl("circle", { cx: x, cy: own.scales.y.of(value), r: 3, fill: line.colour }))));
      if (own !== chart) continue;
      const rows = values.slice(0, 12).map(({ line, value }) => el("tr", {}, el("td", {}, svgEl("svg", { width: 10, height: 10, viewBox: "0 0 10 10" }, svgEl("rect", { width: 10, height: 10, rx: 2, fill: line.colour }))), el("th", {}, line.name), el("td", {}, digits(value))));
      tipAt(own.place, own.svg, el("table", {}, el("caption", {}, `${digits(t)} s${own.unit ? ` · ${own.unit}` : ""}`), ...rows, ...(values.length > 12 ? [el("tr", {}, el("td", {}), el("th", {}, `and ${values.length - 12} more`))] : [])), x, own.box.top + own.box.height / 2);
    }
    if (t === null && chart === null) for (const own of this.charts) tipAt(own.place, own.svg, null);
  }
}

/** The flows and queues of all strips with their dashes, each once; those that share them stand together. */
function dashesSaid(found, subjects) {
  const byDash = new Map();
  for (const { strip } of found) {
    const own = subjects.filter((subject) => subject.startsWith(`${strip} `));
    if (own.length < 2) continue;
    own.forEach((subject, at) => {
      const dash = DASHES[at % DASHES.length];
      if (!byDash.has(dash)) byDash.set(dash, new Set());
      byDash.get(dash).add(subject.slice(strip.length + 1));
    });
  }
  return [...byDash].map(([dash, names]) => [[...names].join(", "), dash]);
}

function nearestOf(ts, t) {
  if (!ts.length) return null;
  let [low, high] = [0, ts.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (ts[middle] <= t) low = middle;
    else high = middle;
  }
  const at = Math.abs(ts[high] - t) < Math.abs(ts[low] - t) ? high : low;
  const step = ts.length > 1 ? (ts.at(-1) - ts[0]) / (ts.length - 1) : 1;
  return Math.abs(ts[at] - t) <= step * 2 ? at : null;
}
