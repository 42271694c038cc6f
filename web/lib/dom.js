// Elements. Every text is put in as text: names of flows, labels and commands come from files of others.

const SVG = "http://www.w3.org/2000/svg";

/** Sets attributes (a function listens to the event of its name) and appends children, which are nodes or texts. */
export function fill(own, attributes, ...children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") own.addEventListener(name, value);
    else own.setAttribute(name, value === true ? "" : String(value));
  }
  own.append(...children.filter((child) => child !== null && child !== undefined));
  return own;
}

export const el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, ...children);
export const svgEl = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, ...children);
export const byId = (id) => document.getElementById(id);

/** A button with these words, or nodes. */
export const button = (words, click, attributes = {}) => el("button", { type: "button", click, ...attributes }, ...[words].flat());

/** A menu of choices, `[value, words, title]`, of which one is chosen at first; `picked` is called with another that somebody picks. */
export function select(choices, picked, chosen, attributes = {}) {
  const options = choices.map(([value, words = value, title]) => el("option", { value, title, selected: value === chosen }, words));
  return el("select", { ...attributes, change: picked && (({ target }) => picked(target.value)) }, ...options);
}

/** A menu with its name in front. */
export const menu = (label, choices, picked) => el("label", {}, el("span", {}, `${label} `), select(choices, picked, undefined, { "aria-label": label }));

/** The menu of the page's colours. */
export const colours = () =>
  menu("Colours", [["", "as the system"], ["light", "light"], ["dark", "dark"]], (value) => {
    if (value) document.documentElement.dataset.theme = value;
    else delete document.documentElement.dataset.theme;
  });

let place = null;
/** Says something to those who do not see it. */
export function say(text) {
  if (!place) document.body.append((place = el("p", { class: "unseen", role: "status", "aria-live": "polite" })));
  place.textContent = text;
}

/** Lets the keyboard scroll the parts of a page that are wider than their place; one with a caption is a region of that name. */
export function reachable(parts) {
  for (const own of parts) {
    const name = own.matches("figure") ? "" : own.querySelector("caption")?.textContent;
    if (own.scrollWidth > own.clientWidth) fill(own, { tabindex: 0, role: name ? "region" : null, "aria-label": name || null });
  }
}
