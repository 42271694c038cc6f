// The runs as a table, some of which are picked to lie over one another; and what is said of one.

import { copyButton } from "../lib/copy.js";
import { button, el, reachable } from "../lib/dom.js";
import { csvOf, saveButton } from "../lib/save.js";
import { tableOf } from "../lib/table.js";
import { changed, choice, chosen } from "./choice.js";
import { ask, NOTHING } from "./folder.js";
import { trouble } from "./trouble.js";

const ROWS = 100;

export class RunsView {
  constructor(folder) {
    Object.assign(this, { folder, shown: ROWS, name: "runs", title: "Runs", open: null });
    this.element = el("div", {});
    this.table = el("div", { class: "scroll" });
    this.more = el("p", {});
    this.about = el("div", {});
    this.bar = el("div", { class: "controls actions" });
    this.element.append(this.bar, this.about, this.table, this.more);
  }
  draw() {
    const { folder } = this;
    const runs = chosen(folder);
    const varied = folder.variedAmong(runs);
    const axes = varied.length ? varied : folder.axes;
    const toggle = (run, on) => (on ? choice.picked.add(run) : choice.picked.delete(run));
    const csv = () => csvOf(folder.axes.map((axis) => axis.name), runs.map((run) => folder.axes.map((axis) => folder.label(run, axis.name))));
    const over = button("", () => {
      choice.view = "time";
      changed(folder);
    });
    const none = button("Pick none", () => {
      choice.picked.clear();
      this.draw();
    });
    const count = () => {
      over.textContent = `Over time: ${choice.picked.size} picked`;
      over.disabled = none.disabled = !choice.picked.size;
    };
    count();
    this.bar.replaceChildren(over, none, saveButton("Save the list (CSV)", "runs.csv", "text/csv", csv));
    const text = (...own) => el("td", { class: "text" }, ...own);
    const rows = runs.slice(0, this.shown).map((run) => {
      const title = folder.title(run);
      const change = ({ target }) => {
        toggle(run, target.checked);
        count();
      };
      const box = el("input", { type: "checkbox", checked: choice.picked.has(run), "aria-label": `Pick ${title}`, change });
      return [text(box), ...axes.map((axis) => text(folder.label(run, axis.name) ?? NOTHING)), text(button("About", () => this.tell(run), { "aria-label": `About ${title}` }))];
    });
    const head = (own) => el("th", { class: "text", scope: "col" }, own);
    const heads = [head(el("span", { class: "unseen" }, "picked")), ...axes.map((axis) => head(axis.name)), head(el("span", { class: "unseen" }, "about"))];
    this.table.replaceChildren(tableOf(runs.length ? `${rows.length} of ${runs.length} runs` : "No run has all of these labels.", heads, rows));
    const more = () => {
      this.shown += ROWS;
      this.draw();
    };
    this.more.replaceChildren(...(runs.length > this.shown ? [button(`Show ${Math.min(ROWS, runs.length - this.shown)} more`, more)] : []));
    reachable(this.element.querySelectorAll(".scroll, pre"));
  }
  async tell(run) {
    const { folder } = this;
    const own = await ask("run", { revision: folder.revision, run }).catch(trouble);
    if (!own) return;
    const close = () => {
      about.remove();
      this.table.querySelector("button")?.focus();
    };
    const command = (words, text) => (text ? [el("p", { class: "actions" }, el("b", {}, words), copyButton("Copy the command", text)), el("pre", {}, text)] : []);
    const list = (head, texts) => (texts.length ? [el("h3", {}, head), el("ul", {}, ...texts.map((text) => el("li", {}, text)))] : []);
    const checks = own.checks.map(({ name, said, passed }) => el("li", { class: passed === true ? "good" : passed === false ? "bad" : "" }, `${name}: ${said}`));
    const about = el(
      "section",
      { class: "about", "aria-label": `About ${own.label}`, tabindex: -1 },
      el("h2", {}, own.label),
      el("p", { class: "soft" }, `${own.imported ? "Imported" : `On ${own.engine}`}, by ${own.version}. In ${own.folder}.`),
      ...(checks.length ? [el("h3", {}, "Checks"), el("ul", {}, ...checks)] : []),
      ...list("Caveats", [...own.remarks, ...own.warnings]),
      ...command("Repeat it", own.again),
      ...command("Open it in the playground", own.playground),
      ...command("It was made by", own.made_by),
      el("p", { class: "soft" }, `Tables: ${own.tables.map(({ name, rows }) => `${name} (${rows})`).join(", ")}.`),
      button("Close", close),
    );
    this.about.replaceChildren(about);
    about.focus();
    about.scrollIntoView({ block: "nearest" });
  }
}
