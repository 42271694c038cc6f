// Tables. In pages that are written a click on a head sorts, and a field above filters: rows keep what they are, their order changes.

import { button, el } from "./dom.js";

const FEWEST_TO_FILTER = 6;
const FEWEST_TO_SORT = 2;

/** What a cell is sorted by: its first number, or its text. */
function keyOf(cell) {
  const text = (cell?.firstChild?.textContent ?? "").trim() || (cell?.textContent ?? "").trim();
  const number = /^[-−]?[\d.,]+(?:e[-+]?\d+)?/i.exec(text);
  return { text, number: number ? Number(number[0].replace("−", "-").replace(/,/g, "")) : NaN };
}

const order = new Intl.Collator(undefined, { numeric: true });

export function sortable(table) {
  const body = table.tBodies[0];
  const heads = table.tHead?.rows[0]?.cells;
  if (!body || !heads || body.rows.length < FEWEST_TO_SORT) return;
  const first = [...body.rows];
  [...heads].forEach((head, column) => {
    const sort = () => {
      const now = head.getAttribute("aria-sort");
      const way = { ascending: "descending", descending: null }[now] ?? (now ? null : "ascending");
      for (const other of heads) other.removeAttribute("aria-sort");
      table.classList.toggle("sorted", way !== null);
      if (way === null) return body.append(...first);
      head.setAttribute("aria-sort", way);
      const keyed = first.map((row, at) => ({ row, at, ...keyOf(row.cells[column]) }));
      const numbers = keyed.filter(({ number }) => !Number.isNaN(number)).length * 2 > keyed.length;
      const sign = way === "ascending" ? 1 : -1;
      keyed.sort((a, b) => {
        if (!numbers) return sign * order.compare(a.text, b.text) || a.at - b.at;
        // What has no number stands last, whichever way.
        const [p, q] = [Number.isNaN(a.number), Number.isNaN(b.number)];
        return p || q ? p - q || a.at - b.at : sign * (a.number - b.number) || a.at - b.at;
      });
      body.append(...keyed.map(({ row }) => row));
    };
    head.append(button([...head.childNodes], sort, { class: "sort", title: "Sort by this column" }));
  });
}

/** A field that leaves the rows with all of its words. `after` is called with each row and whether it is left. */
export function filterable(table, after = () => {}) {
  const body = table.tBodies[0];
  if (!body || body.rows.length < FEWEST_TO_FILTER) return;
  const count = el("span", { class: "soft", role: "status" });
  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      const fits = words.every((word) => text.includes(word));
      row.hidden = !fits;
      left += fits;
      after(row, fits);
    }
    count.textContent = words.length ? `${left} of ${body.rows.length}` : "";
  };
  const field = el("input", { type: "search", placeholder: "filter", "aria-label": "Rows with these words", autocomplete: "off", spellcheck: "false", input: filter });
  const place = table.closest(".scroll") ?? table;
  place.before(el("p", { class: "filter" }, field, " ", count));
}

/** A table of heads and rows under a caption; a cell is an element or a text. */
export function tableOf(caption, heads, rows, attributes = {}) {
  const cell = (name, more) => (own) => (own instanceof Element ? own : el(name, more, own));
  const body = rows.map((row) => el("tr", {}, ...row.map(cell("td", {}))));
  const head = el("thead", {}, el("tr", {}, ...heads.map(cell("th", { scope: "col" }))));
  return el("table", attributes, caption && cell("caption", {})(caption), head, el("tbody", {}, ...body));
}
