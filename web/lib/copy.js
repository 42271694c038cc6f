// Texts for the clipboard.

import { button, el, say } from "./dom.js";

export async function copy(text) {
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

export function copyButton(words, text) {
  const own = button(words, async () => {
    own.textContent = (await copy(text)) ? "Copied" : "Select it and copy it yourself";
    say(own.textContent);
    setTimeout(() => (own.textContent = words), 1500);
  });
  return own;
}
