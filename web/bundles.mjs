// Builds the scripts of reports and of the explorer, which lie in the package for those without Node: `node bundles.mjs`.
// With `--check` it writes nothing and fails where a script is not what the sources make. A first line has the sources' digest,
// which tests compare without Node.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = new URL(".", import.meta.url);
const BUNDLES = { report: "../python/sojourn/reporting/report.js", explore: "../python/sojourn/explore/explore.js" };

/** Digest of all modules of `lib` and of a page's own, in the order of their paths. */
function digest(name) {
  const hash = createHash("sha256");
  for (const folder of [name, "lib"].sort()) for (const file of readdirSync(new URL(folder, here)).sort()) hash.update(readFileSync(new URL(`${folder}/${file}`, here)));
  return hash.digest("hex");
}

for (const [name, target] of Object.entries(BUNDLES)) {
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(here),
    entryPoints: [`${name}/main.js`],
    bundle: true,
    write: false,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    banner: { js: `// Built by \`make bundles\` from web/${name} and web/lib, of sha256 ${digest(name)}` },
  });
  const { text } = outputFiles[0];
  if (/<\/script|<!--/i.test(text)) throw new Error(`${name} would end the element that it stands in`);
  const file = new URL(target, here);
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else if (readFileSync(file, "utf8") !== text) throw new Error(`${fileURLToPath(file)} is not what the sources make: run \`make bundles\``);
}
