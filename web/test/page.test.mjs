// The page in Chromium, from a file: every control, lessons, hostile addresses, damaged texts, a phone's width, axe.
// PLAYGROUND is the page.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { pack } from "../lib/address.js";
import { chromium } from "./chromium.mjs";

const PAGE = pathToFileURL(process.env.PLAYGROUND).href;
const AXE = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const SHORT = `[experiment]
name = "short"
duration = "2s"
[[hop]]
name = "bottleneck"
rate = "10mbit"
rtt = "20ms"
qdisc = "pfifo limit 1bdp"
[[flow]]
name = "a"
`;
let browser;
let page;
let wrong = [];

async function open(hash = "", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true, ...options });
  page = await context.newPage();
  page.setDefaultTimeout(90_000);
  wrong = [];
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("console", (said) => said.type() === "error" && wrong.push(said.text()));
  page.on("dialog", (dialog) => (wrong.push(`a dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on("request", (request) => /^(file|blob|data):/.test(request.url()) || wrong.push(`a request: ${request.url()}`));
  await page.goto(PAGE + hash);
  await page.waitForSelector("html[data-ready]");
}
const settled = (letter = "A") => page.waitForFunction((l) => ["done", "wrong"].includes(document.querySelector(`#side-${l}-show`).dataset.state), letter);
const text = () => page.inputValue("#text");
const state = (letter = "A") => page.getAttribute(`#side-${letter}-show`, "data-state");
async function begin(own = SHORT, b = null) {
  await open(await pack({ a: { text: own, run: 0 }, b, lesson: "" }));
  await settled();
}
async function closed() {
  assert.deepEqual(wrong, []);
  await page.context().close();
}

before(async () => (browser = await chromium()));
after(() => browser.close());

test("what is printed is light, and has the experiments' texts", async () => {
  await open(await pack({ a: { text: SHORT, run: 0 }, b: { text: SHORT.replace("20ms", "80ms"), run: 0 }, lesson: "" }), { colorScheme: "dark" });
  await settled();
  const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const printed = (kind) => page.evaluate((own) => (dispatchEvent(new Event(own)), document.querySelector("#printed").innerText), kind);
  assert.equal(await paper(), "rgb(20, 24, 29)");
  await page.selectOption('header select[aria-label="Colours"]', "light");
  assert.equal(await paper(), "rgb(255, 255, 255)");
  await page.selectOption('header select[aria-label="Colours"]', "dark");
  assert.equal(await paper(), "rgb(20, 24, 29)");
  await page.emulateMedia({ media: "print" });
  assert.equal(await paper(), "rgb(255, 255, 255)");
  await page.emulateMedia({ media: null });
  assert.match(await printed("beforeprint"), /Experiment A[\s\S]*rtt = "20ms"[\s\S]*Experiment B[\s\S]*rtt = "80ms"/);
  assert.equal(await printed("afterprint"), "");
  await closed();
});

test("the page begins with an example, which runs", async () => {
  await open();
  await settled();
  assert.equal(await state(), "done");
  assert.equal(await page.locator("#side-A-show .plot > svg").count(), 5);
  assert.match(await page.locator("#results").innerText(), /cubic[\s\S]*bbr/);
  await closed();
});

test("every control changes the text, and the run follows", async () => {
  await begin();
  const cases = [
    ["#rate", "fill", "20mbit", /rate\s*= "20mbit"/],
    ["#rtt", "fill", "30ms", /rtt\s*= "30ms"/],
    ["#discipline", "select", "codel", /qdisc\s*= "codel"/],
    ["#discipline-words", "fill", "fq_codel limit 500", /qdisc\s*= "fq_codel limit 500"/],
    ["#duration", "fill", "3s", /duration\s*= "3s"/],
    ["#flow-0-cc", "select", "bbr", /cc\s*= "bbr"/],
    ["#flow-0-ecn", "select", "rfc3168", /ecn\s*= "rfc3168"/],
    ["#flow-0-start", "fill", "1s", /start\s*= "1s"/],
    ["#flow-0-stop", "fill", "2500ms", /stop\s*= "2500ms"/],
    ["#flow-0-rtt", "fill", "50ms", /rtt\s*= "50ms"/],
    ["#flow-0-count", "fill", "2", /count\s*= 2/],
    ["#flow-0-direction", "select", "up", /direction\s*= "up"/],
    ["#seeds", "fill", "2", /seeds\s*= 2/],
  ];
  for (const details of await page.locator("#controls details > summary").all()) await details.click();
  for (const [field, how, value, expected] of cases) {
    if (how === "select") await page.selectOption(field, value);
    else {
      await page.fill(field, value);
      await page.press(field, "Enter");
    }
    assert.match(await text(), expected, field);
    await settled();
    assert.equal(await state(), "done", `${field}: ${await page.innerText("#mistakes")}`);
  }
  // Two seeds are two runs, of which one is shown.
  assert.equal(await page.locator('select[aria-label="Run of A"] option').count(), 2);
  await closed();
});

test("sliders, the buffer and a discipline's options", async () => {
  await begin();
  for (const slider of ["#rate-slider", "#rtt-slider", "#duration-slider", "#buffer"]) {
    const was = await text();
    await page.focus(slider);
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    assert.notEqual(await text(), was, slider);
  }
  assert.match(await text(), /limit [\d.]+bdp/);
  await page.selectOption("#discipline", "pie");
  await page.click("#controls details > summary");
  await page.fill("#option-target", "5ms");
  await page.press("#option-target", "Enter");
  await page.selectOption("#option-ecn", "on");
  assert.match(await text(), /qdisc = "pie target 5ms ecn"/);
  await settled();
  assert.equal(await state(), "done");
  await closed();
});

test("flows of every kind and events come and go", async () => {
  await begin();
  for (const kind of ["tcp", "udp", "voip", "video", "streaming", "short_flows"]) {
    await page.selectOption("#new-flow", kind);
    await page.click("#add-flow");
    await settled();
    assert.equal(await state(), "done", kind);
  }
  assert.equal(await page.getByText("Remove", { exact: true }).count(), 7);
  for (const event of ["rate", "rtt"]) {
    await page.selectOption("#new-event", event);
    await page.click("#add-event");
  }
  await page.fill("#event-0-at", "1s");
  await page.press("#event-0-at", "Enter");
  assert.match(await text(), /at\s*= "1s"/);
  while (await page.getByText("Remove", { exact: true }).count() > 1) await page.getByText("Remove", { exact: true }).last().click();
  await settled();
  assert.equal((await text()).trim(), SHORT.trim());
  await closed();
});

test("a mistake stands at its place, and the tab goes on", async () => {
  await begin();
  await page.fill("#text", SHORT.replace("pfifo limit", "pfifo limmit"));
  await page.waitForSelector(".mistake");
  const said = await page.innerText("#mistakes");
  assert.match(said, /limit/);
  await page.click(".mistake button");
  const selected = await page.evaluate(() => {
    const { value, selectionStart, selectionEnd } = document.getElementById("text");
    return value.slice(selectionStart, selectionEnd);
  });
  assert.equal(selected, "limmit");
  for (const damaged of ["", "[[[", "\u0000\u0007", "x".repeat(400_000), "[experiment]\nname = 3", SHORT.replace('"10mbit"', '"10tbit"').replace('"2s"', '"100000s"')]) {
    await page.fill("#text", damaged);
    await page.waitForTimeout(200);
    await settled();
    assert.equal(await state(), "wrong", JSON.stringify(damaged.slice(0, 30)));
    assert.ok((await page.locator(".mistake").count()) >= 1);
  }
  await page.fill("#text", SHORT);
  await page.waitForTimeout(200);
  await settled();
  assert.equal(await state(), "done");
  assert.equal(await page.locator(".mistake:not(.warning)").count(), 0);
  await closed();
});

test("what the controls cannot show is disabled, with a word why", async () => {
  await begin(`${SHORT}[axis.queue]\na = { hop.bottleneck.qdisc = "pie" }\nb = { hop.bottleneck.qdisc = "codel" }\n`);
  assert.ok(await page.isDisabled("#discipline"));
  assert.match(await page.innerText("#discipline-why"), /axis/);
  assert.ok(!(await page.isVisible("#buffer")));
  assert.ok(await page.isEnabled("#rate"));
  await page.selectOption('select[aria-label="Run of A"]', "1");
  await settled();
  assert.equal(await state(), "done");
  await closed();
});

test("two sides: the same scale, tables of both, and B goes again", async () => {
  await begin();
  await page.click("#add-b");
  await page.fill("#rate", "5mbit");
  await page.press("#rate", "Enter");
  await settled("B");
  assert.match(await page.innerText("#results"), /A\s+a[\s\S]*B\s+a/);
  // The greatest number at the scale of each plot.
  const tops = (letter) => page.locator(`#side-${letter}-show .plot > svg`).evaluateAll((all) => all.map((own) => Number([...own.querySelectorAll('.tick[text-anchor="end"]')].at(-1).textContent)));
  const [a, b] = [await tops("A"), await tops("B")];
  assert.deepEqual(a, b);
  // A goodput of some 9.6 Mbit/s, an RTT of 20 ms and more: what the larger of both needs.
  assert.ok(a[0] > 9 && a[1] > 20 && a[3] > 10, a.join());
  await page.click("#side-a");
  assert.match(await text(), /10mbit/);
  await page.click("#remove-b");
  assert.ok(!(await page.isVisible("#side-B-show")));
  assert.doesNotMatch(await page.innerText("#results"), /B\s+a/);
  await closed();
});

test("every lesson runs on both sides", async () => {
  await open();
  const lessons = await page.locator("#lesson option").evaluateAll((all) => all.map((o) => o.value).filter(Boolean));
  assert.equal(lessons.length, 7);
  for (const lesson of lessons) {
    await page.selectOption("#lesson", lesson);
    await settled("A");
    await settled("B");
    assert.deepEqual([await state("A"), await state("B")], ["done", "done"], lesson);
    assert.ok(await page.isVisible("#lesson-text"));
  }
  await closed();
});

test("the address carries the page; a hostile one runs nothing", async () => {
  const evil = '<img src=x onerror=alert(1)><script>alert(2)</script>';
  await begin(SHORT.replace('name = "a"', `name = "a"\ncc = "${evil}"`).replace('name = "short"', `name = "short"\nabout = "${evil}"`));
  assert.equal(await state(), "wrong");
  assert.match(await page.innerText("#mistakes"), /onerror/);
  assert.equal(await page.locator("main img, main script").count(), 0);
  await closed();
  await begin(SHORT.replace('name = "short"', `name = "short"\nabout = "${evil}"`));
  assert.equal(await state(), "done");
  assert.match(await page.innerText("#side-A-show"), /onerror/);
  assert.equal(await page.locator("main img, main script").count(), 0);
  await page.waitForTimeout(500);
  const hash = await page.evaluate(() => location.hash);
  await closed();
  await open(hash);
  await settled();
  assert.match(await text(), /onerror/);
  await closed();
  for (const hash of ["#1.AAAA", "#9.AAAA", "#<script>alert(1)</script>", `#1.${"A".repeat(150_000)}`, await pack({ a: { text: 7, run: 0 }, b: null }), await pack({ a: { text: SHORT, run: 1e99 }, b: null })]) {
    await open(hash);
    await settled();
    assert.equal(await state(), "done");
    assert.match(await page.innerText("#notice"), /could not be read/, hash.slice(0, 30));
    await closed();
  }
});

test("a long run shows how far it is, and can be cancelled", async () => {
  await begin();
  await page.fill("#text", SHORT.replace('"2s"', '"250s"').replace("10mbit", "1gbit"));
  await page.getByRole("button", { name: "Cancel the run of A" }).click();
  await page.waitForFunction(() => document.querySelector("#side-A-show").dataset.state === "cancelled");
  await page.fill("#text", SHORT);
  await page.waitForFunction(() => document.querySelector("#side-A-show").dataset.state === "done");
  await closed();
});

test("files: TOML, CSV, SVG, PNG", async () => {
  await begin();
  const saved = async (id) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(id)]);
    return { name: download.suggestedFilename(), content: readFileSync(await download.path()) };
  };
  const toml = await saved("#save-toml");
  assert.deepEqual([toml.name, toml.content.toString()], ["short.toml", SHORT]);
  assert.equal(await page.innerText("#command"), "sojourn run short.toml");
  const flows = await saved("#save-flows");
  assert.equal(flows.name, "short-flows.csv");
  assert.match(flows.content.toString(), /^t_s,flow,goodput_bps/);
  assert.match((await saved("#save-queues")).content.toString(), /bottleneck\.down\.qdisc/);
  assert.match((await saved("#save-svg")).content.toString(), /^<svg [\s\S]*Queue delay[\s\S]*<\/svg>$/);
  assert.equal((await saved("#save-png")).content.subarray(1, 4).toString(), "PNG");
  await closed();
});

