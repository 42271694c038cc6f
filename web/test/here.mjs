// `node here.mjs PAGE...`: presses every "Run it here" of these files, for every run that it offers, and prints what each says.

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "./chromium.mjs";

const browser = await chromium();
const said = [];
try {
  for (const file of process.argv.slice(2)) {
    const page = await browser.newPage();
    await page.goto(pathToFileURL(resolve(file)).href);
    for (const place of await page.$$(".run-here")) {
      const button = await place.waitForSelector("button");
      const names = await place.$$eval("option", (own) => own.map(({ value }) => value));
      for (const name of names.length ? names : [""]) {
        if (name) await (await place.$("select")).selectOption(name);
        await button.click();
        await page.waitForFunction((own) => !own.disabled, button, { timeout: 120_000 });
        const status = await place.$eval(".run-here-status", (own) => ({ says: own.textContent, equal: own.classList.contains("run-here-equal") }));
        said.push({ page: file, run: name, ...status, tables: (await place.$$(".run-here-output table")).length, playground: (await place.$$("a")).length });
      }
    }
    await page.close();
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(said));
