// A side: an experiment's text, which of its runs is shown, and what has come of it.

import { button, el, select } from "../lib/dom.js";
import { Plots } from "./plots.js";

export class Side {
  /**
   * @param {string} letter
   * @param {import("./client.js").Client} client
   * @param {{changed: () => void, said: () => void}} page
   */
  constructor(letter, client, page) {
    Object.assign(this, { letter, client, page, text: "", run: 0, on: false, errors: [], warnings: [], result: null, took: 0 });
    this.about = el("span", { class: "about" });
    this.runs = select([], (run) => this.pick(Number(run)), undefined, { "aria-label": `Run of ${letter}`, hidden: true });
    this.progress = el("progress", { max: "1", "aria-label": `Progress of ${letter}`, hidden: true });
    this.stopButton = button("Cancel", () => this.client.cancel(), { hidden: true, "aria-label": `Cancel the run of ${letter}` });
    const head = el("div", { class: "side-head" }, el("span", { class: "letter" }, letter), this.about, this.runs, this.progress, this.stopButton);
    this.body = el("div", {});
    this.element = el("section", { "aria-label": `Results of ${letter}`, class: "side", id: `side-${letter}-show` }, head, this.body);
    this.plots = new Plots(this.body, letter);
  }

  pick(run) {
    this.load(this.text, run);
    this.page.changed();
  }

  /** Runs this text. */
  load(text, run) {
    Object.assign(this, { text, run });
    this.element.dataset.state = "running";
    this.body.classList.add("stale");
    this.client.run(text, run, (said) => this.hear(said));
  }

  /** Is not in use any more. */
  stop() {
    this.on = false;
    this.result = null;
    this.client.cancel();
    this.plots.show(null);
  }

  busy(passed) {
    const busy = passed !== null;
    this.progress.hidden = this.stopButton.hidden = !busy;
    if (busy) this.progress.value = passed;
  }

  hear(said) {
    if (said.kind === "progress") {
      this.busy(said.passed);
      return;
    }
    if (said.kind === "read") {
      Object.assign(this, { errors: [], warnings: said.warnings, run: said.run });
      const ids = said.runs.map(({ id }) => id);
      this.runs.hidden = ids.length < 2;
      this.runs.replaceChildren(...ids.map((id, i) => el("option", { value: String(i) }, id)));
      this.runs.value = String(said.run);
      this.saidAbout = said.about || ids[said.run];
      return;
    }
    this.busy(null);
    if (said.kind === "done") {
      Object.assign(this, { result: said.result, took: said.took });
      this.body.classList.remove("stale");
      this.about.textContent = this.saidAbout;
      this.plots.show(said.result);
    } else if (said.kind === "wrong") {
      this.errors = said.errors;
    } else if (said.kind === "cancelled") {
      this.about.textContent = "Cancelled. What is shown is of the run before.";
    } else {
      const help = said.kind === "panic" ? "This is a mistake in Sojourn: please report the text and these words." : "Change the experiment, or load the page again.";
      this.errors = [{ message: said.message, help }];
    }
    this.element.dataset.state = said.kind;
    this.page.said();
  }
}
