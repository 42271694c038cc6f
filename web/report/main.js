// The page as a whole: one bar of choices, the groups of figures, the tables, the runs' buttons.

import { button, colours, el, menu, reachable } from "../lib/dom.js";
import { filterable, sortable } from "../lib/table.js";
import { actions } from "./actions.js";
import { Group } from "./group.js";
import { unpacked } from "./packed.js";

const pageState = {
  log: "",
  seeds: "range",
  groups: [],
  /** Whether figures are to be drawn otherwise than they were. */
  get asks() {
    return this.log !== "" || this.seeds !== "range";
  },
  zoomChanged() {
    back.disabled = !this.groups.some((group) => group.zoomed);
  },
  changed() {
    for (const group of this.groups) group.changed();
  },
};

const back = button("Show all", () => pageState.groups.forEach((group) => group.all()), { disabled: true });

const figures = [...document.querySelectorAll("figure")].filter((own) => own.querySelector(":scope > script.numbers, .plot > script.numbers"));
const shared = [...document.querySelectorAll("[data-group]")];
for (const place of shared) pageState.groups.push(new Group(figures.filter((own) => place.contains(own)), pageState));
for (const own of figures) if (!shared.some((place) => place.contains(own))) pageState.groups.push(new Group([own], pageState));

const bar = el("div", { class: "bar", role: "group", "aria-label": "All figures" });
if (figures.length) {
  bar.append(
    menu("Axes", [["", "as drawn"], ["linear", "linear"], ["log", "logarithmic"]], (value) => {
      pageState.log = value;
      pageState.changed();
    }),
  );
  if (document.body.dataset.seeds === "several") {
    bar.append(
      menu("Seeds", [["range", "their range"], ["lines", "each a line"], ["off", "the first alone"]], (value) => {
        pageState.seeds = value;
        pageState.changed();
      }),
    );
  }
}
bar.append(colours());
if (figures.length) bar.append(back, el("span", { class: "soft hint" }, "Drag over a figure to zoom, 0 shows all; with the keyboard: Tab, arrows, + and −."));
(document.querySelector("main") ?? document.body).prepend(bar);

for (const table of document.querySelectorAll("table")) {
  if (table.closest(".tip")) continue;
  sortable(table);
  filterable(table, (row, fits) => {
    const of = row.querySelector('a[href^="#"]')?.getAttribute("href").slice(1);
    const figure = of && document.getElementById(of);
    if (figure?.matches("figure")) figure.hidden = !fits;
  });
}

reachable(document.querySelectorAll(".scroll, figure, pre"));

const block = document.querySelector("script.experiments");
let carried = null;
const experiments = () => (carried ??= unpacked(block.textContent).then(({ value }) => value));
for (const own of document.querySelectorAll("figure")) actions(own, experiments);

document.documentElement.classList.add("live");
document.documentElement.dataset.ready = "";
