// `sojourn explore` in Chromium: every view, its menus and files, the keyboard, hostile names, a phone, axe.
// EXPLORE is its address, SEVERAL that of a folder of two experiments with an axis each that the other lacks; EXPLORE's is of a folder with two queues (one label is a script), two RTTs, two seeds, a hostile flow, a report.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { chromium } from "../chromium.mjs";

const ADDRESS = process.env.EXPLORE;
const EVIL = "<img src=x onerror=alert(1)>";
const AXE = readFileSync(new URL("../../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
let browser;
let page;
let wrong = [];

async function open(hash = "", options = {}, address = ADDRESS) {
  const context = await browser.newContext({ viewport: { width: 1300, height: 900 }, permissions: ["clipboard-read", "clipboard-write"], ...options });
  page = await context.newPage();
  page.setDefaultTimeout(30_000);
  wrong = [];
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("console", (said) => said.type() === "error" && wrong.push(said.text()));
  page.on("dialog", (dialog) => (wrong.push(`a dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on("request", (request) => request.url().startsWith(address) || request.url().startsWith("blob:") || wrong.push(`a request: ${request.url()}`));
  await page.goto(address + hash);
  if (options.javaScriptEnabled !== false) await page.waitForSelector("html[data-ready]");
}
async function closed() {
  assert.deepEqual(wrong, []);
  await page.context().close();
}
const tab = (name) => page.click(`[role="tab"]:has-text("${name}")`);
const count = () => page.innerText("#count");
const settled = () => page.waitForFunction(() => !document.querySelector('[role="tabpanel"]:not([hidden]) progress'));
const box = (axis, label) => page.locator("fieldset", { has: page.locator("legend", { hasText: axis }) }).getByLabel(label, { exact: false }).first();
async function saved(words) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click(`[role="tabpanel"]:not([hidden]) button:has-text("${words}")`)]);
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
}

before(async () => (browser = await chromium()));
after(() => browser.close());

test("boxes choose runs, in all views and in the address", async () => {
  await open();
  assert.equal(await count(), "8 of 8");
  assert.equal(await page.locator("#view-runs tbody tr").count(), 8);
  await box("rtt", "20ms").check();
  assert.equal(await count(), "4 of 8");
  await box("seed", "2").check();
  assert.equal(await count(), "2 of 8");
  assert.equal(await page.locator("#view-runs tbody tr").count(), 2);
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  assert.equal(await count(), "2 of 8");
  await page.click('button[aria-label="All of seed"]');
  assert.equal(await count(), "4 of 8");
  await page.fill('aside input[type="search"]', "pfifo");
  assert.equal(await count(), "2 of 8");
  const { name, text } = await saved("Save the list");
  assert.equal(name, "runs.csv");
  assert.deepEqual(text.trim().split("\n"), ["scenario,queue,rtt,engine,seed", "few,pfifo,20ms,sim,1", "few,pfifo,20ms,sim,2"]);
  await page.fill('aside input[type="search"]', "nothing has this");
  assert.match(await page.innerText("#view-runs"), /No run has all of these labels/);
  for (const name_ of ["Pivot", "Plot", "Over time"]) {
    await tab(name_);
    await page.waitForTimeout(100);
  }
  await closed();
});

test("a run is told of, with its command", async () => {
  await open();
  await page.locator("#view-runs tbody tr").first().getByRole("button", { name: /^About/ }).click();
  const about = page.locator(".about");
  await about.waitFor();
  assert.match(await about.innerText(), /full: .*passed/);
  await about.getByRole("button", { name: "Copy the command" }).first().click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^sojourn run .*--only/);
  assert.match(await about.innerText(), /sojourn playground/);
  await about.getByRole("button", { name: "Close" }).click();
  assert.equal(await about.count(), 0);
  await closed();
});

test("a pivot has the means of its runs; a number leaves its runs alone", async () => {
  await open("#view=pivot&metric=utilisation({queue})&rows=queue&columns=rtt");
  await settled();
  const { name, text } = await saved("Save the numbers");
  assert.equal(name, "pivot.csv");
  const rows = text.trim().split("\n").map((row) => row.split(","));
  assert.deepEqual(rows[0], ["queue", "rtt", "mean", "median", "least", "greatest", "values"]);
  assert.equal(rows.length, 5);
  for (const row of rows.slice(1)) assert.equal(row.at(-1), "2");
  const first = await page.innerText("#view-pivot tbody tr:first-child td:nth-child(2) button");
  assert.ok(Math.abs(Number(first) - Number(rows[1][2])) < 0.06, `${first} ${rows[1]}`);
  assert.match(await page.innerText("#view-pivot"), /mean over seed \(2\)/);
  await page.selectOption('#view-pivot label:has-text("Shown") select', "count");
  await settled();
  assert.equal(await page.innerText("#view-pivot tbody tr:first-child td:nth-child(2) button"), "2");
  await page.click("#view-pivot tbody tr:first-child td:nth-child(2) button");
  assert.equal(await count(), "2 of 8");
  assert.equal(await page.getAttribute("#tab-runs", "aria-selected"), "true");
  await closed();
});

test("a heatmap is a picture that can be kept, and has its command", async () => {
  await open("#view=pivot&metric=mean(queue_delay, {queue})&rows=queue&columns=rtt&as=heat");
  await settled();
  await page.waitForSelector("#view-pivot svg rect");
  const { name, text } = await saved("Save the picture");
  assert.equal(name, "heatmap.svg");
  assert.match(text, /^<svg[^>]* xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
  assert.ok(!text.includes(EVIL) && text.includes("&lt;img"), "names are escaped");
  await page.click('#view-pivot button:has-text("Copy the command")');
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^sojourn plot \S+ heatmap 'value=mean\(queue_delay, \{queue\}\)' x=rtt y=queue -o heatmap.svg$/);
  await closed();
});

test("a metric against an axis, and against another metric", async () => {
  await open("#view=plot&y=goodput({flow})");
  await settled();
  await page.waitForSelector("#view-plot svg circle");
  assert.match(await page.innerText("#view-plot .key"), /one/);
  const chart = page.locator("#view-plot .chart svg");
  await chart.focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForSelector("#view-plot .tip");
  assert.match(await page.innerText(".unseen[role=status]"), /goodput [\d.]+ Mbit\/s/i);
  await page.selectOption('#view-plot label:has-text("Against") select', "another metric");
  await settled();
  await page.fill('#view-plot label:has-text("Metric along") input', "utilisation({queue})");
  await page.press('#view-plot label:has-text("Metric along") input', "Enter");
  await page.waitForFunction(() => document.querySelector("#view-plot .chart svg")?.textContent.includes("Utilisation (%)"));
  await settled();
  const { text } = await saved("Save the numbers");
  assert.match(text.split("\n")[0], /Utilisation \(%\),Goodput \(Mbit\/s\)/);
  assert.ok(text.trim().split("\n").length > 8);
  await page.locator("#view-plot .chart svg").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  assert.match(await page.innerText("#view-plot"), /Picked: /);
  await closed();
});

test("what is wrong with a metric is said, and goes when it is mended", async () => {
  await open("#view=plot&y=goodputt({flow})");
  await page.waitForSelector("#trouble:not([hidden])");
  assert.match(await page.innerText("#trouble"), /goodput/);
  await page.fill('#view-plot label:has-text("Metric") input', "goodput(one)");
  await page.press('#view-plot label:has-text("Metric") input', "Enter");
  await page.waitForSelector("#trouble", { state: "hidden" });
  await page.waitForSelector("#view-plot svg circle");
  // The refusal itself is an error in the browser's own words.
  wrong = wrong.filter((text) => !text.includes("422"));
  await closed();
});

test("runs over one another: strips, cursor, zoom, files", async () => {
  await open();
  const boxes = page.locator('#view-runs tbody input[type="checkbox"]');
  for (const at of [0, 3, 5]) await boxes.nth(at).check();
  await page.click('button:has-text("Over time: 3 picked")');
  await page.waitForSelector("#view-time svg path[stroke-width='1.6']");
  assert.match(await page.innerText("#view-time"), /3 picked runs/);
  assert.equal(await page.locator("#view-time .chart").count(), 2);
  const chart = page.locator("#view-time .chart svg").first();
  const at = await chart.boundingBox();
  await page.mouse.move(at.x + at.width * 0.5, at.y + at.height * 0.5);
  await page.waitForFunction(() => document.querySelectorAll("#view-time .cursor").length === 2);
  assert.match(await page.innerText("#view-time .tip"), /s · Mbit\/s/);
  await page.mouse.down();
  await page.mouse.move(at.x + at.width * 0.8, at.y + at.height * 0.5, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction(() => !document.querySelector('#view-time button[disabled]')?.textContent.includes("Show all"));
  const fine = await saved("Save the numbers");
  const times = fine.text.trim().split("\n").slice(1).map((row) => Number(row.match(/,([\d.]+),[^,]*,[^,]*$/)[1]));
  assert.ok(Math.min(...times) > 0.8 && Math.max(...times) < 2, `${Math.min(...times)} to ${Math.max(...times)}`);
  await page.click('button:has-text("Show all of it")');
  await page.waitForFunction(() => [...document.querySelectorAll("#view-time .tools button, #view-time .controls button")].some((own) => own.disabled && own.textContent.includes("Show all")));
  await page.click('button:has-text("One strip more")');
  await page.waitForFunction(() => document.querySelectorAll("#view-time .chart").length === 3);
  await page.locator("#view-time .strip select").nth(2).selectOption("flows.cwnd");
  await page.waitForFunction(() => document.querySelectorAll("#view-time .chart svg")[2]?.textContent.includes("Congestion window"));
  await page.locator("#view-time .chart svg").first().focus();
  await page.keyboard.press("ArrowRight");
  assert.match(await page.innerText(".unseen[role=status]"), /^[\d.]+ s: /);
  await page.keyboard.press("+");
  await page.waitForSelector('button:has-text("Show all of it"):not([disabled])');
  assert.match((await saved("Save picture 1")).text, /<path/);
  await closed();
});

test("hostile names of flows, labels and runs are texts", async () => {
  await open();
  assert.equal(await page.locator(`td:has-text("${EVIL}")`).count(), 4);
  for (const view of ["pivot", "plot", "time"]) {
    await page.evaluate((hash) => (location.hash = hash), `view=${view}`);
    await settled();
    await page.waitForTimeout(400);
  }
  await page.evaluate(() => (location.hash = "view=time&words=pfifo+20ms"));
  await page.waitForFunction(() => document.querySelector("#view-time")?.textContent.includes("</script><script>alert(2)</script>"));
  assert.equal(await page.evaluate(() => document.querySelectorAll("img").length), 0);
  assert.equal(await page.evaluate(() => document.querySelectorAll("script").length), 1);
  await closed();
});

test("hostile addresses leave the page alive", async () => {
  for (const hash of ["#view=%3Cscript%3E", "#view=pivot&rows=__proto__&columns=constructor&how=x", `#words=${"x".repeat(5000)}`, "#only.queue=%25%25&only.nothing=1", "#only.queue=a|", "#view=time&strips=a.b,__proto__.x", "#%E0%A4%A", "#view=plot&x=another+metric&log=zz&colour=toString"]) {
    await open(hash);
    assert.match(await count(), /of 8/);
    wrong = wrong.filter((text) => !text.includes("422"));
    await closed();
  }
});

test("a report opens, and cannot ask for the folder", async () => {
  await open();
  const [report] = await Promise.all([page.context().waitForEvent("page"), page.click('a:has-text("Open the report")')]);
  await report.waitForSelector("html[data-ready]");
  assert.ok((await report.locator("figure").count()) >= 4);
  assert.equal(await report.evaluate(() => self.origin), "null");
  assert.equal(await report.evaluate((address) => fetch(`${address}runs`).then(() => "answered", () => "refused"), ADDRESS), "refused");
  // The refusal is an error in the browser's own words, of that page.
  await closed();
});

for (const [name, hash] of [["runs", "#view=runs"], ["pivot", "#view=pivot"], ["heatmap", "#view=pivot&as=heat"], ["plot", "#view=plot"], ["over time", "#view=time"]]) {
  for (const [how, options] of [["light", {}], ["dark", { colorScheme: "dark" }], ["phone", { viewport: { width: 390, height: 800 }, isMobile: true, hasTouch: true }]]) {
    test(`${name}, ${how}: axe finds nothing, nothing is wider than the page`, async () => {
      await open(hash, options);
      await settled();
      await page.waitForTimeout(300);
      // axe adds a script of its own, which the page's policy forbids to others: it comes by the debugger.
      const found = await page.evaluate(`${AXE}; axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.target.join(" ")).slice(0, 4).join(", ")))`);
      assert.deepEqual(found, []);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), "no sideways scrolling");
      await closed();
    });
  }
}

test("experiments with other axes stand in one folder", async () => {
  await open("#view=pivot&metric=jain(goodput)&rows=scenario&columns=rtt", {}, process.env.SEVERAL);
  await settled();
  const heads = await page.locator("#view-pivot thead th").allTextContents();
  assert.deepEqual(heads, ["scenario", "20ms", "80ms", "–"]);
  await page.locator("#view-pivot tbody tr", { hasText: "other" }).locator("td").last().getByRole("button").click();
  assert.equal(await count(), "4 of 8");
  assert.ok((await page.locator("#view-runs tbody tr").allTextContents()).every((text) => !text.includes("few")));
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  assert.equal(await count(), "4 of 8");
  // An axis that none of them has is no choice.
  assert.equal(await page.locator("fieldset", { has: page.locator("legend", { hasText: "delay" }) }).isVisible(), true);
  await page.click('button[aria-label="All of rtt"]');
  await page.click('button[aria-label="All of scenario"]');
  await box("scenario", "few").check();
  assert.equal(await page.locator("fieldset", { has: page.locator("legend", { hasText: "delay" }) }).isVisible(), false);
  assert.deepEqual((await page.locator("#view-runs thead th").allTextContents()).slice(1, -1), ["queue", "rtt"]);
  await tab("Plot");
  await settled();
  await page.waitForSelector("#view-plot svg circle");
  await closed();
});

test("the tabs go by the keyboard", async () => {
  await open();
  await page.focus("#tab-runs");
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.evaluate(() => document.activeElement.id), "tab-pivot");
  assert.equal(await page.isVisible("#view-pivot"), true);
  await settled();
  await closed();
});

test("without scripts the page says what reads without", async () => {
  await open("", { javaScriptEnabled: false });
  assert.match(await page.innerText("main"), /sojourn report/);
  await page.context().close();
});
