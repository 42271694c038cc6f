// What a pointer and the keyboard point at, and the box of values there.

import { el, fill, svgEl } from "./dom.js";
import { digits } from "./quantity.js";
import { clamp } from "./scale.js";
import { swatch } from "./series.js";

/** Where an event is in a picture, in the picture's units. */
export const pointOf = (svg, event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());

/** A line through a box and dots, `[x, y, colour]`, as a cursor. */
export const rule = (x, { top, height }, dots, r = 3) => [
  svgEl("line", { x1: x, x2: x, y1: top, y2: top + height }),
  ...dots.map(([cx, cy, fill]) => svgEl("circle", { cx, cy, r, fill })),
];

/** A drag of less than this is a click; the height of one that is of both axes. Units of the picture. */
const [LEAST, TALL] = [6, 24];

/**
 * Lets a pointer move over a picture (`moved`, `left`) and drag in it. `boxAt` is the box that a drag is in, null if none begins
 * there. `zoomed` gets the box and the ends of a drag `[from, to]`, across and down; null of an axis that it is not of.
 */
export function draggable(svg, { boxAt, moved, left, zoomed, both = false }) {
  const rect = svgEl("rect", { class: "chosen" });
  let [box, from] = [null, null];
  const chosen = (event) => {
    const to = pointOf(svg, event);
    const ends = (axis, low, size) => [from[axis], to[axis]].map((v) => clamp(v, low, low + size)).sort((p, q) => p - q);
    const across = ends("x", box.left, box.width);
    return { across: across[1] - across[0] < LEAST ? null : across, down: both && Math.abs(to.y - from.y) > TALL ? ends("y", box.top, box.height) : null };
  };
  const stop = () => {
    box = null;
    rect.remove();
  };
  fill(svg, {
    pointerdown: (event) => {
      moved(event);
      box = event.pointerType !== "touch" && event.button === 0 ? boxAt(event) : null;
      if (!box) return;
      from = pointOf(svg, event);
      event.preventDefault();
      svg.setPointerCapture(event.pointerId);
      svg.focus({ preventScroll: true, focusVisible: false });
    },
    pointermove: (event) => {
      moved(event);
      if (!box) return;
      const { across, down } = chosen(event);
      const [[a, b], [c, d]] = [across ?? [box.left, box.left + box.width], down ?? [box.top, box.top + box.height]];
      rect.remove();
      if (across || down) svg.append(fill(rect, { x: a, y: c, width: b - a, height: d - c }));
    },
    pointerup: (event) => {
      if (!box) return;
      const [own, { across, down }] = [box, chosen(event)];
      stop();
      if (across || down) zoomed(own, across, down);
    },
    pointercancel: stop,
    pointerleave: (event) => box || event.pointerType === "touch" || left(),
    blur: left,
  });
}

/** What a key asks of a cursor: `{way}` a hundredth or a tenth of the axis, `{zoom}` the part of it, `{all}`, `{off}`; null is nothing. */
export function asked(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const far = event.shiftKey ? 0.1 : 0.01;
  const found = { ArrowLeft: { way: -far }, ArrowRight: { way: far }, "+": { zoom: 0.5 }, "=": { zoom: 0.5 }, "-": { zoom: 2 }, 0: { all: true }, Escape: { off: true } }[event.key] ?? null;
  if (found) event.preventDefault();
  return found;
}

/** Puts a box next to a point of a picture, on the side where there is room; without content it takes the box away. */
export function tipAt(place, svg, content, x, y) {
  place.querySelector(":scope > .tip")?.remove();
  if (!content) return;
  const tip = el("div", { class: "tip", "aria-hidden": "true" }, content);
  place.append(tip);
  const at = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
  const frame = place.getBoundingClientRect();
  const { offsetWidth: wide, offsetHeight: tall } = tip;
  const right = at.x + 14 + wide < Math.min(frame.right, innerWidth);
  const left = right ? at.x + 14 : Math.max(at.x - 14 - wide, Math.max(frame.left, 0) + 2);
  const top = Math.min(Math.max(at.y - tall / 2, 4), innerHeight - tall - 4);
  tip.style.left = `${left - frame.left + place.scrollLeft}px`;
  tip.style.top = `${top - frame.top}px`;
}

/** A row of the box: a colour, a name, a value and its range. */
export function tipRow({ name, colour, value, low, high }) {
  const range = Number.isFinite(low) && Number.isFinite(high) && high > low ? el("small", {}, ` ${digits(low)}–${digits(high)}`) : null;
  return el("tr", {}, el("td", {}, swatch(colour)), el("th", {}, name), el("td", {}, digits(value), range));
}
