// What leaves the page: files.

/** Saves this under that name. */
export function save(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = document.createElement("a");
  Object.assign(link, { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
/** A spreadsheet must not take a name for a formula. */
const inert = (text) => (/^[=+\-@\t]/.test(text) ? `'${text}` : text);

/** A table of results as CSV; no value is an empty field. */
export function csv(table) {
  const columns = Object.entries(table.columns);
  const lines = [columns.map(([name]) => quoted(name)).join(",")];
  for (let row = 0; row < table.rows; row += 1) {
    lines.push(
      columns
        .map(([, { type, values, names }]) => {
          if (type === "text") return quoted(inert(names[values[row]]));
          return Number.isNaN(values[row]) ? "" : String(values[row]);
        })
        .join(","),
    );
  }
  return `${lines.join("\n")}\n`;
}
