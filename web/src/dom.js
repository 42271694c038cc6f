// Elements. Text is always a text node: nothing that anybody wrote is ever read as HTML.

/** An element with attributes (`on…` listens) and children, which are nodes or texts. */
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, v] of Object.entries(attributes)) {
    if (v === undefined || v === null || v === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), v);
    else if (key in node && typeof v !== "string") node[key] = v;
    else node.setAttribute(key, v === true ? "" : v);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const byId = (id) => document.getElementById(id);
