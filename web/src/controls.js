// The controls: each shows one thing of the text and changes it there. What the text says in a way that a control cannot show
// leaves it disabled, with a word why. Choices come from the tables of the build.

import { button, el, select } from "../lib/dom.js";
import { disciplineControl } from "./discipline.js";
import { field } from "./field.js";
import { byAxes, read } from "./text.js";

const KINDS = {
  tcp: { word: "TCP", table: {} },
  udp: { word: "UDP", table: { udp: { rate: "2mbit" } } },
  voip: { word: "Voice call", table: { voip: {} } },
  video: { word: "Video call", table: { video: { profile: "call-down" } } },
  streaming: { word: "Video stream", table: { streaming: {} } },
  short_flows: { word: "Web pages", table: { short_flows: {} } },
};
const ECN = ["default", "off", "rfc3168", "accecn", "sce"];

// A table `tcp` is an implementation, which is none of these kinds.
const kindOf = (flow) => ("tcp" in flow ? "tcp_stack" : Object.keys(KINDS).find((kind) => kind in flow)) ?? (["quic", "program", "app", "ping", "irtt", "on_off"].find((k) => k in flow) ?? "tcp");

/** A change of one of these rebuilds the form; every other change goes into the existing fields. */
const shape = (doc) =>
  JSON.stringify([doc.hop?.length, doc.hop?.[0]?.name, (doc.flow ?? []).map((f) => kindOf(f)), (doc.event ?? []).map((e) => Object.keys(e))]);

const unused = (names, stem) => {
  let n = 1;
  while (names.has(n === 1 ? stem : `${stem}-${n}`)) n += 1;
  return n === 1 ? stem : `${stem}-${n}`;
};

export class Controls {
  /**
   * @param {HTMLElement} place
   * @param {object} choices the tables of the build
   * @param {{text: () => string, edit: (edit: object) => boolean}} page
   */
  constructor(place, choices, page) {
    Object.assign(this, { place, choices, page, fields: [], shape: "" });
  }

  /** Shows what the text says now. */
  sync() {
    const doc = read(this.page.text());
    this.place.toggleAttribute("data-disabled", !doc);
    if (!doc) {
      for (const own of this.fields) own.disable("the text has a mistake: mend it first");
      return;
    }
    const axes = byAxes(doc);
    const now = shape(doc);
    if (now !== this.shape) {
      this.shape = now;
      this.build(doc);
    }
    for (const own of this.fields) own.sync(doc, axes);
  }

  /** A field that shows `key` of a table of the text. */
  field(options) {
    const own = field({ ...options, edit: this.page.edit });
    this.fields.push(own);
    return own.element;
  }

  build(doc) {
    this.fields = [];
    this.place.replaceChildren(this.path(), this.flows(doc), this.events(doc), this.length());
  }

  path() {
    const hop = { section: "hop", list: true, index: 0 };
    const discipline = disciplineControl({ choices: this.choices, edit: this.page.edit });
    this.fields.push(discipline);
    return el(
      "fieldset",
      {},
      el("legend", {}, "Bottleneck"),
      this.field({ ...hop, key: "rate", label: "Rate", kind: "rate", least: 1e5, most: 1e9, id: "rate" }),
      this.field({ ...hop, key: "rtt", label: "Base RTT", kind: "time", least: 1e-3, most: 1, id: "rtt" }),
      discipline.element,
    );
  }

  /** The button that takes one of a section's tables away. */
  remove(section, index, name) {
    return button("Remove", () => this.page.edit({ kind: "remove", section, list: true, index }), { class: "quiet", "aria-label": `Remove the ${section} ${name}` });
  }

  flows(doc) {
    const cards = (doc.flow ?? []).map((flow, index) => this.flow(flow, index));
    const kind = select(Object.entries(KINDS).map(([key, { word }]) => [key, word]), null, "tcp", { "aria-label": "Kind of the new flow", id: "new-flow" });
    const add = () => {
      const own = KINDS[kind.value];
      const names = new Set((read(this.page.text())?.flow ?? []).map((f) => f.name));
      const tcp = kind.value === "tcp" ? { cc: "cubic" } : {};
      this.page.edit({ kind: "add", section: "flow", list: true, table: { name: unused(names, kind.value.replace("_", "-")), ...tcp, ...own.table } });
    };
    return el("fieldset", {}, el("legend", {}, "Flows"), ...cards, el("div", { class: "row" }, kind, button("Add a flow", add, { id: "add-flow" })));
  }

