// One field: a label, an input (and a slider for rates and times), and the reason where it cannot be used.

import { el, select } from "../lib/dom.js";
import * as quantity from "../lib/quantity.js";

const QUANTITIES = {
  rate: { parse: quantity.rate, words: quantity.rateWords },
  time: { parse: quantity.time, words: quantity.timeWords },
};
/** Steps of a slider, which is logarithmic. */
const STEPS = 300;

/** Why a control of this path cannot show what the text says; empty if it can. */
export function whyNot(doc, axes, { section, list, index, key, inner }) {
  const table = list ? doc[section]?.[index] : doc[section];
  if (!table) return `the text has no ${list ? `[[${section}]]` : `[${section}]`}`;
  const path = list ? `${section}.${table.name}.${key}` : `${section}.${key}`;
  if (axes.has(path)) return "an axis of the text sets it";
  if (section === "hop") {
    if (doc.hop.length > 1) return "the text has several hops";
    const sides = ["down", "up"].filter((side) => table[side] && key in table[side]);
    if (sides.length) return `set for ${sides.join(" and ")} alone in the text`;
  }
  const own = inner ? table[key]?.[inner] : table[key];
  if (Array.isArray(own) || (own && typeof own === "object")) return "the text has more than one value";
  if (typeof own === "string" && own.includes("${")) return "an expression of the text sets it";
  return "";
}

/**
 * A field for `key` of a table of the text (`inner` is a key of the table that it holds). Kinds: `rate`, `time`, `choice`,
 * `number`, `words`.
 */
export function field({ label, kind, section, list, index = 0, key, inner, id, least, most, values, preset, placeholder, edit }) {
  const path = { section, list, index, key, inner };
  const units = QUANTITIES[kind];
  const why = el("span", { class: "why", id: `${id}-why` });
  let table = {};
  const put = (value) => {
    const own = inner ? { ...table[key], [inner]: value } : value;
    if (!edit({ kind: "set", section, list, index, key, value: own })) refuse("written in a way that the text alone can change");
  };
  const attributes = { id, "aria-describedby": `${id}-why` };
  const input =
    kind === "choice"
      ? select(values, (value) => put(value === preset ? undefined : value), preset, attributes)
      : el("input", {
          ...attributes,
          type: kind === "number" ? "number" : "text",
          min: least === undefined || units ? null : String(least),
          max: most === undefined || units ? null : String(most),
          placeholder,
          spellcheck: "false",
          autocomplete: "off",
          change: () => put(input.value.trim() === "" ? undefined : kind === "number" ? Number(input.value) : input.value.trim()),
        });
  const slider = units
    ? el("input", {
        type: "range",
        min: "0",
        max: String(STEPS),
        id: `${id}-slider`,
        "aria-label": `${label}, slider`,
        input: () => {
          const value = least * (most / least) ** (Number(slider.value) / STEPS);
          input.value = units.words(value);
          slider.setAttribute("aria-valuetext", input.value);
          put(input.value);
        },
      })
    : null;
  const refuse = (reason) => {
    why.textContent = reason;
    input.disabled = Boolean(reason);
    if (slider) slider.disabled = Boolean(reason);
  };
  const element = el("div", { class: `field${slider ? " with-slider" : ""}` }, el("label", { for: id }, label), slider, input, why);
  return {
    element,
    disable: refuse,
    sync(doc, axes) {
      table = (list ? doc[section]?.[index] : doc[section]) ?? {};
      const own = inner ? table[key]?.[inner] : table[key];
      refuse(whyNot(doc, axes, path));
      const said = own === undefined || typeof own === "object" ? (preset ?? "") : String(own);
      if (kind === "choice" && said && ![...input.options].some((o) => o.value === said)) input.append(el("option", { value: said }, said));
      if (input.value !== said) input.value = said;
      if (!slider) return;
      const value = units.parse(said);
      slider.setAttribute("aria-valuetext", said);
      if (!(value > 0)) return;
      const step = String(Math.round((STEPS * Math.log(value / least)) / Math.log(most / least)));
      if (slider !== document.activeElement && slider.value !== step) slider.value = step;
    },
  };
}
