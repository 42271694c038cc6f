// Figures that share their cursor, and what is shown of their time.

import { Figure } from "./figure.js";

export class Group {
  constructor(elements, page) {
    this.page = page;
    this.own = { x: null, y: null };
    this.cursor = null;
    this.figures = elements.map((element) => new Figure(element, this));
    const watch = new IntersectionObserver((seen) => {
      for (const { target, isIntersecting } of seen) {
        const figure = this.figures.find(({ element }) => element === target);
        figure.near = isIntersecting;
        // A figure off the screen is drawn when it comes into sight.
        if (isIntersecting && (figure.head || this.page.asks || this.zoomed)) figure.load().then(() => figure.draw());
      }
    }, { rootMargin: "300px" });
    for (const { element } of this.figures) watch.observe(element);
  }

  /** What is to be seen: the group's zoom with the page's choices. */
  get view() {
    return { log: this.page.log, seeds: this.page.seeds, ...this.own };
  }

  get zoomed() {
    return Boolean(this.own.x || this.own.y || this.figures.some((figure) => figure.own));
  }

  changed() {
    for (const figure of this.figures) if (figure.near) figure.load().then(() => figure.draw());
    this.page.zoomChanged();
  }

  all() {
    Object.assign(this.own, { x: null, y: null });
    for (const figure of this.figures) figure.own = null;
    this.changed();
  }

  point(cursor) {
    this.cursor = cursor;
    for (const figure of this.figures) {
      if (!figure.near) continue;
      if (figure.head) figure.point();
      else if (cursor) figure.load();
    }
  }
}
