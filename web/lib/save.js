// Files: numbers as CSV, pictures as SVG on white paper and as PNG.

import { button, el, fill, say, svgEl } from "./dom.js";

/** Saves a text or a Blob under a name. */
export function save(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function saveButton(words, name, type, text) {
  return button(words, () => {
    save(name, text(), type);
    say(`${words}: saved`);
  });
}

/** A field of CSV. A spreadsheet would take some names for formulas: labels come from files of others. */
function field(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = /^[=+\-@\t\r]/.test(value) && !Number.isFinite(Number(value)) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Rows of texts and numbers as CSV; no value is an empty field. */
export const csvOf = (heads, rows) => `${[heads, ...rows].map((row) => row.map(field).join(",")).join("\n")}\n`;

const PRINTED = `text{font:12px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}text:not(.num){fill:currentColor}.title{font-weight:600}.grid{stroke:#d5d9de}.spine{fill:none;stroke:currentColor}.event{stroke:currentColor;stroke-dasharray:3 3;opacity:.7}`;
const ROW = 18;
const LEFT = 56;

/** A picture as it is printed: without a cursor, with words before its title, with what its colours are, `[name, colour, dash]`, below it. */
function printed({ svg, key = [], before = "" }) {
  const own = svg.cloneNode(true);
  if (before) own.querySelector(".title").prepend(before);
  own.querySelectorAll(".cursor,.chosen").forEach((part) => part.remove());
  for (const name of ["tabindex", "class", "role", "aria-label"]) own.removeAttribute(name);
  const { width, height } = svg.viewBox.baseVal;
  let [x, row] = [LEFT, 0];
  for (const [name, colour, dash] of key) {
    const wide = 48 + 7 * name.length;
    if (x > LEFT && x + wide > width) [x, row] = [LEFT, row + 1];
    own.append(svgEl("g", { transform: `translate(${x} ${height + 8 + ROW * row})` }, svgEl("line", { x1: 0, x2: 22, y1: 0, y2: 0, stroke: colour, "stroke-width": 2.5, "stroke-dasharray": dash }), svgEl("text", { x: 30, y: 4 }, name)));
    x += wide;
  }
  const tall = height + (key.length ? ROW * (row + 1) + 6 : 0);
  return { own: fill(own, { viewBox: `0 0 ${width} ${tall}`, width, height: tall }), width, tall };
}

/** Pictures `{svg, key, before}` below one another as one file, under a title if there is one. */
export function svgText(pictures, title = "") {
  const parts = pictures.map(printed);
  const width = Math.max(...parts.map((part) => part.width));
  let height = title ? 30 : 0;
  for (const { own, tall } of parts) {
    own.setAttribute("y", height);
    height += tall;
  }
  const name = title ? [svgEl("title", {}, title), svgEl("text", { x: 2, y: 18, class: "title" }, title)] : [];
  const whole = svgEl("svg", { viewBox: `0 0 ${width} ${height}`, width, height, color: "#1b1f24" }, svgEl("style", {}, PRINTED), svgEl("rect", { width, height, fill: "#fff" }), ...name, ...parts.map(({ own }) => own));
  return new XMLSerializer().serializeToString(whole);
}

/** The least width of a PNG, pixels: what a phone saves is read elsewhere. */
const LEAST_WIDE = 1500;

/** An SVG as PNG, twice as fine or more. */
export async function png(text) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const fine = Math.max(2, LEAST_WIDE / image.width);
  const canvas = el("canvas", { width: Math.round(fine * image.width), height: Math.round(fine * image.height) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
