// What the plots show: from a run's tables to panels of lines over one time axis, and in words.

import { digits } from "../lib/quantity.js";
import { lookOf } from "../lib/series.js";

/** More lines than these are not drawn: the first are. */
const MOST_LINES = 12;

/** The series of one column, by subject, over the times that any of them has; the warmup, before 0, is left out. */
function series(table, subject, column, scale = 1) {
  if (!table) return { t: [], lines: [] };
  const [time, who, own] = [table.columns.t_s.values, table.columns[subject], table.columns[column].values];
  const t = [...new Set(time)].filter((at) => at >= 0).sort((a, b) => a - b);
  const place = new Map(t.map((at, i) => [at, i]));
  const lines = new Map();
  for (let row = 0; row < table.rows; row += 1) {
    if (!place.has(time[row])) continue;
    const name = who.names[who.values[row]];
    if (!lines.has(name)) lines.set(name, new Array(t.length).fill(null));
    const v = own[row] * scale;
    lines.get(name)[place.get(time[row])] = Number.isNaN(v) ? null : v;
  }
  return { t, lines: [...lines].map(([name, values]) => ({ name, values })) };
}

/** Counts in a step, per second, from counts since the beginning. */
function perSecond({ t, lines }, suffix) {
  const steps = lines.map(({ name, values }) => ({
    name: name + suffix,
    values: values.map((v, i) => (i === 0 || v === null || values[i - 1] === null ? null : (v - values[i - 1]) / (t[i] - t[i - 1]))),
  }));
  return { t, lines: steps };
}

const says = ({ values }) => values.some((v) => v !== null);
/** What waits less than this never waits, in a picture, ms. */
const WAITS = 0.05;
const waits = ({ values }) => values.some((v) => v > WAITS);
const counts = ({ values }) => values.some((v) => v > 0);
const short = (name) => name.replace(/\.qdisc\b/, "");

/** The panels of a run: title, unit, times and lines, each of which has a name, times, values, a colour and dashes. */
export function panels(result) {
  const { flows, queues } = result.tables;
  const of = (lines, keep) => ({ ...lines, lines: lines.lines.filter(keep) });
  const all = [
    { title: "Goodput", unit: "Mbit/s", ...of(series(flows, "flow", "goodput_bps", 1e-6), says) },
    { title: "RTT", unit: "ms", ...of(series(flows, "flow", "rtt_s", 1e3), says) },
    { title: "Queue delay", unit: "ms", ...of(series(queues, "queue", "sojourn_mean_s", 1e3), waits), queues: true },
    { title: "Congestion window", unit: "packets", ...of(series(flows, "flow", "cwnd"), counts) },
  ];
  const marks = of(perSecond(series(queues, "queue", "marks"), " marks"), counts);
  const drops = of(perSecond(series(queues, "queue", "drops"), " drops"), counts);
  all.push({ title: "Marks and drops", unit: "packets/s", t: marks.t, lines: [...marks.lines, ...drops.lines], queues: true });
  const order = flows ? flows.columns.flow.names : [];
  for (const panel of all) {
    panel.lines = panel.lines.slice(0, MOST_LINES).map((line, index) => {
      const place = panel.queues ? index : Math.max(order.indexOf(line.name), 0);
      return { name: short(line.name), t: panel.t, y: line.values, ...lookOf(place) };
    });
  }
  // One axis of time for all of them.
  const end = all.reduce((end, panel) => Math.max(end, panel.t.at(-1) ?? 0), 0);
  const most = (lines) => lines.reduce((m, { y }) => y.reduce((a, v) => (v > a ? v : a), m), 0);
  return all.map((panel) => ({ ...panel, end, most: most(panel.lines) }));
}

/** A panel in words, for who does not see it. */
export function inWords(panel) {
  if (!panel.lines.length) return `${panel.title}: nothing to show.`;
  const told = panel.lines.map(({ name, y }) => {
    const own = y.filter((v) => v !== null);
    const mean = own.reduce((a, b) => a + b, 0) / own.length;
    const [least, most] = own.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
    return `${name}: ${digits(least)} to ${digits(most)}, mean ${digits(mean)}`;
  });
  return `${panel.title} in ${panel.unit} over ${Math.round(panel.end)} seconds. ${told.join("; ")}.`;
}
