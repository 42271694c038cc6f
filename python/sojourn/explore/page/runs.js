// The runs as a table, some of which are picked to lie over one another; and what is said of one.

const ROWS = 100;

class RunsView {
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
    const over = el("button", { type: "button", disabled: !choice.picked.size }, `Over time: ${choice.picked.size} picked`);
    over.addEventListener("click", () => {
      choice.view = "time";
      changed(folder);
    });
    const none = el("button", { type: "button", disabled: !choice.picked.size }, "Pick none");
    none.addEventListener("click", () => {
      choice.picked.clear();
      this.draw();
    });
    this.bar.replaceChildren(over, none, saveButton("Save the list (CSV)", "runs.csv", "text/csv", csv));
    const body = el("tbody", {});
    for (const run of runs.slice(0, this.shown)) {
      const title = folder.title(run);
      const box = el("input", { type: "checkbox", checked: choice.picked.has(run), "aria-label": `Pick ${title}` });
      box.addEventListener("change", () => {
        toggle(run, box.checked);
        over.textContent = `Over time: ${choice.picked.size} picked`;
        over.disabled = none.disabled = !choice.picked.size;
      });
      const open = el("button", { type: "button", "aria-label": `About ${title}` }, "About");
      open.addEventListener("click", () => this.tell(run));
      body.append(el("tr", {}, el("td", { class: "text" }, box), ...axes.map((axis) => el("td", { class: "text" }, folder.label(run, axis.name) ?? NOTHING)), el("td", { class: "text" }, open)));
    }
    const head = el("tr", {}, el("th", { class: "text", scope: "col" }, el("span", { class: "unseen" }, "picked")), ...axes.map((axis) => el("th", { class: "text", scope: "col" }, axis.name)), el("th", { scope: "col" }, el("span", { class: "unseen" }, "about")));
    const table = el("table", {}, el("caption", {}, runs.length ? `${Math.min(this.shown, runs.length)} of ${runs.length} runs` : "No run has all of these labels."), el("thead", {}, head), body);
    this.table.replaceChildren(table);
    this.more.replaceChildren();
    if (runs.length > this.shown) {
      const button = el("button", { type: "button" }, `Show ${Math.min(ROWS, runs.length - this.shown)} more`);
      button.addEventListener("click", () => {
        this.shown += ROWS;
        this.draw();
      });
      this.more.append(button);
    }
    reachable(this.element);
  }
  async tell(run) {
    const { folder } = this;
    const own = await ask("run", { revision: folder.revision, run }).catch(trouble);
    if (!own) return;
    const close = el("button", { type: "button" }, "Close");
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
      close,
    );
    close.addEventListener("click", () => {
      about.remove();
      this.table.querySelector("button")?.focus();
    });
    this.about.replaceChildren(about);
    about.focus();
    about.scrollIntoView({ block: "nearest" });
  }
}
