// The worker: one engine, one run at a time, in steps, so that a later request can overtake a run under way.

import { Engine, Panic } from "./engine.js";

/** Events of a step: some 20 ms of work. */
const EVENTS = 200_000;
const TABLES = ["flows", "queues", "pings", "queue_signals", "flow_state", "events", "completions", "playback"];

let engine = null;
let latest = 0;

// A task of its own between steps, without the delay that timers have when they are nested.
const turn = new MessageChannel();
const waiting = [];
turn.port1.onmessage = () => waiting.shift()?.();
const others = () =>
  new Promise((resolve) => {
    waiting.push(resolve);
    turn.port2.postMessage(null);
  });

async function run(id, text, index) {
  const read = engine.ask({ ask: "check", text });
  if (read.errors) return postMessage({ id, kind: "wrong", ...read });
  const run = Math.min(index, read.runs.length - 1);
  postMessage({ id, kind: "read", ...read, run });
  await carryOut(id, { ask: "begin", run });
}

/** Begins a run by this request and carries it to its end. */
async function carryOut(id, request) {
  const started = performance.now();
  const begun = engine.ask(request);
  if (begun.errors) return postMessage({ id, kind: "wrong", ...begun });
  for (;;) {
    const step = engine.ask({ ask: "advance", events: EVENTS });
    if (step.errors) return postMessage({ id, kind: "wrong", ...step });
    if (step.over) break;
    postMessage({ id, kind: "progress", passed: step.passed });
    await others();
    if (id !== latest) return postMessage({ id, kind: "cancelled" });
  }
  const result = engine.finish(TABLES);
  if (result.errors) return postMessage({ id, kind: "wrong", ...result });
  const buffers = Object.values(result.tables).flatMap((t) => Object.values(t.columns).map((c) => c.values.buffer));
  postMessage({ id, kind: "done", result, took: performance.now() - started }, buffers);
}

onmessage = async ({ data }) => {
  latest = data.id;
  try {
    if (data.kind === "start") {
      engine = new Engine(data.module);
      postMessage({ id: data.id, kind: "choices", choices: engine.ask({ ask: "choices" }) });
    } else if (data.kind === "run") {
      await run(data.id, data.text, data.run);
    } else if (data.kind === "resolved") {
      await carryOut(data.id, { ask: "resolved", scenario: data.scenario });
    } else if (data.kind === "measure") {
      postMessage({ id: data.id, kind: "measured", ...engine.ask({ ask: "measure", expressions: data.expressions }) });
    }
  } catch (error) {
    const kind = error instanceof Panic ? "panic" : "failed";
    postMessage({ id: data.id, kind, message: error.message });
  }
};
