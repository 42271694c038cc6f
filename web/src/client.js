// The page's side of a worker: the last run that was asked for is the one that is answered.

import { bytesOf } from "../lib/address.js";

/** The module of a page, which has it packed. */
export async function compiled(packed) {
  const stream = new Blob([bytesOf(packed)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

/** A worker that says nothing for this long while it is asked for something is ended and started again, ms. */
const PATIENCE = 20_000;

export class Client {
  /**
   * @param {() => Worker} make
   * @param {WebAssembly.Module} module
   */
  constructor(make, module) {
    Object.assign(this, { make, module, id: 0, onsay: null, timer: 0, choices: null });
    this.start();
  }

  start() {
    this.worker?.terminate();
    this.worker = this.make();
    this.worker.onmessage = ({ data }) => this.hear(data);
    this.worker.onerror = (event) => this.onsay?.({ kind: "failed", message: event.message || "the worker failed" });
    this.ready = new Promise((resolve) => (this.resolve = resolve));
    this.worker.postMessage({ kind: "start", id: this.id, module: this.module });
  }

  hear(said) {
    clearTimeout(this.timer);
    this.timer = 0;
    if (said.kind === "choices") {
      this.choices = said.choices;
      this.resolve(said.choices);
      return;
    }
    if (said.id !== this.id) return;
    if (said.kind === "panic") this.start();
    if (said.kind === "read" || said.kind === "progress") this.watch();
    this.onsay?.(said);
  }

  /** Runs one run of a text and gives up any run under way; `onsay` receives the progress and the result. */
  run(text, run, onsay) {
    this.begin({ kind: "run", text, run }, onsay);
  }

  /** The same for a resolved scenario. */
  resolved(scenario, onsay) {
    this.begin({ kind: "resolved", scenario }, onsay);
  }

  begin(request, onsay) {
    this.id += 1;
    this.onsay = onsay;
    this.watch();
    this.worker.postMessage({ ...request, id: this.id });
  }

  /** Gives the run up. */
  cancel() {
    this.id += 1;
    this.worker.postMessage({ kind: "cancel", id: this.id });
    this.onsay?.({ kind: "cancelled" });
    this.onsay = null;
    clearTimeout(this.timer);
  }

  /** Between its steps a worker answers; one that does not is ended. */
  watch() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const tell = this.onsay;
      this.onsay = null;
      this.start();
      tell?.({ kind: "failed", message: `nothing came from the run for ${PATIENCE / 1000} s, and it was ended` });
    }, PATIENCE);
  }
}
