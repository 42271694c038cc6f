// What is done with a run: its command copied, its experiment opened in the playground.

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Not every browser lets a page from disk do that; all let it copy what is selected.
    const field = el("textarea", { class: "unseen", "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

function copyButton(words, text) {
  const button = el("button", { type: "button" }, words);
  button.addEventListener("click", async () => {
    const done = await copy(typeof text === "function" ? await text() : text);
    button.textContent = done ? "Copied" : "Select it and copy it yourself";
    say(button.textContent);
    setTimeout(() => (button.textContent = words), 1500);
  });
  return button;
}

/** The buttons of a run. `experiments` is what the page carries for the playground: where it is, and the texts. */
function actions(figure, experiments) {
  const command = figure.querySelector("pre.again");
  if (!command) return;
  const row = el("p", { class: "actions" }, copyButton("Copy the command", command.textContent));
  // A figure that the page folds is inside of a `details` and has none of its own.
  const own = figure.querySelector("details");
  (own ?? command).before(row);
  const key = figure.dataset.experiment;
  if (key === undefined) return;
  const note = el("p", { class: "soft", hidden: true });
  const open = el("button", { type: "button" }, "Open in the playground");
  open.addEventListener("click", async () => {
    const { page, texts } = await experiments();
    const [text, run] = texts[Number(key)];
    const address = await addressOf(text, run);
    const local = location.protocol === "file:" && page !== "";
    note.replaceChildren(local ? "If no page opened, run: " : "The playground is a file of the machine that Sojourn is on. Run: ", el("code", {}, "sojourn playground '…'"), " ", copyButton("Copy it", `sojourn playground '${address}'`));
    note.hidden = false;
    if (local) window.open(page + address, "_blank", "noopener");
  });
  row.append(" ", open);
  row.after(note);
}
