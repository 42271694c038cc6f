// Metrics of the chosen runs: asked for as a view needs them, drawn as they come, kept for every other arrangement.

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

function metricOf(folder, expression) {
  if (!kept.has(expression)) kept.set(expression, new Metric(folder, expression));
  return kept.get(expression);
}

/** A field for a metric, with those of a summary to choose from. */
function metricField(folder, name, label, usual, more = []) {
  const value = choice.menus.get(name) ?? usual;
  const field = el("input", { value, list: "metrics", spellcheck: "false", autocomplete: "off", autocapitalize: "off" });
  const menu_ = el("select", { "aria-label": `${label}: usual ones` }, el("option", { value: "" }, "usual ones …"), ...more.map(([own, words]) => el("option", { value: own }, words)), ...folder.metrics.map(({ metric, name: words }) => el("option", { value: metric }, words)));
  const set = (text) => {
    if (!text.trim() || text.trim() === (choice.menus.get(name) ?? usual)) return;
    choice.menus.set(name, text.trim());
    changed(folder);
  };
  field.addEventListener("change", () => set(field.value));
  menu_.addEventListener("change", () => set(menu_.value));
  return [el("label", { class: "wide" }, label, field), el("label", {}, "", menu_)];
}

/** What shows metrics: asks for them, says how far it is, and can be stopped. `draw` is called as numbers come. */
class Measuring {
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
    const stop = el("button", { type: "button" }, "Stop");
    stop.addEventListener("click", () => this.stop());
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
function spreadOf(values) {
  if (!values.length) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { mean: values.reduce((sum, v) => sum + v, 0) / values.length, min: sorted[0], max: sorted.at(-1), median, count: values.length };
}

/** The axes that a metric can be told by: those that vary, and the flows if each has a value. */
const axesOfMetric = (folder, metric, runs) => [...(metric.eachFlow ? [FLOW] : []), ...folder.variedAmong(runs).map((axis) => axis.name)];

/** In how many labels an axis comes among these runs. */
function labelsAmong(folder, runs, name, metric) {
  if (name === "") return [""];
  if (name === FLOW && metric.eachFlow) return [...new Set(runs.flatMap((run) => (metric.byRun.get(run) ?? []).map(([of]) => of)))];
  const axis = folder.byName.get(name);
  const there = new Set(runs.map((run) => axis.codes[run]));
  return [...axis.labels.filter((_, code) => there.has(code)), ...(there.has(NO_LABEL) ? [null] : [])];
}

const labelOfValue = (folder, run, of, name, metric) => (name === "" ? "" : name === FLOW && metric.eachFlow ? of : folder.label(run, name));

/** The axes that vary among these runs and are none of those that are shown: what a number is the mean over. */
function overSaid(folder, runs, shown, metric) {
  const rest = axesOfMetric(folder, metric, runs).filter((name) => !shown.includes(name)).map((name) => [name, labelsAmong(folder, runs, name, metric).length]);
  const said = rest.filter(([, count]) => count > 1).map(([name, count]) => `${name} (${count})`);
  return said.length ? said.join(", ") : "";
}
