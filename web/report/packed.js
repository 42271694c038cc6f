// What the page carries: JSON with arrays behind it, deflated, in base64 (plotting/draw/numbers.py).

import { bytesOf, through } from "../lib/address.js";

/** The JSON of a data block, and the bytes behind it. */
export async function unpacked(text) {
  const all = await through(bytesOf(text.trim()), new DecompressionStream("deflate-raw"));
  const length = new DataView(all.buffer).getUint32(0, true);
  return { value: JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + length))), body: all.slice(4 + length) };
}

/** A number of sixteen bits, of which eleven are its digits. */
function half(bits) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const sign = bits & 32768 ? -1 : 1;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

/** A function from where an array is to the array. */
export function arraysOf({ f, n }, body) {
  const exact = new Float32Array(body.slice(0, 4 * f).buffer);
  const high = body.subarray(4 * f, 4 * f + n);
  const low = body.subarray(4 * f + n, 4 * f + 2 * n);
  return ({ g, k, at, n: count, s }) => {
    if (g) return Float64Array.from({ length: g[2] }, (_, i) => g[0] + i * g[1]);
    if (k === "f") return exact.subarray(at, at + count);
    return Float64Array.from({ length: count }, (_, i) => s * half((high[at + i] << 8) | low[at + i]));
  };
}
