// `node measure.mjs WASM FILE...`: metrics of each experiment's first run, by the module; a list of expressions to values.

import { readFileSync } from "node:fs";
import { Engine } from "../src/engine.js";

const [wasm, ...files] = process.argv.slice(2);
const engine = new Engine(new WebAssembly.Module(readFileSync(wasm)));
const measured = files.map((file) => {
  const said = [{ ask: "check", text: readFileSync(file, "utf8") }, { ask: "begin", run: 0 }, { ask: "advance", events: 1e15 }].map((own) => engine.ask(own));
  if (!said[2].over) throw new Error(`${file}: ${JSON.stringify(said)}`);
  const { summary } = engine.ask({ ask: "finish", tables: [] });
  const expressions = [
    ...summary.flows.flatMap(({ flow }) => [`goodput(${flow})`, `mean(rtt, ${flow})`]),
    ...summary.queues.flatMap(({ queue }) => [`mean(queue_delay, ${queue})`, `drops(${queue})`, `marks(${queue})`, `utilisation(${queue})`]),
  ];
  const { values } = engine.ask({ ask: "measure", expressions });
  return Object.fromEntries(expressions.map((own, i) => [own, values[i].value ?? NaN]).filter(([, v]) => !Number.isNaN(v)));
});
console.log(JSON.stringify(measured));
