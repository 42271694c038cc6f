// Rates and times as tc writes them, for sliders; and numbers for people.

const RATE = { bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9 };
const TIME = { us: 1e-6, ms: 1e-3, s: 1 };

function quantity(text, units) {
  const parts = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/i.exec(String(text ?? "").trim());
  const unit = parts && units[parts[2].toLowerCase()];
  return unit ? Number(parts[1]) * unit : NaN;
}

/** bit/s of `50mbit`; NaN of what a slider cannot show. */
export const rate = (text) => quantity(text, RATE);
/** s of `20ms`; NaN of what a slider cannot show. */
export const time = (text) => quantity(text, TIME);

function words(value, units) {
  const [unit, one] = Object.entries(units).filter(([, size]) => value >= size).at(-1) ?? Object.entries(units)[0];
  return `${Number((value / one).toPrecision(3))}${unit}`;
}

export const rateWords = (bits) => words(bits, RATE);
export const timeWords = (seconds) => words(seconds, TIME);

/** Three significant digits, as people write numbers; a dash for none. */
export function digits(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  return String(Number(Math.abs(value) >= 1000 ? value.toFixed(0) : value.toPrecision(3)));
}

/** A number with its unit for people: `12.3 Mbit/s`, `4.56 ms`. A dash for none. */
export function show(value, unit) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  // A value without a digit before the fourth place behind the point is nothing.
  const own = (part, word) => `${digits(Math.abs(part) < 5e-4 ? 0 : part)}${word}`;
  if (unit === "bit/s") {
    if (value >= 1e9) return own(value / 1e9, " Gbit/s");
    return value >= 1e6 ? own(value / 1e6, " Mbit/s") : own(value / 1e3, " kbit/s");
  }
  if (unit === "s") return value >= 1 ? own(value, " s") : own(value * 1e3, " ms");
  if (unit === "%") return own(value * 100, " %");
  return Number.isInteger(value) ? String(value) : own(value, unit ? ` ${unit}` : "");
}
