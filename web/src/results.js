// The table of results, the summary that `sojourn run` prints, for one side or both; and a run's tables as CSV.

import { el } from "../lib/dom.js";
import { show } from "../lib/quantity.js";
import { csvOf } from "../lib/save.js";
import { tableOf } from "../lib/table.js";

const FLOWS = [
  ["goodput_bps", "Goodput", "bit/s"],
  ["share", "Share", "%"],
  ["rtt_mean_s", "RTT, mean", "s"],
  ["rtt_p99_s", "RTT, p99", "s"],
  ["retransmits", "Retransmits", ""],
  ["ce_fraction", "CE marks", "%"],
];
const QUEUES = [
  ["delay_mean_s", "Delay, mean", "s"],
  ["delay_p99_s", "Delay, p99", "s"],
  ["marks", "Marks", ""],
  ["drops", "Drops", ""],
  ["utilisation", "Utilisation", "%"],
];

function table(caption, name, columns, rows) {
  const body = rows.map(({ who, own }) => [el("th", { scope: "row" }, who), ...columns.map(([key, , unit]) => show(own[key], unit))]);
  const inner = tableOf(caption, [name, ...columns.map(([, title]) => title)], body);
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption }, inner);
}

/** The tables of these sides: `[{letter, result}]`; letters stand before names where there are two. */
export function results(sides) {
  const name = (letter, own) => (sides.length > 1 ? `${letter}  ${own}` : own);
  const rows = (list, key) =>
    sides.flatMap(({ letter, result }) => result.summary[list].map((own) => ({ who: name(letter, own[key]), own })));
  const parts = [
    table("Flows, in the default window", "Flow", FLOWS, rows("flows", "flow")),
    table("Queues, in the default window", "Queue", QUEUES, rows("queues", "queue")),
  ];
  const checks = sides.flatMap(({ letter, result }) => result.checks.map((own) => ({ letter, ...own })));
  if (checks.length) {
    const state = { true: "holds", false: "fails", null: "no value" };
    const items = checks.map((own) => el("li", { class: `check-${own.passed}` }, `${name(own.letter, own.name)}: ${own.says}`, " ", el("strong", {}, state[own.passed])));
    parts.push(el("h3", {}, "Checks"), el("ul", { class: "checks" }, ...items));
  }
  for (const { letter, result } of sides) {
    if (!result.swing) continue;
    const { flows, period } = result.swing;
    parts.push(el("p", { class: "note" }, `${name(letter, "")}The rates of ${flows.join(" and ")} swing with a period of about ${period.toFixed(1)} s: the default window holds few of them. A longer run says more.`));
  }
  return parts;
}

/** A table of a run as CSV. */
export function csv(table) {
  const columns = Object.values(table.columns);
  const cell = (row) => ({ type, values, names }) => (type === "text" ? names[values[row]] : values[row]);
  return csvOf(Object.keys(table.columns), Array.from({ length: table.rows }, (_, row) => columns.map(cell(row))));
}
