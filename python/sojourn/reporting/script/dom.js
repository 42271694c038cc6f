// Elements. Every text is put in as text: names of flows, labels and commands come from files of others.

const SVG = "http://www.w3.org/2000/svg";

/** What is set on an element and what stands in it. */
function fill(own, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") own.addEventListener(name, value);
    else own.setAttribute(name, value === true ? "" : String(value));
  }
  own.append(...children.filter((child) => child !== null && child !== undefined));
  return own;
}

const el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
const svgEl = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

/** Three significant digits, as people write numbers. */
function digits(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  const text = Math.abs(value) >= 1000 ? value.toFixed(0) : value.toPrecision(3);
  return String(Number(text));
}

/** A menu with these choices, `[value, words]`. */
function menu(label, choices, chosen) {
  const select = el("select", { "aria-label": label }, ...choices.map(([value, words]) => el("option", { value }, words)));
  select.addEventListener("change", () => chosen(select.value));
  return el("label", {}, el("span", {}, `${label} `), select);
}

/** Says something to those who do not see it. */
const say = (() => {
  let place = null;
  return (text) => {
    if (!place) document.body.append((place = el("p", { class: "unseen", role: "status", "aria-live": "polite" })));
    place.textContent = text;
  };
})();
