// The folder's runs, and what is asked of who serves them. A run is its number; its labels are codes by axis.

async function answer(what, body, signal) {
  const options = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(what, { ...options, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("Nobody answers any more: give `sojourn explore` again.");
  }
  if (response.ok) return response;
  const said = response.headers.get("Content-Type") === "application/json" ? await response.json() : { error: await response.text() };
  throw new Error(said.help ? `${said.error}\n${said.help}` : said.error);
}

export const ask = async (what, body, signal) => (await answer(what, body, signal)).json();

/** Values as they come, a line of JSON each. */
export async function* comes(what, body, signal) {
  const reader = (await answer(what, body, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const texts = (rest + value).split("\n");
    rest = texts.pop();
    for (const text of texts) if (text) yield JSON.parse(text);
  }
}

export const FLOW = "flow";
export const NOTHING = "–";

export class Folder {
  constructor(said) {
    Object.assign(this, said);
    this.byName = new Map(said.axes.map((axis) => [axis.name, axis]));
    this.varied = said.axes.filter((axis) => axis.labels.length > 1);
    // As people count: by the labels of the axes, the seeds of a cell together.
    const codes = said.axes.map((axis) => axis.codes);
    this.every = Array.from({ length: said.runs }, (_, run) => run).sort((a, b) => {
      for (const own of codes) if (own[a] !== own[b]) return own[a] - own[b];
      return a - b;
    });
  }
  label(run, name) {
    const axis = this.byName.get(name);
    const code = axis ? axis.codes[run] : -1;
    return code < 0 ? null : axis.labels[code];
  }
  /** The axes by which these runs differ: experiments of one folder may have other axes. */
  variedAmong(runs) {
    return this.varied.filter(({ codes }) => runs.some((run) => codes[run] !== codes[runs[0]]));
  }
  /** What tells a run from the others, in words. */
  title(run) {
    const parts = this.varied.map((axis) => (axis.name === "seed" ? `seed ${this.label(run, "seed")}` : this.label(run, axis.name)));
    return parts.filter((part) => part !== null).join(", ") || this.label(run, "scenario") || `run ${run + 1}`;
  }
  /** Runs one seed after another, so that every cell has a number early. */
  inTurn(runs) {
    const seeds = this.byName.get("seed").codes;
    return [...runs].sort((a, b) => seeds[a] - seeds[b]);
  }
}
