// The buttons of a run: its command copied, its experiment opened in the playground.

import { pack } from "../lib/address.js";
import { copyButton } from "../lib/copy.js";
import { button, el } from "../lib/dom.js";

/** Puts the buttons to a figure. `experiments` is what the page carries for the playground: where it is, and the texts. */
export function actions(figure, experiments) {
  const command = figure.querySelector("pre.again");
  if (!command) return;
  const row = el("p", { class: "actions" }, copyButton("Copy the command", command.textContent));
  // A figure that the page folds is inside of a `details` and has none of its own.
  const own = figure.querySelector("details");
  (own ?? command).before(row);
  const key = figure.dataset.experiment;
  if (key === undefined) return;
  const note = el("p", { class: "soft", hidden: true });
  const open = async () => {
    const { page, texts } = await experiments();
    const [text, run] = texts[Number(key)];
    const address = await pack({ a: { text, run }, b: null, lesson: "" });
    const local = location.protocol === "file:" && page !== "";
    note.replaceChildren(local ? "If no page opened, run: " : "The playground is a file of the machine that Sojourn is on. Run: ", el("code", {}, "sojourn playground '…'"), " ", copyButton("Copy it", `sojourn playground '${address}'`));
    note.hidden = false;
    if (local) window.open(page + address, "_blank", "noopener");
  };
  row.append(" ", button("Open in the playground", open));
  row.after(note);
}
