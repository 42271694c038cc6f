// The text is edited where it stands, and words of tc both ways.

import assert from "node:assert/strict";
import { test } from "node:test";
import { byAxes, edited, read } from "../src/text.js";
import { readWords, writeWords } from "../src/words.js";
import { pack, unpack } from "../lib/address.js";
import { csv } from "../src/results.js";
import { rate, rateWords, show, time, timeWords } from "../lib/quantity.js";

const TEXT = `# What it is about.
[experiment]
name     = "x" # why
duration = "60s"

[[hop]]
name = "bottleneck"
rate = "50mbit" # of frames
rtt  = "20ms"

[[flow]]
name = "a"

# The second.
[[flow]]
name = "b"
udp  = { rate = "1mbit", ecn = "ect0" }
`;

test("a value is changed in its line, and what is beside it stays", () => {
  const after = edited(TEXT, { kind: "set", section: "hop", list: true, index: 0, key: "rate", value: "10mbit" });
  assert.equal(after, TEXT.replace("50mbit", "10mbit"));
});

test("a key that is not there comes to the end of its table, aligned", () => {
  const after = edited(TEXT, { kind: "set", section: "flow", list: true, index: 0, key: "cc", value: "bbr" });
  assert.equal(after, TEXT.replace('name = "a"\n', 'name = "a"\ncc   = "bbr"\n'));
  assert.equal(edited(after, { kind: "set", section: "flow", list: true, index: 0, key: "cc", value: undefined }), TEXT);
});

test("a table in a line is written as a whole", () => {
  const after = edited(TEXT, { kind: "set", section: "flow", list: true, index: 1, key: "udp", value: { rate: "2mbit", ecn: "ect0" } });
  assert.equal(after, TEXT.replace('"1mbit"', '"2mbit"'));
});

test("flows and events come and go, and comments of others stay", () => {
  const added = edited(TEXT, { kind: "add", section: "event", list: true, table: { name: "e", at: "3s", hop: "bottleneck", rate: "1mbit" } });
  assert.deepEqual({ ...read(added).event[0] }, { name: "e", at: "3s", hop: "bottleneck", rate: "1mbit" });
  assert.equal(edited(added, { kind: "remove", section: "event", list: true, index: 0 }), TEXT);
  const fewer = edited(TEXT, { kind: "remove", section: "flow", list: true, index: 0 });
  assert.equal(read(fewer).flow.length, 1);
  assert.match(fewer, /# The second\./);
});

test("what single lines cannot change is refused, not spoilt", () => {
  const dotted = 'hop = [{ name = "a", rate = "1mbit" }]\n';
  assert.equal(edited(dotted, { kind: "set", section: "hop", list: true, index: 0, key: "rate", value: "2mbit" }), null);
  const long = '[[hop]]\nrate = """\n1mbit"""\n';
  assert.equal(edited(long, { kind: "set", section: "hop", list: true, index: 0, key: "rate", value: "2mbit" }), null);
  assert.equal(edited("[[hop]\n", { kind: "set", section: "hop", list: true, index: 0, key: "rate", value: "2mbit" }), null);
});

test("a text with quotes in it stays a text", () => {
  const after = edited(TEXT, { kind: "set", section: "hop", list: true, index: 0, key: "qdisc", value: 'pie "\n[[flow]]\nname="evil"' });
  assert.equal(read(after).hop[0].qdisc, 'pie "\n[[flow]]\nname="evil"');
  assert.equal(read(after).flow.length, 2);
});

test("axes say which paths they set", () => {
  const doc = read('[axis.queue]\na = { hop.bottleneck.qdisc = "pie" }\n[axis.rate]\nhop.bottleneck.rate = "1mbit..1gbit log 10"\n');
  const paths = byAxes(doc);
  assert.ok(paths.has("hop.bottleneck.qdisc") && paths.has("hop.bottleneck.rate"));
  assert.ok(!paths.has("hop.bottleneck.rtt"));
});

const PIE = {
  name: "pie",
  classful: false,
  options: [
    { name: "limit", aliases: [], off: null, values: [{ name: "n" }] },
    { name: "ecn", aliases: [], off: "noecn", values: [] },
    { name: "memory", aliases: ["mem"], off: null, values: [{ name: "n" }, { name: "m", optional: true }] },
  ],
};

test("tc's words there and back", () => {
  for (const words of ["pie", "pie limit 100 ecn", "pie noecn", "pie mem 3 4 ecn", "pie memory 3 ecn"]) {
    const own = readWords(words, [PIE]);
    assert.equal(own.why, "");
    assert.equal(writeWords(own.name, own.options), words);
  }
  assert.match(readWords("pie bogus 3", [PIE]).why, /bogus/);
  assert.match(readWords("nothing", [PIE]).why, /nothing/);
});

test("rates and times as tc has them", () => {
  assert.equal(rate("50mbit"), 5e7);
  assert.equal(time("250us"), 0.00025);
  assert.ok(Number.isNaN(rate("50mbps")) && Number.isNaN(time("20")));
  assert.equal(rateWords(12_340_000), "12.3mbit");
  assert.equal(timeWords(0.0251), "25.1ms");
  assert.equal(show(null, "s"), "–");
  assert.equal(show(9.9e-10, "s"), "0 ms");
  assert.equal(show(0.0234, "s"), "23.4 ms");
});

test("an address there and back; a damaged one is refused with a word", async () => {
  const state = { a: { text: TEXT, run: 2 }, b: null, lesson: "bbr" };
  const hash = await pack(state);
  assert.deepEqual(await unpack(hash), state);
  assert.equal(await unpack(""), null);
  for (const own of ["#2.abc", "#1.", "#1.%%%", "#1.abc", hash.slice(0, -9), `#1.${"A".repeat(200_000)}`, await pack({ a: 1 }), await pack({ a: { text: 1, run: 0 }, b: null })]) {
    await assert.rejects(unpack(own), /./, own.slice(0, 40));
  }
});

test("an address that unfolds without end is cut off", async () => {
  const bomb = new Blob(["x".repeat(3_000_000)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const packed = Buffer.from(await new Response(bomb).arrayBuffer()).toString("base64url");
  await assert.rejects(unpack(`#1.${packed}`), /unfolds/);
});

test("CSV: no value is an empty field, and a name is no formula", () => {
  const columns = { t_s: { type: "number", values: [0.5, NaN] }, flow: { type: "text", values: [0, 1], names: ["=1+1", 'a,"b'] } };
  assert.equal(csv({ rows: 2, columns }), "t_s,flow\n0.5,'=1+1\n,\"a,\"\"b\"\n");
});
