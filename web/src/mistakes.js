// What is wrong with the text, in the language's own words, at its place.

import { button, el } from "../lib/dom.js";

function one(own, text, kind) {
  const parts = [el("p", {}, el("strong", {}, kind), " ", own.message)];
  if (own.line) {
    const go = () => {
      const lines = text.value.split("\n");
      const start = lines.slice(0, own.line - 1).reduce((sum, line) => sum + line.length + 1, 0) + own.column - 1;
      text.focus();
      text.setSelectionRange(start, start + Math.max(1, own.to - own.from));
    };
    const mark = `${own.source}\n${" ".repeat(Math.max(own.column - 1, 0))}${"^".repeat(Math.max(1, Math.min(own.to - own.from, 60)))}`;
    parts.push(el("pre", { "aria-hidden": "true" }, mark), el("p", {}, button(`Line ${own.line}, column ${own.column}`, go)));
  }
  if (own.help) parts.push(el("p", {}, own.help));
  return el("div", { class: `mistake ${kind.toLowerCase()}` }, ...parts);
}

/** Mistakes and warnings; a place is a button that goes there. */
export function mistakes(errors, warnings, text) {
  return [...errors.map((own) => one(own, text, "Mistake")), ...(errors.length ? [] : warnings.map((own) => one(own, text, "Warning")))];
}
