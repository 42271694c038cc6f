// tc's words of a queue discipline, by the tables of the build: name and options, both ways.

/**
 * What words say: `{name, options: Map(name -> text)}`. An option that is a word alone has the empty text. `why` says what of
 * them has no place in the tables, such as a discipline's children: then only the words themselves can be changed.
 */
export function readWords(words, disciplines) {
  const [name = "", ...rest] = words.trim().split(/\s+/);
  const table = disciplines.find((d) => d.name === name.toLowerCase());
  if (!table) return { name, options: new Map(), why: `there is no discipline ${name}` };
  if (table.classful) return { name, options: new Map(), why: `${name} has queues within it: change its words` };
  const known = new Map();
  for (const option of table.options) {
    for (const word of [option.name, ...(option.aliases ?? [])]) known.set(word, { option, off: false });
    if (option.off) known.set(option.off, { option, off: true });
  }
  const options = new Map();
  for (let at = 0; at < rest.length; at += 1) {
    const own = known.get(rest[at]);
    if (!own) return { name: table.name, options, why: `"${rest[at]}" is no option that the tables have` };
    if (own.off) {
      options.set(own.option.name, { off: rest[at] });
      continue;
    }
    const values = [];
    for (const v of own.option.values) {
      const next = rest[at + 1];
      if (next === undefined || (v.optional && known.has(next))) break;
      values.push(next);
      at += 1;
    }
    options.set(own.option.name, { word: rest[at - values.length], values: values.join(" ") });
  }
  return { name: table.name, options, why: "" };
}

/** The words again. */
export function writeWords(name, options) {
  const parts = [...options].map(([option, own]) => own.off ?? `${own.word ?? option} ${own.values}`.trim());
  return [name, ...parts].join(" ");
}