  flow(flow, index) {
    const at = { section: "flow", list: true, index };
    const kind = kindOf(flow);
    const name = String(flow.name ?? index + 1);
    const id = (key) => `flow-${index}-${key}`;
    const fields = [];
    if (kind === "tcp") {
      const controls = this.choices.controls.map((c) => [c.name, c.name, c.summary]);
      fields.push(this.field({ ...at, key: "cc", label: "Control", kind: "choice", values: controls, preset: "cubic", id: id("cc") }));
      fields.push(this.field({ ...at, key: "ecn", label: "ECN", kind: "choice", values: ECN.map((value) => [value]), preset: "default", id: id("ecn") }));
    }
    if (kind === "udp") fields.push(this.field({ ...at, key: "udp", inner: "rate", label: "Rate", kind: "rate", least: 1e4, most: 1e9, id: id("rate") }));
    fields.push(this.field({ ...at, key: "start", label: "Start", kind: "words", placeholder: "0s", id: id("start") }));
    fields.push(this.field({ ...at, key: "stop", label: "Stop", kind: "words", placeholder: "the end", id: id("stop") }));
    fields.push(this.field({ ...at, key: "rtt", label: "Own RTT", kind: "words", placeholder: "the path's", id: id("rtt") }));
    fields.push(this.field({ ...at, key: "count", label: "How many", kind: "number", placeholder: "1", least: 1, id: id("count") }));
    fields.push(this.field({ ...at, key: "direction", label: "Direction", kind: "choice", values: [["down"], ["up"]], preset: "down", id: id("direction") }));
    const [first, second, ...rest] = fields;
    return el(
      "div",
      { class: "card" },
      el("div", { class: "card-head" }, el("strong", {}, name), el("span", { class: "kind" }, KINDS[kind]?.word ?? kind), this.remove("flow", index, name)),
      first,
      second,
      el("details", {}, el("summary", {}, `More of ${name}`), ...rest),
    );
  }

  events(doc) {
    const cards = (doc.event ?? []).map((event, index) => {
      const at = { section: "event", list: true, index };
      const id = (key) => `event-${index}-${key}`;
      const fields = [this.field({ ...at, key: "at", label: "When", kind: "words", id: id("at") })];
      if ("rate" in event) fields.push(this.field({ ...at, key: "rate", label: "Rate", kind: "rate", least: 1e5, most: 1e9, id: id("rate") }));
      if ("rtt" in event) fields.push(this.field({ ...at, key: "rtt", label: "RTT", kind: "time", least: 1e-3, most: 1, id: id("rtt") }));
      const others = Object.keys(event).filter((key) => !["name", "at", "hop", "rate", "rtt"].includes(key));
      if (others.length) fields.push(el("p", { class: "why" }, `${others.join(", ")}: in the text`));
      const name = String(event.name ?? index + 1);
      return el("div", { class: "card" }, el("div", { class: "card-head" }, el("strong", {}, name), this.remove("event", index, name)), ...fields);
    });
    const what = select([["rate", "Change of the rate"], ["rtt", "Change of the RTT"]], null, "rate", { "aria-label": "What the new event changes", id: "new-event" });
    const add = () => {
      const now = read(this.page.text()) ?? {};
      const names = new Set((now.event ?? []).map((e) => e.name));
      const setting = what.value === "rate" ? { rate: "10mbit" } : { rtt: "80ms" };
      this.page.edit({ kind: "add", section: "event", list: true, table: { name: unused(names, `${what.value}-step`), at: "15s", hop: now.hop?.[0]?.name ?? "bottleneck", ...setting } });
    };
    return el("fieldset", {}, el("legend", {}, "Events"), ...cards, el("div", { class: "row" }, what, button("Add an event", add, { id: "add-event" })));
  }

  length() {
    const at = { section: "experiment", list: false };
    return el(
      "fieldset",
      {},
      el("legend", {}, "Run"),
      this.field({ ...at, key: "duration", label: "Duration", kind: "time", least: 1, most: 300, id: "duration" }),
      this.field({ ...at, key: "seeds", label: "Seeds", kind: "number", placeholder: "1", least: 1, most: 20, id: "seeds" }),
    );
  }
}
