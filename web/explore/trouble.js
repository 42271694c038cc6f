import { byId } from "../lib/dom.js";

/** Says what went wrong; `null`: nothing any more. */
export function trouble(error) {
  byId("trouble").hidden = error === null;
  byId("trouble").textContent = error === null ? "" : String(error.message ?? error);
}
