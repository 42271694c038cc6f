// The page: two sides, each a text, a worker and plots; what edits the one that is chosen; and the address, which has it all.

import { pack, unpack } from "../lib/address.js";
import { copy } from "../lib/copy.js";
import { byId, colours, el } from "../lib/dom.js";
import { png, save, svgText } from "../lib/save.js";
import { Client, compiled } from "./client.js";
import { Controls } from "./controls.js";
import { LESSONS } from "./lessons.js";
import { mistakes } from "./mistakes.js";
import { zoomTo } from "./plots.js";
import { csv, results } from "./results.js";
import { Side } from "./side.js";
import { edited } from "./text.js";

const START = `[experiment]
name     = "playground"
about    = "Two downloads through one bottleneck"
duration = "60s"

[[hop]]
name  = "bottleneck"
rate  = "50mbit"
rtt   = "20ms"
qdisc = "fq_codel"

[[flow]]
name = "cubic"
cc   = "cubic"

[[flow]]
name  = "bbr"
cc    = "bbr"
start = "10s"
`;

const worker = URL.createObjectURL(new Blob([byId("worker").textContent], { type: "text/javascript" }));

class Page {
  constructor(module) {
    const make = () => new Worker(worker);
    this.sides = ["A", "B"].map((letter) => new Side(letter, new Client(make, module), { changed: () => this.changed(), said: () => this.said() }));
    this.active = this.sides[0];
    this.lesson = "";
    byId("plots").append(...this.sides.map((side) => side.element));
  }

  /** The sides that are in use. */
  get used() {
    return this.sides.filter((side) => side.on);
  }

  async start() {
    const choices = await this.sides[0].client.ready;
    byId("version").textContent = choices.version;
    const edit = (change) => {
      const text = edited(this.active.text, change);
      if (text === null) return false;
      this.put(text, "controls");
      return true;
    };
    this.controls = new Controls(byId("controls"), choices, { text: () => this.active.text, edit });
    await this.fromAddress();
    addEventListener("hashchange", () => location.hash !== this.hash && this.fromAddress());
  }

  /** The state of the address; what is wrong with it is said, and the page begins as it would without. */
  async fromAddress() {
    let state = null;
    try {
      state = await unpack(location.hash);
    } catch (error) {
      this.notice(`The address could not be read: ${error.message}. The page begins with an example.`);
    }
    const lesson = LESSONS.find((own) => own.id === state?.lesson);
    this.lesson = lesson?.id ?? "";
    this.load(state?.a ?? { text: START, run: 0 }, state?.b ?? null);
  }

  load(a, b) {
    this.active = this.sides[0];
    this.sides[1].on = Boolean(b);
    this.sides[0].on = true;
    this.sides[0].load(a.text, a.run);
    if (b) this.sides[1].load(b.text, b.run);
    zoomTo(null);
    this.refresh();
    this.remember();
  }

  /** Puts a text in the place of the active side's. */
  put(text, from) {
    this.active.load(text, this.active.run);
    if (from !== "text") byId("text").value = text;
    this.controls.sync();
    this.refreshCommand();
    this.remember();
  }

  choose(side) {
    this.active = side;
    this.refresh();
  }

  /** Shows what is chosen. */
  refresh() {
    const two = this.sides[1].on;
    byId("side-a").setAttribute("aria-pressed", String(this.active === this.sides[0]));
    byId("side-b").setAttribute("aria-pressed", String(this.active === this.sides[1]));
    byId("side-b").hidden = !two;
    byId("add-b").hidden = two;
    byId("remove-b").hidden = !two;
    this.sides[1].element.hidden = !two;
    byId("text").value = this.active.text;
    this.controls.shape = "";
    this.controls.sync();
    this.showLesson();
    this.refreshCommand();
    this.said();
  }

  refreshCommand() {
    byId("command").textContent = `sojourn run ${this.fileName("toml")}`;
  }

  fileName(ending, infix = "") {
    const name = /^\s*name\s*=\s*"([A-Za-z0-9_./-]{1,80})"/m.exec(this.active.text)?.[1] ?? "experiment";
    return `${name.replaceAll("/", "-").replace(/^[.-]+/, "") || "experiment"}${infix}.${ending}`;
  }

  showLesson() {
    const own = LESSONS.find((lesson) => lesson.id === this.lesson);
    const box = byId("lesson-text");
    byId("lesson").value = own?.id ?? "";
    box.hidden = !own;
    if (!own) return;
    box.replaceChildren(
      el("h2", {}, own.title),
      ...own.text.map((text) => el("p", {}, text)),
      el("p", {}, el("strong", {}, "What to look at")),
      el("ul", {}, ...own.look.map((text) => el("li", {}, text))),
    );
  }

