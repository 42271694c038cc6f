// `node same_bits.mjs node|chromium WASM CASES`: cases in lines of JSON, as `compare.mjs` has them. Status 1 and the names of
// what differs, if anything does.

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { Engine } from "../src/engine.js";
import { differences } from "./compare.mjs";
import { chromium } from "./chromium.mjs";

const [where, wasm, file] = process.argv.slice(2);
const cases = readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));

async function inChromium() {
  const { outputFiles } = await build({
    stdin: { contents: 'export { Engine } from "../src/engine.js"; export { differences } from "./compare.mjs";', resolveDir: import.meta.dirname ?? new URL(".", import.meta.url).pathname },
    bundle: true, write: false, format: "iife", globalName: "same",
  });
  const browser = await chromium();
  try {
    const page = await browser.newPage();
    await page.evaluate(outputFiles[0].text.replace("var same =", "globalThis.same ="));
    await page.evaluate(async (packed) => {
      const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      globalThis.module_ = await WebAssembly.compile(await new Response(stream).arrayBuffer());
    }, gzipSync(readFileSync(wasm)).toString("base64"));
    return await page.evaluate((own) => globalThis.same.differences(globalThis.same.Engine, globalThis.module_, own), cases);
  } finally {
    await browser.close();
  }
}

const { differing, ran } = where === "chromium" ? await inChromium() : differences(Engine, new WebAssembly.Module(readFileSync(wasm)), cases);
for (const line of differing) console.error(line);
console.log(JSON.stringify({ cases: cases.length, ran, differing: differing.length }));
process.exitCode = differing.length ? 1 : 0;
