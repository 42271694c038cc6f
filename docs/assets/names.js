// What the theme leaves out for those who read without a screen or without a mouse.

/** Each block of code has a navigation without a name, so that many are the same. */
const name = () => {
  for (const [index, nav] of document.querySelectorAll(".md-code__nav").entries()) {
    const label = `Code block ${index + 1}`;
    if (nav.getAttribute("aria-label") !== label) nav.setAttribute("aria-label", label);
  }
};

/** A table that is wider than the page is scrolled: by the keyboard, too. */
const reach = () => {
  for (const wide of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) {
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
    else wide.removeAttribute("tabindex");
  }
};

new MutationObserver(() => {
  name();
  reach();
}).observe(document.body, { childList: true, subtree: true });
addEventListener("resize", reach);
name();
reach();
