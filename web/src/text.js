// The experiment's text, edited where it stands: comments, order and whatever else is in it stay. The text is the truth; this
// changes single lines of it and proves afterwards, by reading it, that what was meant has come of it and nothing else.

import { parse, stringify } from "smol-toml";

/** What the text says, or null if it is no TOML. */
export function read(text) {
  try {
    return parse(text);
  } catch {
    return null;
  }
}

const HEADER = /^\s*(\[\[?)\s*([A-Za-z0-9_.-]+)\s*\]\]?\s*(#.*)?$/;

/** The blocks of a text: header, place among those of its name, first line and the line behind its last. */
function blocks(lines) {
  const found = [];
  const seen = new Map();
  lines.forEach((line, at) => {
    const header = HEADER.exec(line);
    if (!header) return;
    if (found.length) found.at(-1).end = at;
    const name = header[2];
    const index = seen.get(name) ?? 0;
    seen.set(name, index + 1);
    found.push({ name, index, start: at, end: lines.length });
  });
  return found;
}

/** The last line of a block that says something, and that is no comment of the next block. */
function lastLine(lines, block) {
  let last = block.end - 1;
  while (last > block.start && /^\s*(#.*)?$/.test(lines[last])) last -= 1;
  return last;
}

const value = (v) => stringify({ v }).slice(4).trimEnd();

function inline(v) {
  if (v && typeof v === "object" && !Array.isArray(v)) {
    const parts = Object.entries(v).map(([key, own]) => `${key} = ${inline(own)}`);
    return parts.length ? `{ ${parts.join(", ")} }` : "{}";
  }
  return value(v);
}

/** Puts `key = value` into the block; undefined takes the key out. */
function setLine(lines, block, key, v) {
  const own = new RegExp(`^(\\s*${key}\\s*=\\s*)(?:"[^"\\\\]*"|[^"'#\\[{\\s]+|\\{[^{}#]*\\})(\\s*(?:#.*)?)$`);
  for (let at = block.start + 1; at < block.end; at += 1) {
    const line = own.exec(lines[at]);
    if (!line) continue;
    if (v === undefined) lines.splice(at, 1);
    else lines[at] = `${line[1]}${inline(v)}${line[2]}`;
    return;
  }
  if (v === undefined) return;
  // Aligned as its neighbours are.
  const last = lastLine(lines, block);
  const neighbour = /^(\s*)([A-Za-z0-9_-]+)(\s*)=/.exec(lines[last]);
  const width = neighbour ? neighbour[2].length + neighbour[3].length : 0;
  lines.splice(last + 1, 0, `${neighbour?.[1] ?? ""}${key.padEnd(Math.max(width - 1, 0))} = ${inline(v)}`);
}

function applied(doc, edit) {
  const next = structuredClone(doc);
  const list = edit.list ? (next[edit.section] ??= []) : null;
  if (edit.kind === "set") {
    const table = list ? list[edit.index] : (next[edit.section] ??= {});
    if (edit.value === undefined) delete table[edit.key];
    else table[edit.key] = structuredClone(edit.value);
  } else if (edit.kind === "add") {
    list.push(structuredClone(edit.table));
  } else {
    list.splice(edit.index, 1);
    if (!list.length) delete next[edit.section];
  }
  return next;
}

function same(a, b) {
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return Object.is(a, b);
  const [x, y] = [Object.keys(a), Object.keys(b)];
  return x.length === y.length && x.every((key) => key in b && same(a[key], b[key]));
}

/**
 * The text with one thing changed; null if it is written in a way that single lines cannot change.
 * - `{kind: "set", section, list, index, key, value}`: a key of a table.
 * - `{kind: "add", section, list: true, table}`: one more at the end of a list.
 * - `{kind: "remove", section, list: true, index}`.
 */
export function edited(text, edit) {
  const doc = read(text);
  if (!doc) return null;
  const lines = text.replace(/\n+$/, "").split("\n");
  const all = blocks(lines);
  const block = all.find((b) => b.name === edit.section && b.index === (edit.index ?? 0));
  if (edit.kind === "add") {
    const own = Object.entries(edit.table);
    const width = Math.max(...own.map(([key]) => key.length));
    const added = ["", `[[${edit.section}]]`, ...own.map(([key, v]) => `${key.padEnd(width)} = ${inline(v)}`)];
    const before = all.filter((b) => b.name === edit.section || b.name.startsWith(`${edit.section}.`)).at(-1);
    const at = before ? lastLine(lines, before) + 1 : lines.length;
    lines.splice(at, 0, ...added);
  } else if (!block) {
    return null;
  } else if (edit.kind === "set") {
    setLine(lines, block, edit.key, edit.value);
  } else {
    const last = lastLine(lines, block);
    const blank = block.start > 0 && lines[block.start - 1] === "" ? 1 : 0;
    lines.splice(block.start - blank, last + 1 - block.start + blank);
  }
  const after = `${lines.join("\n")}\n`;
  const read_ = read(after);
  return read_ && same(read_, applied(doc, edit)) ? after : null;
}

/** The paths that axes set, such as `hop.bottleneck.qdisc`. */
export function byAxes(doc) {
  const paths = new Set();
  const walk = (table, path) => {
    for (const [key, v] of Object.entries(table)) {
      const own = path ? `${path}.${key}` : key;
      paths.add(own);
      if (v && typeof v === "object" && !Array.isArray(v)) walk(v, own);
    }
  };
  const axes = doc?.axis;
  if (!axes || typeof axes !== "object") return paths;
  for (const axis of Object.values(axes)) {
    if (!axis || typeof axis !== "object") continue;
    for (const [label, bundle] of Object.entries(axis)) {
      // A sweep is a setting itself: [axis.rate] hop.bottleneck.rate = "1mbit..1gbit log 10".
      if (["hop", "flow", "event", "experiment", "let"].includes(label)) walk({ [label]: bundle }, "");
      else if (bundle && typeof bundle === "object") walk(bundle, "");
    }
  }
  return paths;
}