  /** A side's choice of run has changed. */
  changed() {
    this.remember();
  }

  /** A side has something new to say. */
  said() {
    const { errors, warnings } = this.active;
    byId("mistakes").replaceChildren(...mistakes(errors, warnings, byId("text")));
    byId("text").toggleAttribute("aria-invalid", errors.length > 0);
    const ready = this.used.filter((side) => side.result);
    byId("results").replaceChildren(...(ready.length ? results(ready.map((s) => ({ letter: s.letter, result: s.result }))) : []));
    for (const id of ["save-flows", "save-queues", "save-svg", "save-png"]) byId(id).disabled = !this.active.result;
  }

  /** The address follows, a little later. */
  remember() {
    clearTimeout(this.later);
    this.later = setTimeout(async () => {
      const side = (own) => ({ text: own.text, run: own.run });
      try {
        this.hash = await pack({ a: side(this.sides[0]), b: this.sides[1].on ? side(this.sides[1]) : null, lesson: this.lesson });
        history.replaceState(null, "", this.hash);
      } catch {
        // Some browsers let files have no history of their own, and a long text fits into no address: the button says so.
      }
    }, 300);
  }

  notice(text) {
    const box = byId("notice");
    box.textContent = text;
    box.hidden = !text;
  }

  async copy(text, what) {
    this.notice((await copy(text)) ? `${what} is in the clipboard.` : `The browser does not let this page copy. ${what}: ${text}`);
  }

  picture() {
    const ready = this.used.filter((side) => side.result);
    const pictures = ready.flatMap((side) => side.plots.pictures(ready.length > 1 ? `${side.letter}: ` : ""));
    return svgText(pictures, ready.map((side) => side.result.id).join("  |  "));
  }

  listen() {
    const on = (id, what, then) => byId(id).addEventListener(what, then);
    let typing = 0;
    on("text", "input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.put(byId("text").value, "text"), 120);
    });
    on("side-a", "click", () => this.choose(this.sides[0]));
    on("side-b", "click", () => this.choose(this.sides[1]));
    on("add-b", "click", () => {
      this.sides[1].on = true;
      this.sides[1].load(this.sides[0].text, this.sides[0].run);
      this.choose(this.sides[1]);
      this.remember();
    });
    on("remove-b", "click", () => {
      this.sides[1].stop();
      this.choose(this.sides[0]);
      this.remember();
    });
    byId("lesson").append(el("option", { value: "" }, "none"), ...LESSONS.map((own) => el("option", { value: own.id }, own.title)));
    on("lesson", "change", () => {
      this.lesson = byId("lesson").value;
      const own = LESSONS.find((lesson) => lesson.id === this.lesson);
      this.notice("");
      if (own) this.load({ text: own.a, run: 0 }, { text: own.b, run: 0 });
      else this.refresh();
    });
    on("share", "click", () => this.copy(location.href, "The address"));
    on("copy-command", "click", () => this.copy(byId("command").textContent, "The command"));
    on("project", "click", () => {
      const pressed = document.body.classList.toggle("projector");
      byId("project").setAttribute("aria-pressed", String(pressed));
    });
    on("zoom-out", "click", () => zoomTo(null));
    on("skip", "click", (event) => {
      event.preventDefault();
      byId("show").focus();
    });
    on("to-edit", "click", () => {
      byId("edit").scrollIntoView();
      byId("edit").focus();
    });
    on("save-toml", "click", () => save(this.fileName("toml"), this.active.text, "application/toml"));
    for (const table of ["flows", "queues"]) {
      on(`save-${table}`, "click", () => save(this.fileName("csv", `-${table}`), csv(this.active.result.tables[table]), "text/csv"));
    }
    on("save-svg", "click", () => save(this.fileName("svg"), this.picture(), "image/svg+xml"));
    on("save-png", "click", async () => save(this.fileName("png"), await png(this.picture()), "image/png"));
    // On paper there is no address to open: the texts stand beneath the results.
    addEventListener("beforeprint", () =>
      byId("printed").replaceChildren(...this.used.flatMap((side) => [el("h2", {}, this.used.length > 1 ? `Experiment ${side.letter}` : "Experiment"), el("pre", {}, side.text)])),
    );
    addEventListener("afterprint", () => byId("printed").replaceChildren());
    byId("project").after(colours());
  }
}

async function begin() {
  try {
    const page = new Page(await compiled(byId("wasm").textContent));
    page.listen();
    await page.start();
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    const box = byId("notice");
    box.textContent = `The playground could not start: ${error.message}. It needs a browser of 2023 or later with WebAssembly.`;
    box.hidden = false;
  }
}

begin();
