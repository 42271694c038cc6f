// "Run it here": a button below a figure of the site. The page's own simulator runs what the site's build ran and compares
// each table, bit for bit. The simulator is in a script of its own, which the first press loads: from a disk, too.

import { button, el, select } from "../lib/dom.js";
import { Client, compiled } from "./client.js";
import { results } from "./results.js";

const base = typeof document === "undefined" ? null : new URL(".", document.currentScript.src);
let loaded = null;

/** The simulator: its module and its worker, once. */
function simulator() {
  loaded ??= new Promise((resolve, reject) => {
    globalThis.sojournModule = async ({ wasm, worker }) => {
      try {
        const module = await compiled(wasm);
        const address = URL.createObjectURL(new Blob([worker], { type: "text/javascript" }));
        // On pages from a disk the theme's search has a Worker of its own, which is a frame (assets/iframe-worker.js).
        const Own = globalThis.NativeWorker ?? Worker;
        resolve(new Client(() => new Own(address), module));
      } catch (error) {
        reject(error);
      }
    };
    const error = () => reject(new Error("the simulator could not be loaded"));
    document.head.append(el("script", { src: new URL("run-here-module.js", base).href, error }));
  });
  loaded.catch(() => (loaded = null));
  return loaded;
}

/** What the comparison of two sets of digests says: whether they are equal, in a sentence. */
export function compared(expected, found, version) {
  const names = Object.keys(expected);
  const differing = names.filter((name) => expected[name] !== found[name]);
  if (!differing.length) return { equal: true, says: `The same bits as the build: all ${names.length} tables are equal.` };
  return { equal: false, says: `These tables differ from those of the build (${version}): ${differing.join(", ")}.` };
}

function attach(place) {
  const { version, playground, traces, runs } = JSON.parse(place.dataset.runs);
  const choice = select(runs.map(({ name }, at) => [at, name]), null, 0, { "aria-label": "The run" });
  const status = el("p", { role: "status", class: "run-here-status" });
  const output = el("div", { class: "run-here-output" });
  const go = async () => {
    const own = runs[Number(choice.value) || 0];
    start.disabled = true;
    output.replaceChildren();
    status.className = "run-here-status";
    status.textContent = "Loading the simulator …";
    let client;
    try {
      client = await simulator();
      await client.ready;
    } catch (error) {
      status.textContent = `It does not run here: ${error.message}.`;
      start.disabled = false;
      return;
    }
    const scenario = own.traces.length ? { ...own.scenario, traces: own.traces.map((at) => traces[at]) } : own.scenario;
    client.resolved(scenario, (said) => {
      if (said.kind === "progress") {
        status.textContent = `Running: ${said.passed.toFixed(0)} s simulated …`;
        return;
      }
      if (said.kind === "read") return;
      start.disabled = false;
      if (said.kind !== "done") {
        const why = said.errors?.map(({ message }) => message).join("; ") ?? said.message ?? "another run began";
        status.textContent = `It does not run here: ${why}.`;
        return;
      }
      const { equal, says } = compared(own.digests, said.result.digests, version);
      status.classList.add(equal ? "run-here-equal" : "run-here-differs");
      status.textContent = `${equal ? "✓" : "✗"} ${says} It took ${(said.took / 1000).toFixed(1)} s.`;
      output.append(...results([{ letter: "A", result: said.result }]));
    });
  };
  const start = button("Run it here", go, { class: "md-button" });
  const row = el("p", { class: "run-here-row" }, start, runs.length > 1 ? choice : null);
  if (playground) row.append(el("a", { href: new URL(playground, base).href, target: "_blank" }, "Open in the playground"));
  place.append(row, status, output);
}

if (typeof document !== "undefined") {
  const begin = () => document.querySelectorAll(".run-here[data-runs]").forEach(attach);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
}
