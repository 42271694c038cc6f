// What is chosen, which the address carries: the view, its menus, the labels of each axis. And the boxes that choose.

import { button, el, fill, select } from "../lib/dom.js";

/** The code of a run that has no label of an axis. */
export const NO_LABEL = -1;

export const choice = { view: "runs", words: "", filters: new Map(), menus: new Map(), picked: new Set(), listeners: [] };

/** A label of an address; what is none is left as it is. */
function labelOf(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function readAddress(folder) {
  const said = new URLSearchParams(location.hash.slice(1));
  choice.view = said.get("view") ?? "runs";
  choice.words = said.get("words") ?? "";
  choice.filters.clear();
  choice.menus.clear();
  for (const [name, value] of said) {
    if (name.startsWith("only.")) {
      const axis = folder.byName.get(name.slice(5));
      // No word at all: the runs that have no label there.
      const codes = axis ? value.split("|").map((label) => (value === "" ? NO_LABEL : axis.labels.indexOf(labelOf(label)))) : [];
      const known = codes.filter((code) => code >= 0 || value === "");
      if (known.length) choice.filters.set(axis.name, new Set(known));
    } else if (name !== "view" && name !== "words") choice.menus.set(name, value);
  }
}

function writeAddress(folder) {
  const said = new URLSearchParams({ view: choice.view });
  if (choice.words) said.set("words", choice.words);
  for (const [name, codes] of choice.filters) said.set(`only.${name}`, [...codes].map((code) => (code === NO_LABEL ? "" : encodeURIComponent(folder.byName.get(name).labels[code]))).join("|"));
  for (const [name, value] of choice.menus) said.set(name, value);
  history.replaceState(null, "", `#${said}`);
}

/** The runs that are chosen, in order. */
export function chosen(folder) {
  const words = choice.words.toLowerCase().split(/\s+/).filter(Boolean);
  const filters = [...choice.filters].map(([name, codes]) => [folder.byName.get(name).codes, codes]);
  return folder.every.filter((run) => {
    for (const [codes, wanted] of filters) if (!wanted.has(codes[run])) return false;
    if (!words.length) return true;
    const text = folder.axes.map((axis) => folder.label(run, axis.name) ?? "").join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

export function changed(folder) {
  writeAddress(folder);
  for (const listener of choice.listeners) listener();
}

/** Of a menu: what the address says if that is one of its choices, or what is usual. */
export function menuValue(name, known, usual) {
  const said = choice.menus.get(name);
  return said !== undefined && known.includes(said) ? said : usual;
}

export function menuOf(folder, name, label, choices, usual) {
  const value = menuValue(name, choices.map(([own]) => own), usual);
  const set = (own) => {
    choice.menus.set(name, own);
    changed(folder);
  };
  return el("label", {}, label, select(choices, set, value));
}

const MANY_LABELS = 12;

function facet(folder, axis) {
  const boxes = [];
  const counts = [];
  const all = () => {
    choice.filters.delete(axis.name);
    changed(folder);
  };
  const none = button("all", all, { hidden: true, "aria-label": `All of ${axis.name}` });
  const list = el("div", { class: "labels" });
  axis.labels.forEach((label, code) => {
    const change = () => {
      const codes = new Set(boxes.flatMap((own, at) => (own.checked ? [at] : [])));
      if (codes.size) choice.filters.set(axis.name, codes);
      else choice.filters.delete(axis.name);
      changed(folder);
    };
    const box = el("input", { type: "checkbox", checked: choice.filters.get(axis.name)?.has(code) ?? false, change });
    const count = el("span", { class: "soft" });
    boxes.push(box);
    counts.push(count);
    list.append(el("label", {}, box, el("span", {}, label), count));
  });
  const own = el("fieldset", {}, el("legend", {}, axis.name, none));
  if (axis.labels.length > MANY_LABELS) {
    const find = ({ target }) => [...list.children].forEach((row, code) => (row.hidden = !axis.labels[code].toLowerCase().includes(target.value.toLowerCase())));
    own.append(el("input", { type: "search", placeholder: "find", "aria-label": `Labels of ${axis.name} with these letters`, input: find }));
  }
  own.append(list);
  const show = () => {
    const codes = choice.filters.get(axis.name);
    none.hidden = !codes;
    // How many there would be: the other axes' boxes count, this one's do not.
    const rest = new Map(choice.filters);
    choice.filters.delete(axis.name);
    const found = new Array(axis.labels.length).fill(0);
    for (const run of chosen(folder)) if (axis.codes[run] >= 0) found[axis.codes[run]] += 1;
    choice.filters = rest;
    boxes.forEach((box, code) => {
      box.checked = codes?.has(code) ?? false;
      counts[code].textContent = found[code];
      // What would leave no run is no choice.
      box.parentElement.classList.toggle("none", !found[code] && !box.checked);
    });
    own.hidden = !codes && !found.some(Boolean);
  };
  return { own, show };
}

export function facets(folder, place) {
  const input = () => {
    choice.words = words.value;
    changed(folder);
  };
  const words = el("input", { type: "search", placeholder: "words in the labels", "aria-label": "Runs with these words in their labels", value: choice.words, spellcheck: "false", input });
  const every = folder.varied.map((axis) => facet(folder, axis));
  const fixed = folder.axes.filter((axis) => axis.labels.length === 1);
  const same = fixed.length ? el("p", { class: "soft" }, `All runs: ${fixed.map((axis) => `${axis.name} ${axis.labels[0]}`).join(", ")}.`) : null;
  fill(place, {}, words, ...every.map(({ own }) => own), same);
  const show = () => {
    if (words.value !== choice.words) words.value = choice.words;
    for (const own of every) own.show();
  };
  choice.listeners.push(show);
  show();
}

/** A word for a shell. */
export const shellWord = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);

/** The choice as the command line's pattern for `--cell`; nothing where it has no word for it. */
export function patternOf(folder) {
  if (choice.words) return null;
  const terms = [];
  for (const [name, codes] of choice.filters) {
    if (codes.has(NO_LABEL)) return null;
    const labels = [...codes].map((code) => folder.byName.get(name).labels[code]);
    if ([name, ...labels].some((text) => /[,=*?|]/.test(text)) || name.startsWith("axis.")) return null;
    terms.push(`${name}=${labels.join("|")}`);
  }
  return terms.join(",");
}
