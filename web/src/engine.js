// The simulator as a module of WebAssembly: requests in JSON, replies of JSON and typed columns. The other side of
// `crates/web/src/exports.rs` and `reply.rs`, for a worker and for tests alike.

/** A mistake of ours: the module is not to be called again. */
export class Panic extends Error {}

export class Engine {
  /** @param {WebAssembly.Module} module */
  constructor(module) {
    this.exports = new WebAssembly.Instance(module, {}).exports;
  }

  /** Answers a request: what its JSON says, and the bytes of the columns behind it, which the next request overwrites. */
  reply(request) {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    const at = this.exports.room(bytes.length);
    new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
    try {
      this.exports.ask();
    } catch (trap) {
      throw new Panic(this.lastWords() || String(trap));
    }
    const reply = this.exports.reply();
    const memory = this.exports.memory.buffer;
    const length = new DataView(memory).getUint32(reply, true);
    const json = JSON.parse(new TextDecoder().decode(new Uint8Array(memory, reply + 8, length)));
    return { json, memory, columns: reply + 8 + length };
  }

  /** What a request's reply says. */
  ask(request) {
    return this.reply(request).json;
  }

  /** Ends a run: what the reply says, its tables as copies: names to columns, each a typed array (of text: codes and names). */
  finish(tables) {
    const { json, memory, columns: base } = this.reply({ ask: "finish", tables });
    if (json.errors) return json;
    const read = {};
    for (const table of json.tables) {
      const columns = {};
      for (const { name, type, at, names, unit, doc } of table.columns) {
        const values =
          type === "text"
            ? new Uint32Array(memory.slice(base + at, base + at + 4 * table.rows))
            : new Float64Array(memory.slice(base + at, base + at + 8 * table.rows));
        columns[name] = { type, values, names, unit, doc };
      }
      read[table.name] = { rows: table.rows, columns };
    }
    return { ...json, tables: read };
  }

  /** What a panic said. */
  lastWords() {
    const { memory, last_words, last_words_length } = this.exports;
    return new TextDecoder().decode(new Uint8Array(memory.buffer, last_words(), last_words_length()));
  }
}
