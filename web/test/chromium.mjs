// The distribution's Chromium, without a window.

import { existsSync } from "node:fs";
import { chromium as playwright } from "playwright-core";

const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** A browser; whoever is root has no sandbox for it. */
export function chromium() {
  const executablePath = places.find((place) => place && existsSync(place));
  if (!executablePath) throw new Error("there is no Chromium: set CHROMIUM, or install your distribution's");
  return playwright.launch({ executablePath, args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
}
