// What is shown, as files: numbers as CSV, pictures as SVG on white paper.

function keep(name, kind, text) {
  const address = URL.createObjectURL(new Blob([text], { type: kind }));
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A field of CSV. What a spreadsheet would take for a formula is a text: labels come from files of others. */
function field(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = /^[=+\-@\t\r]/.test(value) && !Number.isFinite(Number(value)) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const csvOf = (heads, rows) => `${[heads, ...rows].map((row) => row.map(field).join(",")).join("\r\n")}\r\n`;

const PRINTED = `text{font:12px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}text:not(.num){fill:currentColor}.title{font-weight:600}.grid{stroke:#d5d9de}.spine{fill:none;stroke:currentColor}.event{stroke:currentColor;stroke-dasharray:3 3;opacity:.7}`;

/** A picture as a file of its own; `key` is what its colours are, `[name, colour, dash]`. */
function svgText(picture, key = []) {
  const own = picture.cloneNode(true);
  own.querySelectorAll(".cursor,.chosen").forEach((part) => part.remove());
  const { width, height } = picture.viewBox.baseVal;
  const rows = key.map(([name, colour, dash], at) => svgEl("g", { transform: `translate(56 ${height + 8 + 18 * at})` }, svgEl("line", { x1: 0, x2: 22, y1: 0, y2: 0, stroke: colour, "stroke-width": 2.5, "stroke-dasharray": dash }), svgEl("text", { x: 30, y: 4 }, name)));
  const tall = height + 18 * key.length + (key.length ? 6 : 0);
  for (const name of ["tabindex", "class"]) own.removeAttribute(name);
  fill(own, { xmlns: SVG, viewBox: `0 0 ${width} ${tall}`, width, height: tall, color: "#1b1f24" }, rows);
  own.prepend(svgEl("style", {}, PRINTED), svgEl("rect", { width, height: tall, fill: "#fff" }));
  return new XMLSerializer().serializeToString(own);
}

function saveButton(words, name, kind, text) {
  const button = el("button", { type: "button" }, words);
  button.addEventListener("click", () => {
    keep(typeof name === "function" ? name() : name, kind, text());
    say(`${words}: saved`);
  });
  return button;
}

/** A word for a shell. */
const shellWord = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);

/** The choice as the command line's pattern for `--cell`; nothing where it has no word for it. */
function patternOf(folder) {
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
