// Scales and their ticks: linear, or logarithmic over no more decades than tell something.

/** The greatest of 1, 2 and 5 times a power of ten that is no greater. */
function roundBelow(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [5, 2, 1].find((factor) => factor * power <= value * (1 + 1e-9));
}

export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** From `[low, high, logarithmic]` to `[from, to]`: `of` maps a value, `back` a place. */
export function scaleOf([low, high, logarithmic], from, to) {
  const turn = logarithmic ? (v) => Math.log(Math.max(v, low / 10)) : (v) => v;
  const a = turn(low);
  const span = turn(high) - a || 1;
  return {
    of: (v) => from + ((turn(v) - a) / span) * (to - from),
    back: (p) => {
      const t = a + ((p - from) / (to - from)) * span;
      return logarithmic ? Math.exp(t) : t;
    },
  };
}

/** Round values between the ends, about as many as there is room for. */
export function ticksOf([low, high, logarithmic], most) {
  const found = [];
  if (logarithmic) {
    const decades = Math.log10(high / low);
    const factors = decades > 2.5 ? [1] : [1, 2, 5];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
      for (const factor of factors) {
        const value = Number((factor * 10 ** power).toPrecision(6));
        if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) found.push(value);
      }
    }
    return found;
  }
  const rough = (high - low) / most || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9));
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

/** Where an axis begins that is to be logarithmic: below what is usual for the least of its lines, and no more than three
 * decades below its end, as plotting/draw/scale.py has it. */
export function logFloor(lines, high) {
  const usual = lines.map((values) => [...values].filter((v) => v > 0).sort((a, b) => a - b)).filter((own) => own.length).map((own) => own[own.length >> 1]);
  if (!usual.length) return high / 10;
  return Math.max(roundBelow(Math.min(...usual) / 2), roundBelow(high / 1000));
}

/** Ends of an axis over these values, with a little room above: `[low, high, logarithmic]`. */
export function endsOf(values, logarithmic, top = null) {
  const own = values.filter((v) => Number.isFinite(v) && (!logarithmic || v > 0));
  if (!own.length) return [0, 1, 0];
  const [least, high] = own.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  if (logarithmic) return least < high ? [least / 1.15, high * 1.15, 1] : [least / 2, high * 2, 1];
  if (top !== null && top !== undefined) return [0, top, 0];
  const low = Math.min(0, least);
  const room = (high - low || 1) * 0.06;
  return [low < 0 ? low - room : 0, high + room, 0];
}
