// What WebAssembly makes of runs, against what the native build made of them. Runs in Node and in a page alike, so it is one
// function without imports: `Engine` is that of `src/engine.js`.

/**
 * The names of the cases that differ, and how many ran to their end. A case has `label`; `text` (and `events`, which one step
 * is given) or a resolved `scenario`; and what is expected: `errors`, `passed` or `digests`, of which a table's may be cut.
 */
export function differences(Engine, module, cases) {
  let engine = new Engine(module);
  const differing = [];
  let ran = 0;
  const outcome = (own) => {
    const steps = own.scenario
      ? [{ ask: "resolved", scenario: own.scenario }]
      : [{ ask: "check", text: own.text }, { ask: "begin", run: 0 }];
    let said = {};
    for (const step of [...steps, { ask: "advance", events: own.events ?? 1e15 }]) {
      said = engine.ask(step);
      if (said.errors) return { errors: said.errors };
    }
    if (!said.over) return { passed: said.passed };
    ran += 1;
    return { digests: engine.ask({ ask: "finish", tables: [] }).digests };
  };
  for (const own of cases) {
    let found;
    try {
      found = outcome(own);
    } catch (error) {
      differing.push(`${own.label}: ${error.message}`);
      engine = new Engine(module);
      continue;
    }
    const expected = { errors: own.errors, passed: own.passed, digests: own.digests };
    if (expected.digests && found.digests) {
      for (const [table, digest] of Object.entries(expected.digests)) {
        if (!found.digests[table]?.startsWith(digest)) differing.push(`${own.label}: table ${table}`);
      }
    } else {
      const order = (v) => JSON.stringify(v, (_, o) => (o && typeof o === "object" && !Array.isArray(o) ? Object.fromEntries(Object.entries(o).sort()) : o));
      if (order(found) !== order(expected)) differing.push(`${own.label}: ${order(found).slice(0, 200)}, not ${order(expected).slice(0, 200)}`);
    }
  }
  return { differing, ran };
}
