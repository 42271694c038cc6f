// Builds the playground: one file with the module, the worker, the styles and the script in it. `node build.mjs WASM OUT`.
// Next to it, for the site's pages: `run-here.js`, and `run-here-module.js` with the module, which the first press of a button loads.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const [wasm, out] = process.argv.slice(2);
if (!wasm || !out) {
  console.error("node build.mjs WASM OUT");
  process.exit(2);
}

/** A bundle as text, which can stand in a page: nothing in it ends the element that it stands in. */
async function bundle(name) {
  const { outputFiles } = await build({
    entryPoints: [join(here, "src", name)],
    bundle: true,
    write: false,
    minify: true,
    format: name === "main.js" ? "esm" : "iife",
    target: "es2022",
    charset: "ascii",
    legalComments: "none",
    loader: { ".toml": "text" },
  });
  const text = outputFiles[0].text;
  if (/<\/script|<!--/i.test(text)) throw new Error(`${name} holds what would end its element`);
  return text;
}

mkdirSync(dirname(out), { recursive: true });
const bytes = readFileSync(wasm);
const module_ = gzipSync(bytes, { level: 9 }).toString("base64");
const [script, worker, button] = await Promise.all([bundle("main.js"), bundle("worker.js"), bundle("here.js")]);
const style = readFileSync(join(here, "src/style.css"), "utf8");

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const csp = [
  "default-src 'none'",
  // The module is compiled from bytes that the page holds.
  `script-src ${hash(script)} 'wasm-unsafe-eval'`,
  // The worker's text is in the page: it begins as a blob.
  "worker-src blob:",
  `style-src ${hash(style)}`,
  // The PNG is drawn from an SVG.
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
const parts = { CSP: csp, STYLE: style, WASM: module_, WORKER: worker, SCRIPT: script };
const page = readFileSync(join(here, "src/index.html"), "utf8").replace(/%(CSP|STYLE|WASM|WORKER|SCRIPT)%/g, (_, name) => parts[name]);
writeFileSync(out, page);
writeFileSync(join(dirname(out), "run-here.js"), button);
writeFileSync(join(dirname(out), "run-here-module.js"), `sojournModule(${JSON.stringify({ wasm: module_, worker })});\n`);
const kb = (size) => `${Math.round(size / 1000)} kB`;
console.log(`${out}: ${kb(page.length)} (module ${kb(bytes.length)}, in the page ${kb(module_.length)}; script ${kb(script.length)}; worker ${kb(worker.length)}; style ${kb(style.length)}); gzipped ${kb(gzipSync(page).length)}`);