test("zoom and cursor are shared, by mouse and by keyboard", async () => {
  await begin();
  const plot = page.locator("#side-A-show .plot > svg").first();
  await plot.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  const times = await page.locator("#side-A-show .key .time").allInnerTexts();
  assert.ok(times.filter((t) => /\d s/.test(t)).length >= 3, times.join());
  assert.match(await page.locator("#side-A-show .key .value").first().innerText(), /^\d/);
  const along = () => page.locator("#side-A-show .plot > svg").evaluateAll((all) => all.map((own) => [...own.querySelectorAll('.tick[text-anchor="middle"]')].map((tick) => parseFloat(tick.textContent))));
  const whole = await along();
  const narrow = async () => (await along()).every((ticks) => ticks[0] > 0 && ticks.at(-1) < whole[0].at(-1));
  await page.keyboard.press("+");
  assert.ok(await narrow());
  await page.keyboard.press("0");
  assert.deepEqual(await along(), whole);
  const box = await plot.boundingBox();
  await page.mouse.move(box.x + 150, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 300, box.y + 60, { steps: 5 });
  await page.mouse.up();
  assert.ok(await narrow());
  await page.click("#zoom-out");
  assert.deepEqual(await along(), whole);
  await closed();
});

test("a line is hidden and shown by its name", async () => {
  await begin();
  const drawn = () => page.locator("#side-A-show .plot").first().locator("svg path[stroke]").count();
  const line = page.locator("#side-A-show .key button").first();
  assert.equal(await drawn(), 1);
  await line.click();
  assert.deepEqual([await drawn(), await line.getAttribute("aria-pressed")], [0, "false"]);
  await line.click();
  assert.equal(await drawn(), 1);
  await closed();
});

for (const [name, options] of [["a desktop", {}], ["a phone", { viewport: { width: 390, height: 844 } }], ["the dark", { colorScheme: "dark" }]]) {
  test(`axe finds nothing wrong on ${name}`, async () => {
    await open(await pack({ a: { text: SHORT, run: 0 }, b: { text: SHORT.replace("pfifo", "pfiffo"), run: 0 }, lesson: "bbr" }), options);
    await settled("A");
    await settled("B");
    await page.click("#side-b");
    for (const details of await page.locator("details > summary").all()) if (await details.isVisible()) await details.click();
    // Axe is put in by the browser's own tools, as no page's script could be.
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120)).join(" | ")}`), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the screen");
    await closed();
  });
}
