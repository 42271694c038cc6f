// The playground's address carries what is on its page: a version, then JSON, deflated, in the alphabet of URLs. Anybody can send anybody an
// address: what comes back is checked for its shape and its size before anything else sees it.

const VERSION = "1";
/** Characters of an address, and of what unfolds from it. */
const MOST_PACKED = 100_000;
const MOST = 300_000;

/** Bytes through a stream that packs or unpacks them, of which no more than `most` come. */
export async function through(bytes, stream, most = Infinity) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new Error(`it unfolds to more than ${most} bytes`);
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

const toWords = (bytes) => {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
};
export const bytesOf = (words) => Uint8Array.from(atob(words.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));

/** The hash of a state `{a: {text, run}, b: {text, run} | null, lesson}`. */
export async function pack(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  return `#${VERSION}.${toWords(await through(bytes, new CompressionStream("deflate-raw"), MOST))}`;
}

const isSide = (own) =>
  own && typeof own === "object" && typeof own.text === "string" && Number.isSafeInteger(own.run) && own.run >= 0;

/** The state of a hash; null of none. Throws an Error that says what is wrong. */
export async function unpack(hash) {
  if (!hash || hash === "#") return null;
  const [version, words, ...rest] = hash.slice(1).split(".");
  if (version !== VERSION) throw new Error(`it is of version "${version.slice(0, 20)}", and this page reads version ${VERSION}`);
  if (rest.length || !/^[A-Za-z0-9_-]+$/.test(words ?? "")) throw new Error("it is damaged");
  if (words.length > MOST_PACKED) throw new Error(`it is longer than ${MOST_PACKED} characters`);
  let state;
  try {
    state = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(await through(bytesOf(words), new DecompressionStream("deflate-raw"), MOST)));
  } catch (error) {
    throw new Error(/unfolds/.test(error.message) ? error.message : "it is damaged", { cause: error });
  }
  if (!isSide(state?.a) || (state.b !== null && !isSide(state.b))) throw new Error("it holds no experiment");
  const side = ({ text, run }) => ({ text, run });
  return { a: side(state.a), b: state.b ? side(state.b) : null, lesson: typeof state.lesson === "string" ? state.lesson : "" };
}
