// Dark and light: as the system has it, or as chosen here. The choice is of this visit: a page that keeps nothing keeps no cookie.

/** Lets `menu` choose. Paper is light. */
export function theme(menu) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const show = (dark) => (document.documentElement.dataset.theme = dark ? "dark" : "light");
  const apply = () => show(menu.value === "dark" || (menu.value === "auto" && system.matches));
  menu.addEventListener("change", apply);
  system.addEventListener("change", apply);
  addEventListener("beforeprint", () => show(false));
  addEventListener("afterprint", apply);
  apply();
}
