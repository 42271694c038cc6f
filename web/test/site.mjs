// `node site.mjs SITE [PAGE...]`: what axe finds hard to use in the pages of a built site, in the light, in the dark and on a phone.
// Status 1 and what it is, if there is anything. The pages within pages have tests of their own.

import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "./chromium.mjs";

const AXE = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const KINDS = { light: {}, dark: { colorScheme: "dark" }, phone: { viewport: { width: 390, height: 844 }, isMobile: true } };
const site = resolve(process.argv[2]);
/** The pages of our own: the playground, and reports, which are made of other templates, are tested where they are made. */
const only = process.argv.slice(3);
const pages = readdirSync(site, { recursive: true }).filter((name) => name.endsWith(".html") && !/^(playground-page|404|published\/)/.test(name) && (!only.length || only.includes(name)));

const browser = await chromium();
const found = [];
for (const [kind, options] of Object.entries(KINDS)) {
  const context = await browser.newContext({ bypassCSP: true, ...options });
  const page = await context.newPage();
  for (const name of pages) {
    await page.goto(pathToFileURL(join(site, name)).href);
    await page.addScriptTag({ content: AXE });
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { iframes: false }));
    for (const own of violations) found.push(`${name}, ${kind}: ${own.id}, ${own.nodes.length} times: ${own.nodes[0].target}: ${own.nodes[0].failureSummary}`);
  }
  await context.close();
}
await browser.close();
for (const line of found) console.error(line);
console.log(`${pages.length} pages, ${Object.keys(KINDS).length} ways: ${found.length || "nothing"} hard to use`);
process.exitCode = found.length || !pages.length ? 1 : 0;
