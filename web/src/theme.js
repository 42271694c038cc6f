// Dark and light: as the system has it, or as chosen here. The choice is of this visit: a page that keeps nothing keeps no cookie.

/** Lets `menu` choose, and calls `changed` when the colours are others. */
export function theme(menu, changed) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const dark = menu.value === "dark" || (menu.value === "auto" && system.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    changed();
  };
  menu.addEventListener("change", apply);
  system.addEventListener("change", apply);
  apply();
}
