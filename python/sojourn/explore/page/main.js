// The page as a whole: what is served, the boxes, the views.

const root = document.documentElement;
const by = (id) => document.getElementById(id);

/** Says what went wrong; `null`: nothing any more. */
function trouble(error) {
  by("trouble").hidden = error === null;
  by("trouble").textContent = error === null ? "" : String(error.message ?? error);
}

/** What is wider than its place is scrolled, also with the keyboard. */
function reachable(place) {
  for (const own of place.querySelectorAll(".scroll, pre")) {
    if (own.scrollWidth > own.clientWidth) fill(own, { tabindex: 0, role: "region", "aria-label": own.querySelector("caption")?.textContent || "Scrolls" }, []);
  }
}

async function start() {
  const folder = new Folder(await ask("runs"));
  const name = folder.folder.split("/").filter(Boolean).at(-1) ?? folder.folder;
  document.title = `${name} – Sojourn`;
  by("title").textContent = name;
  by("what").textContent = `${folder.runs} run${folder.runs === 1 ? "" : "s"} in ${folder.folder}, made by Sojourn ${folder.version}.`;
  if (folder.damaged.length) trouble(new Error(`Left out, because they cannot be read:\n${folder.damaged.join("\n")}`));
  readAddress(folder);

  const again = el("button", { type: "button", title: "Runs may have been added" }, "Refresh");
  again.addEventListener("click", () => location.reload());
  const reports = folder.reports.map((own) => el("a", { href: `report/${encodeURIComponent(own)}`, target: "_blank", rel: "noopener" }, own === "report.html" ? "Open the report" : `Open ${own}`));
  const none = reports.length ? [] : [copyButton("Copy the command that writes a report", `sojourn report ${shellWord(folder.folder)}`)];
  by("top").append(
    ...reports,
    ...none,
    copyButton("Copy the command that made it", folder.command),
    again,
    menu("Colours", [["", "as the system"], ["light", "light"], ["dark", "dark"]], (value) => {
      if (value) root.dataset.theme = value;
      else delete root.dataset.theme;
    }),
  );

  facets(folder, by("facets"));
  if (matchMedia("(max-width: 760px)").matches) by("choice").open = false;
  const views = [new RunsView(folder), new PivotView(folder), new PlotView(folder), new TimeView(folder)];
  const tabs = views.map((view) => el("button", { type: "button", role: "tab", id: `tab-${view.name}`, "aria-controls": `view-${view.name}` }, view.title));
  views.forEach((view, at) => {
    fill(view.element, { role: "tabpanel", id: `view-${view.name}`, "aria-labelledby": `tab-${view.name}`, tabindex: 0, hidden: true }, []);
    tabs[at].addEventListener("click", () => {
      choice.view = view.name;
      changed(folder);
    });
  });
  by("tabs").append(...tabs);
  by("tabs").addEventListener("keydown", (event) => {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!way) return;
    event.preventDefault();
    const next = (tabs.indexOf(document.activeElement) + way + tabs.length) % tabs.length;
    tabs[next].focus();
    tabs[next].click();
  });
  by("views").append(...views.map((view) => view.element));
  let last = null;
  const show = () => {
    if (!views.some((view) => view.name === choice.view)) choice.view = "runs";
    by("count").textContent = `${chosen(folder).length} of ${folder.runs}`;
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
  root.classList.add("live");
  root.dataset.ready = "";
}

start().catch(trouble);
