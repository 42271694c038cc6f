// The queue discipline: its name, its buffer as a multiple of the bandwidth-delay product, each of its options with the default
// of the stack, and its words as tc has them.

import { el, select } from "../lib/dom.js";
import { whyNot } from "./field.js";
import { readWords, writeWords } from "./words.js";

const PATH = { section: "hop", list: true, index: 0, key: "qdisc" };
const [LEAST, MOST, STEPS] = [0.1, 32, 200];
/** What is first in the menu; the rest follows as the tables have it. */
const COMMON = ["pfifo", "codel", "fq_codel", "pie", "fq_pie", "cake", "red", "pi2", "dualpi2"];
/** Options that hold the buffer. */
const LIMIT = "limit";

export function disciplineControl({ choices, edit }) {
  const disciplines = choices.disciplines;
  const rank = (d) => (COMMON.includes(d.name) ? COMMON.indexOf(d.name) : COMMON.length);
  const sorted = [...disciplines].sort((a, b) => rank(a) - rank(b)).map((d) => [d.name, d.name, d.summary]);
  const menu = select(sorted, (name) => put(name, new Map()), undefined, { id: "discipline", "aria-describedby": "discipline-why" });
  const words = el("input", { id: "discipline-words", type: "text", spellcheck: "false", autocomplete: "off", change: () => set(words.value.trim() || undefined) });
  const why = el("span", { class: "why", id: "discipline-why" });
  const summary = el("p", { class: "summary" });
  const buffer = el("input", { id: "buffer", type: "range", min: "0", max: String(STEPS), input: () => putBuffer() });
  const bufferWords = el("output", { for: "buffer" });
  const bufferRow = el("div", { class: "field with-slider" }, el("label", { for: "buffer" }, "Buffer"), buffer, bufferWords);
  const options = el("div", { class: "options" });
  const details = el("details", {}, el("summary", {}, "Options"), options);
  let [now, stack, built] = [{ name: "", options: new Map(), why: "" }, "", ""];

  const set = (value) => {
    if (!edit({ kind: "set", ...PATH, value })) why.textContent = "written in a way that the text alone can change";
  };
  const put = (name, own) => set(writeWords(name, own));
  const putBuffer = () => {
    const bdp = Number((LEAST * (MOST / LEAST) ** (Number(buffer.value) / STEPS)).toPrecision(2));
    const own = new Map(now.options);
    own.set(LIMIT, { values: `${bdp}bdp` });
    put(now.name, own);
  };

  const build = (table) => {
    const rows = table.options.map((option) => {
      const id = `option-${option.name}`;
      const flag = option.values.length === 0;
      const preset = option.defaults[stack] ?? option.unset ?? "";
      const change = () => {
        const own = new Map(now.options);
        if (flag && input.value === "") own.delete(option.name);
        else if (flag) own.set(option.name, input.value === "off" ? { off: option.off } : { values: "" });
        else if (input.value.trim() === "") own.delete(option.name);
        else own.set(option.name, { ...(own.get(option.name) ?? {}), off: undefined, values: input.value.trim() });
        put(now.name, own);
      };
      const input = flag
        ? select([["", `default${preset ? ` (${preset})` : ""}`], ["on", option.name], ...(option.off ? [["off", option.off]] : [])], change, "", { id })
        : el("input", { id, type: "text", placeholder: preset || option.values.map((v) => v.kind).join(" "), spellcheck: "false", autocomplete: "off", change });
      input.dataset.option = option.name;
      return el("div", { class: "field" }, el("label", { for: id, title: option.doc }, option.name), input);
    });
    options.replaceChildren(...rows);
  };

  const sync = (doc, axes) => {
    const hop = doc.hop?.[0] ?? {};
    const reason = whyNot(doc, axes, PATH);
    const said = typeof hop.qdisc === "string" ? hop.qdisc : "";
    stack = hop.stack ?? doc.experiment?.stack ?? "linux-7.3";
    now = readWords(said, disciplines);
    const table = disciplines.find((d) => d.name === now.name);
    why.textContent = reason || (said ? now.why : "the text names none");
    menu.disabled = words.disabled = Boolean(reason);
    if (table) menu.value = table.name;
    else menu.selectedIndex = -1;
    if (words !== document.activeElement) words.value = said;
    summary.textContent = table ? table.summary : "";
    const usable = !reason && table && !now.why;
    const key = usable ? `${table.name} ${stack}` : "";
    if (key !== built) {
      built = key;
      if (usable) build(table);
      else options.replaceChildren();
    }
    details.hidden = !usable;
    bufferRow.hidden = !usable || !table.options.some((o) => o.name === LIMIT);
    if (!usable) return;
    for (const input of options.querySelectorAll("[data-option]")) {
      const own = now.options.get(input.dataset.option);
      const value = !own ? "" : input.tagName === "SELECT" ? (own.off ? "off" : "on") : own.values;
      if (input !== document.activeElement || input.tagName === "SELECT") input.value = value;
    }
    const limit = now.options.get(LIMIT)?.values ?? "";
    const bdp = /^(\d+(?:\.\d+)?)bdp$/.exec(limit);
    bufferWords.textContent = bdp ? `${bdp[1]} BDP` : limit ? `limit ${limit}` : `default (${table.options.find((o) => o.name === LIMIT)?.defaults[stack] ?? "–"})`;
    buffer.setAttribute("aria-valuetext", bufferWords.textContent);
    if (bdp && buffer !== document.activeElement) buffer.value = String(Math.round((STEPS * Math.log(Number(bdp[1]) / LEAST)) / Math.log(MOST / LEAST)));
  };

  const disable = (reason) => {
    why.textContent = reason;
    menu.disabled = words.disabled = true;
    details.hidden = bufferRow.hidden = true;
  };

  const element = el(
    "div",
    {},
    el("div", { class: "field" }, el("label", { for: "discipline" }, "Queue"), menu, why),
    summary,
    bufferRow,
    details,
    el("div", { class: "field" }, el("label", { for: "discipline-words" }, "In tc's words"), words),
  );
  return { element, sync, disable };
}
