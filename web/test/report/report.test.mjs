// A report in Chromium, from a file: cursor, zoom, seeds, axes, tables, commands, the playground, hostile names, a phone, axe.
// FOLDED is a page without figures, as the folder keeps summaries. REPORT is a page of `sojourn report -t runs`; TEMPLATE one of a template with bars; EVIL one of a flow with a hostile name.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { unpack } from "../../lib/address.js";
import { chromium } from "../chromium.mjs";

const REPORT = pathToFileURL(process.env.REPORT).href;
const TEMPLATE = pathToFileURL(process.env.TEMPLATE).href;
const EVIL = pathToFileURL(process.env.EVIL).href;
const FOLDED = pathToFileURL(process.env.FOLDED).href;
const AXE = readFileSync(new URL("../../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
let browser;
let page;
let wrong = [];

async function open(url = REPORT, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, permissions: ["clipboard-read", "clipboard-write"], ...options });
  page = await context.newPage();
  page.setDefaultTimeout(30_000);
  wrong = [];
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("console", (said) => said.type() === "error" && wrong.push(said.text()));
  page.on("dialog", (dialog) => (wrong.push(`a dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on("request", (request) => request.url().startsWith("file:") || wrong.push(`a request: ${request.url()}`));
  await page.goto(url);
  if (options.javaScriptEnabled !== false) await page.waitForSelector("html[data-ready]");
}
async function closed() {
  assert.deepEqual(wrong, []);
  await page.context().close();
}
const svg = (index = 0) => page.locator("figure.answers .plot > svg").nth(index);

/** Where a part of the first figure is on the screen, 0 to 1 each way. */
async function spot(across, down, index = 0) {
  await svg(index).scrollIntoViewIfNeeded();
  await page.evaluate((i) => scrollBy(0, document.querySelectorAll("figure.answers")[i].getBoundingClientRect().top - 80), index);
  const box = await svg(index).boundingBox();
  return [box.x + box.width * across, box.y + box.height * down];
}
async function point(across, down, index = 0) {
  const [x, y] = await spot(across, down, index);
  await page.mouse.move(x - 2, y);
  await page.mouse.move(x, y);
  await page.waitForSelector(".tip");
}
const seconds = async () => Number((await page.innerText(".tip caption")).replace(" s", ""));

before(async () => (browser = await chromium()));
after(() => browser.close());

test("the cursor says values, and stands in all figures of the scenario", async () => {
  await open();
  await point(0.5, 0.3);
  const said = await page.innerText(".tip");
  assert.match(said, /Throughput\s+Mbit\/s/);
  assert.match(said, /Queue delay\s+ms/);
  const middle = await seconds();
  assert.ok(middle > 1 && middle < 3, said);
  await page.waitForFunction(() => document.querySelectorAll(".cursor").length >= 2);
  assert.equal(await page.locator(".tip").count(), 1);
  await point(0.8, 0.3);
  assert.ok((await seconds()) > middle);
  await page.mouse.move(2, 2);
  await page.waitForFunction(() => !document.querySelector(".tip, .cursor"));
  await closed();
});

test("the value at the cursor is the line's", async () => {
  await open();
  await point(0.5, 0.3);
  // The dot of the first flow lies on the path that was drawn.
  const off = await page.evaluate(() => {
    const figure = document.querySelector("figure.answers");
    const dot = figure.querySelector(".cursor circle");
    const axes = figure.querySelector('[data-axes="1"]');
    const lines = [...axes.querySelectorAll("path")].filter((own) => own.style.stroke === "rgb(0, 114, 178)" || own.getAttribute("style")?.includes("stroke: #0072b2"));
    const at = [Number(dot.getAttribute("cx")), Number(dot.getAttribute("cy"))];
    let best = Infinity;
    for (const line of lines) for (let s = 0; s <= line.getTotalLength(); s += 0.2) {
      const p = line.getPointAtLength(s);
      best = Math.min(best, Math.hypot(p.x - at[0], p.y - at[1]));
    }
    return best;
  });
  assert.ok(off < 0.6, `${off} points from its line`);
  await closed();
});

test("a drag zooms all figures of the scenario; Show all shows what was drawn", async () => {
  await open();
  const before_ = await svg().evaluate((own) => own.outerHTML);
  const [x, y] = await spot(0.4, 0.3);
  await page.mouse.move(x, y);
  await page.waitForSelector(".tip");
  await page.mouse.down();
  await page.mouse.move(x + 150, y + 2, { steps: 5 });
  await page.mouse.up();
  await page.waitForSelector(".redrawn");
  assert.ok((await page.locator("figure:has(.redrawn)").count()) >= 2);
  const ticks = await page.locator("figure.answers .redrawn .tick").allTextContents();
  assert.ok(ticks.length > 4);
  await point(0.15, 0.3);
  const from = await seconds();
  assert.ok(from > 0.5, `${from}`);
  await page.mouse.move(2, 2);
  await page.click("text=Show all");
  await page.waitForFunction(() => !document.querySelector(".redrawn, .tip"));
  const clean = (text) => text.replace(/ style="(display: none;|)"/g, "").replace(/ (tabindex|class)="[^"]*"/g, "");
  assert.equal(clean(await svg().evaluate((own) => own.outerHTML)), clean(before_));
  assert.ok(await page.isDisabled("text=Show all"));
  await closed();
});

test("axes and seeds are drawn as they are chosen", async () => {
  await open();
  await spot(0.5, 0.3);
  await page.selectOption('select[aria-label="Seeds"]', "lines");
  await page.waitForSelector(".redrawn");
  const paths = () => page.locator("figure.answers").first().locator(".redrawn").first().locator("path[stroke]").count();
  const several = await paths();
  await page.selectOption('select[aria-label="Seeds"]', "off");
  await page.waitForFunction((n) => document.querySelector("figure.answers .redrawn").querySelectorAll("path[stroke]").length < n, several);
  assert.equal(several, 3 * (await paths()), "three seeds of each flow");
  await page.selectOption('select[aria-label="Axes"]', "log");
  await page.waitForTimeout(300);
  const log = await page.locator("figure.answers .redrawn").first().locator(".tick:not(.note)").allTextContents();
  assert.ok(log.map(Number).every((v) => v > 0), log.join());
  await page.selectOption('select[aria-label="Axes"]', "linear");
  await page.waitForTimeout(300);
  assert.ok((await page.locator("figure.answers .redrawn").first().locator(".tick:not(.note)").allTextContents()).includes("0"));
  await closed();
});

test("the keyboard moves the cursor and zooms", async () => {
  await open();
  await spot(0.5, 0.3);
  await svg().focus();
  for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowRight");
  await page.waitForSelector(".tip");
  assert.match(await page.innerText('[role="status"].unseen'), /Throughput: .* Mbit\/s/);
  await page.keyboard.press("+");
  await page.waitForSelector(".redrawn");
  await page.keyboard.press("0");
  await page.waitForFunction(() => !document.querySelector(".redrawn"));
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".tip").count(), 0);
  await closed();
});

test("tables sort and filter, and the figures follow", async () => {
  await open();
  const table = page.locator("table").first();
  const first = () => table.locator("tbody tr:not([hidden]) td").first().innerText();
  const rows = await table.locator("tbody tr").count();
  const began = await table.locator("tbody").innerText();
  const head = table.locator("th button.sort").nth(1);
  const column = () => table.locator("tbody tr td:nth-child(2)").evaluateAll((all) => all.map((own) => parseFloat(own.firstChild.textContent.match(/[\d.]+/)[0])));
  await head.click();
  const up = await column();
  assert.deepEqual(up, [...up].sort((a, b) => a - b));
  await head.click();
  const down = await column();
  assert.deepEqual(down, [...down].sort((a, b) => b - a));
  await head.click();
  assert.equal(await table.locator("tbody").innerText(), began);
  await page.fill('input[type="search"]', "pie");
  assert.match(await first(), /pie/);
  assert.ok((await table.locator("tbody tr:not([hidden])").count()) < rows);
  assert.equal(await page.locator("figure.answers:not([hidden])").count(), 1);
  await page.fill('input[type="search"]', "");
  assert.equal(await table.locator("tbody tr:not([hidden])").count(), rows);
  await closed();
});

test("the buttons of a cell that is not drawn are folded with it", async () => {
  await open(FOLDED);
  const buttons = page.getByRole("button", { name: "Copy the command", includeHidden: true });
  assert.ok((await buttons.count()) > 1);
  assert.equal(await page.locator("details figure .actions").count(), await buttons.count());
  await closed();
});

test("commands are copied, and a run opens in the playground", async () => {
  await open();
  await page.getByRole("button", { name: "Copy the command" }).first().click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), await page.locator("pre.again").first().evaluate((own) => own.textContent));
  await page.evaluate(() => { globalThis.opened = []; window.open = (url) => globalThis.opened.push(url); });
  await page.getByRole("button", { name: "Open in the playground" }).first().click();
  await page.getByRole("button", { name: "Copy it" }).click();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  const [, hash] = /^sojourn playground '(#1\.[\w-]+)'$/.exec(command);
  const state = await unpack(hash);
  assert.match(state.a.text, /name = "many"/);
  assert.match(state.a.text, /qdisc = "/);
  assert.doesNotMatch(state.a.text, /\[axis/);
  const opened = await page.evaluate(() => globalThis.opened);
  if (process.env.PLAYGROUND) assert.deepEqual(opened, [process.env.PLAYGROUND + hash]);
  await closed();
});

test("names of others stay texts", async () => {
  await open();
  assert.ok((await page.locator("body").innerText()).includes("<img src=x onerror=alert(1)>"));
  assert.equal(await page.locator("img").count(), 0);
  await closed();
  await open(EVIL);
  await spot(0.5, 0.3);
  const count = await page.locator("figure.answers").count();
  for (let i = 0; i < count; i++) await point(0.5, 0.3, i);
  assert.ok((await page.innerText(".tip")).includes("<b>x"), await page.innerText(".tip"));
  assert.equal(await page.locator("img, script[src], .tip b").count(), 0);
  await closed();
});

test("bars say their values, and heads of templates' tables sort", async () => {
  await open(TEMPLATE);
  const figures = await page.locator("figure.answers").count();
  assert.ok(figures >= 1);
  let said = "";
  for (let across = 0.12; across < 0.95 && !said; across += 0.02) {
    const [x, y] = await spot(across, 0.75);
    await page.mouse.move(x, y);
    await page.waitForTimeout(40);
    said = (await page.locator(".tip").count()) ? await page.innerText(".tip") : "";
  }
  assert.match(said, /\d/);
  await closed();
});

test("without scripts everything is there, and nothing that does nothing", async () => {
  await open(REPORT, { javaScriptEnabled: false });
  assert.ok((await page.locator("figure svg").count()) >= 6);
  assert.equal(await page.locator("button, input, select").count(), 0);
  assert.ok(await page.locator("text=run it again").first().isVisible());
  await closed();
});

test("print hides what a reader of paper cannot use", async () => {
  await open();
  await page.emulateMedia({ media: "print" });
  for (const own of [".bar", ".actions", ".filter"]) assert.equal(await page.locator(`${own}:visible`).count(), 0, own);
  assert.ok(await svg().isVisible());
  await closed();
});

for (const [name, options] of [["a desktop", {}], ["a phone", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }], ["the dark", { colorScheme: "dark" }]]) {
  test(`axe finds nothing wrong on ${name}`, async () => {
    await open(REPORT, options);
    const [x, y] = await spot(0.3, 0.3);
    if (options.hasTouch) await page.touchscreen.tap(Math.min(x, 300), y);
    else await page.mouse.move(x, y);
    await page.waitForSelector(".tip");
    await page.selectOption('select[aria-label="Seeds"]', "lines");
    await page.waitForSelector(".redrawn");
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).join(" | ")}`), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the screen");
    await closed();
  });
}
