// The page as a whole: what is served, the boxes, the views.

import { copyButton } from "../lib/copy.js";
import { byId, button, colours, el, fill } from "../lib/dom.js";
import { changed, choice, chosen, facets, readAddress, shellWord } from "./choice.js";
import { ask, Folder } from "./folder.js";
import { TimeView } from "./over_time.js";
import { PivotView } from "./pivot.js";
import { PlotView } from "./plot.js";
import { RunsView } from "./runs.js";
import { trouble } from "./trouble.js";

async function start() {
  const folder = new Folder(await ask("runs"));
  const name = folder.folder.split("/").filter(Boolean).at(-1) ?? folder.folder;
  document.title = `${name} – Sojourn`;
  byId("title").textContent = name;
  byId("what").textContent = `${folder.runs} run${folder.runs === 1 ? "" : "s"} in ${folder.folder}, made by Sojourn ${folder.version}.`;
  if (folder.damaged.length) trouble(new Error(`Left out, because they cannot be read:\n${folder.damaged.join("\n")}`));
  readAddress(folder);

  const reports = folder.reports.map((own) => el("a", { href: `report/${encodeURIComponent(own)}`, target: "_blank", rel: "noopener" }, own === "report.html" ? "Open the report" : `Open ${own}`));
  const none = reports.length ? [] : [copyButton("Copy the command that writes a report", `sojourn report ${shellWord(folder.folder)}`)];
  const again = button("Refresh", () => location.reload(), { title: "Runs may have been added" });
  byId("top").append(...reports, ...none, copyButton("Copy the command that made it", folder.command), again, colours());

  facets(folder, byId("facets"));
  if (matchMedia("(max-width: 760px)").matches) byId("choice").open = false;
  const views = [new RunsView(folder), new PivotView(folder), new PlotView(folder), new TimeView(folder)];
  const tabs = views.map((view) => {
    fill(view.element, { role: "tabpanel", id: `view-${view.name}`, "aria-labelledby": `tab-${view.name}`, tabindex: 0, hidden: true });
    const show = () => {
      choice.view = view.name;
      changed(folder);
    };
    return button(view.title, show, { role: "tab", id: `tab-${view.name}`, "aria-controls": `view-${view.name}` });
  });
  byId("tabs").append(...tabs);
  byId("tabs").addEventListener("keydown", (event) => {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!way) return;
    event.preventDefault();
    const next = (tabs.indexOf(document.activeElement) + way + tabs.length) % tabs.length;
    tabs[next].focus();
    tabs[next].click();
  });
  byId("views").append(...views.map((view) => view.element));
  let last = null;
  const show = () => {
    if (!views.some((view) => view.name === choice.view)) choice.view = "runs";
    byId("count").textContent = `${chosen(folder).length} of ${folder.runs}`;
    views.forEach((view, at) => {
      const own = view.name === choice.view;
      tabs[at].setAttribute("aria-selected", own);
      tabs[at].tabIndex = own ? 0 : -1;
      view.element.hidden = !own;
      if (!own) view.hide?.();
    });
    const view = views.find((own) => own.name === choice.view);
    if (last !== null && last !== view) trouble(null);
    last = view;
    view.draw();
  };
  choice.listeners.push(show);
  show();
  addEventListener("hashchange", () => {
    readAddress(folder);
    changed(folder);
  });
  let wide = document.body.clientWidth;
  addEventListener("resize", () => {
    if (Math.abs(document.body.clientWidth - wide) < 8) return;
    wide = document.body.clientWidth;
    last?.draw();
  });
  document.documentElement.classList.add("live");
  document.documentElement.dataset.ready = "";
}

start().catch(trouble);
