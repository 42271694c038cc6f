// Built by `make bundles` from web/explore and web/lib, of sha256 3d4da65a3c053ec152c87e4cf721aed1ac695c4fdb661b010c0209a6e45fc640
(() => {
  // lib/dom.js
  var SVG = "http://www.w3.org/2000/svg";
  function fill(own, attributes, ...children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === false || value === null || value === void 0) continue;
      if (typeof value === "function") own.addEventListener(name, value);
      else own.setAttribute(name, value === true ? "" : String(value));
    }
    own.append(...children.filter((child) => child !== null && child !== void 0));
    return own;
  }
  var el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, ...children);
  var svgEl = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, ...children);
  var byId = (id) => document.getElementById(id);
  var button = (words, click, attributes = {}) => el("button", { type: "button", click, ...attributes }, ...[words].flat());
  function select(choices, picked, chosen2, attributes = {}) {
    const options = choices.map(([value, words = value, title]) => el("option", { value, title, selected: value === chosen2 }, words));
    return el("select", { ...attributes, change: picked && (({ target }) => picked(target.value)) }, ...options);
  }
  var menu = (label, choices, picked) => el("label", {}, el("span", {}, `${label} `), select(choices, picked, void 0, { "aria-label": label }));
  var colours = () => menu("Colours", [["", "as the system"], ["light", "light"], ["dark", "dark"]], (value) => {
    if (value) document.documentElement.dataset.theme = value;
    else delete document.documentElement.dataset.theme;
  });
  var place = null;
  function say(text) {
    if (!place) document.body.append(place = el("p", { class: "unseen", role: "status", "aria-live": "polite" }));
    place.textContent = text;
  }
  function reachable(parts) {
    for (const own of parts) {
      const name = own.matches("figure") ? "" : own.querySelector("caption")?.textContent;
      if (own.scrollWidth > own.clientWidth) fill(own, { tabindex: 0, role: name ? "region" : null, "aria-label": name || null });
    }
  }

  // lib/copy.js
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const field2 = el("textarea", { class: "unseen", "aria-hidden": "true" });
      field2.value = text;
      document.body.append(field2);
      field2.select();
      const done = document.execCommand("copy");
      field2.remove();
      return done;
    }
  }
  function copyButton(words, text) {
    const own = button(words, async () => {
      own.textContent = await copy(text) ? "Copied" : "Select it and copy it yourself";
      say(own.textContent);
      setTimeout(() => own.textContent = words, 1500);
    });
    return own;
  }

  // explore/choice.js
  var NO_LABEL = -1;
  var choice = { view: "runs", words: "", filters: /* @__PURE__ */ new Map(), menus: /* @__PURE__ */ new Map(), picked: /* @__PURE__ */ new Set(), listeners: [] };
  function labelOf(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  }
  function readAddress(folder) {
    const said = new URLSearchParams(location.hash.slice(1));
    choice.view = said.get("view") ?? "runs";
    choice.words = said.get("words") ?? "";
    choice.filters.clear();
    choice.menus.clear();
    for (const [name, value] of said) {
      if (name.startsWith("only.")) {
        const axis = folder.byName.get(name.slice(5));
        const codes = axis ? value.split("|").map((label) => value === "" ? NO_LABEL : axis.labels.indexOf(labelOf(label))) : [];
        const known = codes.filter((code) => code >= 0 || value === "");
        if (known.length) choice.filters.set(axis.name, new Set(known));
      } else if (name !== "view" && name !== "words") choice.menus.set(name, value);
    }
  }
  function writeAddress(folder) {
    const said = new URLSearchParams({ view: choice.view });
    if (choice.words) said.set("words", choice.words);
    for (const [name, codes] of choice.filters) said.set(`only.${name}`, [...codes].map((code) => code === NO_LABEL ? "" : encodeURIComponent(folder.byName.get(name).labels[code])).join("|"));
    for (const [name, value] of choice.menus) said.set(name, value);
    history.replaceState(null, "", `#${said}`);
  }
  function chosen(folder) {
    const words = choice.words.toLowerCase().split(/\s+/).filter(Boolean);
    const filters = [...choice.filters].map(([name, codes]) => [folder.byName.get(name).codes, codes]);
    return folder.every.filter((run) => {
      for (const [codes, wanted] of filters) if (!wanted.has(codes[run])) return false;
      if (!words.length) return true;
      const text = folder.axes.map((axis) => folder.label(run, axis.name) ?? "").join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }
  function changed(folder) {
    writeAddress(folder);
    for (const listener of choice.listeners) listener();
  }
  function menuValue(name, known, usual) {
    const said = choice.menus.get(name);
    return said !== void 0 && known.includes(said) ? said : usual;
  }
  function menuOf(folder, name, label, choices, usual) {
    const value = menuValue(name, choices.map(([own]) => own), usual);
    const set = (own) => {
      choice.menus.set(name, own);
      changed(folder);
    };
    return el("label", {}, label, select(choices, set, value));
  }
  var MANY_LABELS = 12;
  function facet(folder, axis) {
    const boxes = [];
    const counts = [];
    const all = () => {
      choice.filters.delete(axis.name);
      changed(folder);
    };
    const none = button("all", all, { hidden: true, "aria-label": `All of ${axis.name}` });
    const list = el("div", { class: "labels" });
    axis.labels.forEach((label, code) => {
      const change = () => {
        const codes = new Set(boxes.flatMap((own2, at) => own2.checked ? [at] : []));
        if (codes.size) choice.filters.set(axis.name, codes);
        else choice.filters.delete(axis.name);
        changed(folder);
      };
      const box = el("input", { type: "checkbox", checked: choice.filters.get(axis.name)?.has(code) ?? false, change });
      const count = el("span", { class: "soft" });
      boxes.push(box);
      counts.push(count);
      list.append(el("label", {}, box, el("span", {}, label), count));
    });
    const own = el("fieldset", {}, el("legend", {}, axis.name, none));
    if (axis.labels.length > MANY_LABELS) {
      const find = ({ target }) => [...list.children].forEach((row, code) => row.hidden = !axis.labels[code].toLowerCase().includes(target.value.toLowerCase()));
      own.append(el("input", { type: "search", placeholder: "find", "aria-label": `Labels of ${axis.name} with these letters`, input: find }));
    }
    own.append(list);
    const show = () => {
      const codes = choice.filters.get(axis.name);
      none.hidden = !codes;
      const rest = new Map(choice.filters);
      choice.filters.delete(axis.name);
      const found = new Array(axis.labels.length).fill(0);
      for (const run of chosen(folder)) if (axis.codes[run] >= 0) found[axis.codes[run]] += 1;
      choice.filters = rest;
      boxes.forEach((box, code) => {
        box.checked = codes?.has(code) ?? false;
        counts[code].textContent = found[code];
        box.parentElement.classList.toggle("none", !found[code] && !box.checked);
      });
      own.hidden = !codes && !found.some(Boolean);
    };
    return { own, show };
  }
  function facets(folder, place2) {
    const input = () => {
      choice.words = words.value;
      changed(folder);
    };
    const words = el("input", { type: "search", placeholder: "words in the labels", "aria-label": "Runs with these words in their labels", value: choice.words, spellcheck: "false", input });
    const every = folder.varied.map((axis) => facet(folder, axis));
    const fixed = folder.axes.filter((axis) => axis.labels.length === 1);
    const same = fixed.length ? el("p", { class: "soft" }, `All runs: ${fixed.map((axis) => `${axis.name} ${axis.labels[0]}`).join(", ")}.`) : null;
    fill(place2, {}, words, ...every.map(({ own }) => own), same);
    const show = () => {
      if (words.value !== choice.words) words.value = choice.words;
      for (const own of every) own.show();
    };
    choice.listeners.push(show);
    show();
  }
  var shellWord = (text) => /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
  function patternOf(folder) {
    if (choice.words) return null;
    const terms = [];
    for (const [name, codes] of choice.filters) {
      if (codes.has(NO_LABEL)) return null;
      const labels = [...codes].map((code) => folder.byName.get(name).labels[code]);
      if ([name, ...labels].some((text) => /[,=*?|]/.test(text)) || name.startsWith("axis.")) return null;
      terms.push(`${name}=${labels.join("|")}`);
    }
    return terms.join(",");
  }

  // explore/folder.js
  async function answer(what, body, signal) {
    const options = body === void 0 ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    let response;
    try {
      response = await fetch(what, { ...options, signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error("Nobody answers any more: give `sojourn explore` again.");
    }
    if (response.ok) return response;
    const said = response.headers.get("Content-Type") === "application/json" ? await response.json() : { error: await response.text() };
    throw new Error(said.help ? `${said.error}
${said.help}` : said.error);
  }
  var ask = async (what, body, signal) => (await answer(what, body, signal)).json();
  async function* comes(what, body, signal) {
    const reader = (await answer(what, body, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (; ; ) {
      const { value, done } = await reader.read();
      if (done) return;
      const texts = (rest + value).split("\n");
      rest = texts.pop();
      for (const text of texts) if (text) yield JSON.parse(text);
    }
  }
  var FLOW = "flow";
  var NOTHING = "–";
  var Folder = class {
    constructor(said) {
      Object.assign(this, said);
      this.byName = new Map(said.axes.map((axis) => [axis.name, axis]));
      this.varied = said.axes.filter((axis) => axis.labels.length > 1);
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
      const parts = this.varied.map((axis) => axis.name === "seed" ? `seed ${this.label(run, "seed")}` : this.label(run, axis.name));
      return parts.filter((part) => part !== null).join(", ") || this.label(run, "scenario") || `run ${run + 1}`;
    }
    /** Runs one seed after another, so that every cell has a number early. */
    inTurn(runs) {
      const seeds = this.byName.get("seed").codes;
      return [...runs].sort((a, b) => seeds[a] - seeds[b]);
    }
  };

  // lib/save.js
  function save(name, content, type) {
    const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    const link = el("a", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 1e4);
  }
  function saveButton(words, name, type, text) {
    return button(words, () => {
      save(name, text(), type);
      say(`${words}: saved`);
    });
  }
  function field(value) {
    if (value === null || value === void 0) return "";
    if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
    const text = /^[=+\-@\t\r]/.test(value) && !Number.isFinite(Number(value)) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }
  var csvOf = (heads, rows) => `${[heads, ...rows].map((row) => row.map(field).join(",")).join("\n")}
`;
  var PRINTED = `text{font:12px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}text:not(.num){fill:currentColor}.title{font-weight:600}.grid{stroke:#d5d9de}.spine{fill:none;stroke:currentColor}.event{stroke:currentColor;stroke-dasharray:3 3;opacity:.7}`;
  var ROW = 18;
  var LEFT = 56;
  function printed({ svg, key = [], before = "" }) {
    const own = svg.cloneNode(true);
    if (before) own.querySelector(".title").prepend(before);
    own.querySelectorAll(".cursor,.chosen").forEach((part) => part.remove());
    for (const name of ["tabindex", "class", "role", "aria-label"]) own.removeAttribute(name);
    const { width, height } = svg.viewBox.baseVal;
    let [x, row] = [LEFT, 0];
    for (const [name, colour, dash] of key) {
      const wide = 48 + 7 * name.length;
      if (x > LEFT && x + wide > width) [x, row] = [LEFT, row + 1];
      own.append(svgEl("g", { transform: `translate(${x} ${height + 8 + ROW * row})` }, svgEl("line", { x1: 0, x2: 22, y1: 0, y2: 0, stroke: colour, "stroke-width": 2.5, "stroke-dasharray": dash }), svgEl("text", { x: 30, y: 4 }, name)));
      x += wide;
    }
    const tall = height + (key.length ? ROW * (row + 1) + 6 : 0);
    return { own: fill(own, { viewBox: `0 0 ${width} ${tall}`, width, height: tall }), width, tall };
  }
  function svgText(pictures, title = "") {
    const parts = pictures.map(printed);
    const width = Math.max(...parts.map((part) => part.width));
    let height = title ? 30 : 0;
    for (const { own, tall } of parts) {
      own.setAttribute("y", height);
      height += tall;
    }
    const name = title ? [svgEl("title", {}, title), svgEl("text", { x: 2, y: 18, class: "title" }, title)] : [];
    const whole = svgEl("svg", { viewBox: `0 0 ${width} ${height}`, width, height, color: "#1b1f24" }, svgEl("style", {}, PRINTED), svgEl("rect", { width, height, fill: "#fff" }), ...name, ...parts.map(({ own }) => own));
    return new XMLSerializer().serializeToString(whole);
  }

  // lib/series.js
  var COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
  var DASHES = [null, "7 3", "2 2.5", "8 3 2 3"];
  var colourOf = (index) => COLOURS[index % COLOURS.length];
  var dashOf = (index) => DASHES[index % DASHES.length];
  var lookOf = (index) => ({ colour: colourOf(index), dash: dashOf(Math.floor(index / COLOURS.length)) });
  function nearest(x, value) {
    let [low, high] = [0, x.length - 1];
    if (high < 0) return null;
    while (high - low > 1) {
      const middle = low + high >> 1;
      if (x[middle] <= value) low = middle;
      else high = middle;
    }
    const at = Math.abs(x[high] - value) < Math.abs(x[low] - value) ? high : low;
    const step = high > low ? x[high] - x[low] : 1;
    return Math.abs(x[at] - value) <= step * 1.01 ? at : null;
  }
  function pathOf(xs, ys, scales, { floor = -Infinity, steps = false } = {}) {
    let path = "";
    let pen = false;
    for (let i = 0; i < xs.length; i++) {
      if (!Number.isFinite(ys[i])) {
        pen = false;
        continue;
      }
      const [at, down] = [scales.x.of(xs[i]).toFixed(1), scales.y.of(Math.max(ys[i], floor)).toFixed(1)];
      path += pen ? steps ? `H${at}V${down}` : `L${at} ${down}` : `M${at} ${down}`;
      pen = true;
    }
    return path;
  }
  var swatch = (colour) => svgEl("svg", { viewBox: "0 0 10 10", width: 10, height: 10 }, svgEl("rect", { width: 10, height: 10, rx: 2, fill: colour }));
  function keyRows(key) {
    return key.map(([name, colour, dash]) => el("li", {}, dashed(colour, dash), name));
  }
  var dashed = (colour, dash) => svgEl("svg", { width: 26, height: 10, viewBox: "0 0 26 10", "aria-hidden": "true" }, svgEl("line", { x1: 0, x2: 26, y1: 5, y2: 5, stroke: colour, "stroke-width": 3, "stroke-dasharray": dash }));

  // lib/scale.js
  var clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  function scaleOf([low, high, logarithmic], from, to) {
    const turn = logarithmic ? (v) => Math.log(Math.max(v, low / 10)) : (v) => v;
    const a = turn(low);
    const span = turn(high) - a || 1;
    return {
      of: (v) => from + (turn(v) - a) / span * (to - from),
      back: (p) => {
        const t = a + (p - from) / (to - from) * span;
        return logarithmic ? Math.exp(t) : t;
      }
    };
  }
  function ticksOf([low, high, logarithmic], most) {
    const found = [];
    if (logarithmic) {
      const decades = Math.log10(high / low);
      const factors = decades > 2.5 ? [1] : [1, 2, 5];
      for (let power2 = Math.floor(Math.log10(low)); power2 <= Math.ceil(Math.log10(high)); power2++) {
        for (const factor of factors) {
          const value = Number((factor * 10 ** power2).toPrecision(6));
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
  function endsOf(values, logarithmic, top = null) {
    const own = values.filter((v) => Number.isFinite(v) && (!logarithmic || v > 0));
    if (!own.length) return [0, 1, 0];
    const [least, high] = own.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
    if (logarithmic) return least < high ? [least / 1.15, high * 1.15, 1] : [least / 2, high * 2, 1];
    if (top !== null && top !== void 0) return [0, top, 0];
    const low = Math.min(0, least);
    const room = (high - low || 1) * 0.06;
    return [low < 0 ? low - room : 0, high + room, 0];
  }

  // lib/axis.js
  var scalesOf = ({ left, top, width, height }, ends) => ({ x: scaleOf(ends.x, left, left + width), y: scaleOf(ends.y, top + height, top) });
  var clips = 0;
  function within(place2, { left, top, width, height }) {
    const id = `clip-${clips += 1}`;
    const own = svgEl("g", { "clip-path": `url(#${id})` });
    place2.append(svgEl("clipPath", { id }, svgEl("rect", { x: left, y: top, width, height })), own);
    return own;
  }
  function grid(place2, box, ends, em, { along = true, below = true, aside = true, unit = "" } = {}) {
    const { left, top, width, height } = box;
    const scales = scalesOf(box, ends);
    const text = (x, y, words, anchor) => place2.append(svgEl("text", { x, y, "text-anchor": anchor, class: "tick" }, String(words)));
    for (const value of along ? ticksOf(ends.x, clamp(width / (6.4 * em), 3, 9)) : []) {
      const at = scales.x.of(value);
      place2.append(svgEl("line", { x1: at, x2: at, y1: top, y2: top + height, class: "grid" }));
      if (below) text(at, top + height + 1.4 * em, value + unit, "middle");
    }
    for (const value of ticksOf(ends.y, clamp(height / (2.7 * em), 2, 6))) {
      const down = scales.y.of(value);
      place2.append(svgEl("line", { x1: left, x2: left + width, y1: down, y2: down, class: "grid" }));
      if (aside) text(left - 0.6 * em, down + em / 3, value, "end");
    }
    place2.append(svgEl("path", { d: `M${left} ${top}V${top + height}H${left + width}`, class: "spine" }));
    return scales;
  }
  var EM = 12;
  var widthOf = (text) => 0.56 * EM * String(text).length;
  var cut = (label, room) => widthOf(label) > room ? `${label.slice(0, Math.max(3, Math.floor(room / (0.56 * EM)) - 1))}…` : label;
  var slants = (labels, room) => labels.some((label) => widthOf(label) > room - 6);
  function axes(svg, box, ends, titles, { labels = null, unit = "" } = {}) {
    const { left, top, width, height } = box;
    const scales = grid(svg, box, ends, EM, { along: !labels, unit });
    const turned = labels && slants(labels.map(([, label]) => label), width / Math.max(1, labels.length));
    for (const [value, label] of labels ?? []) {
      const at = scales.x.of(value);
      const way = turned ? { transform: `translate(${at + 4} ${top + height + 12}) rotate(-38)`, "text-anchor": "end" } : { x: at, y: top + height + 18, "text-anchor": "middle" };
      svg.append(svgEl("line", { x1: at, x2: at, y1: top, y2: top + height, class: "grid" }), svgEl("text", { ...way, class: "tick" }, cut(label, 150)));
    }
    if (titles.y) svg.append(svgEl("text", { x: 2, y: top - 9, class: "title" }, titles.y));
    if (titles.x) svg.append(svgEl("text", { x: left + width, y: box.foot, "text-anchor": "end", class: "title" }, titles.x));
    return scales;
  }
  var picture = (width, height, words) => svgEl("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": words, tabindex: 0 });
  var widthIn = (place2) => Math.max(300, Math.floor(place2.clientWidth) || 800);

  // lib/quantity.js
  function digits(value) {
    if (value === null || value === void 0 || !Number.isFinite(value)) return "–";
    return String(Number(Math.abs(value) >= 1e3 ? value.toFixed(0) : value.toPrecision(3)));
  }

  // lib/cursor.js
  var pointOf = (svg, event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  var rule = (x, { top, height }, dots, r = 3) => [
    svgEl("line", { x1: x, x2: x, y1: top, y2: top + height }),
    ...dots.map(([cx, cy, fill2]) => svgEl("circle", { cx, cy, r, fill: fill2 }))
  ];
  var [LEAST, TALL] = [6, 24];
  function draggable(svg, { boxAt, moved, left, zoomed, both = false }) {
    const rect = svgEl("rect", { class: "chosen" });
    let [box, from] = [null, null];
    const chosen2 = (event) => {
      const to = pointOf(svg, event);
      const ends = (axis, low, size) => [from[axis], to[axis]].map((v) => clamp(v, low, low + size)).sort((p, q) => p - q);
      const across = ends("x", box.left, box.width);
      return { across: across[1] - across[0] < LEAST ? null : across, down: both && Math.abs(to.y - from.y) > TALL ? ends("y", box.top, box.height) : null };
    };
    const stop = () => {
      box = null;
      rect.remove();
    };
    fill(svg, {
      pointerdown: (event) => {
        moved(event);
        box = event.pointerType !== "touch" && event.button === 0 ? boxAt(event) : null;
        if (!box) return;
        from = pointOf(svg, event);
        event.preventDefault();
        svg.setPointerCapture(event.pointerId);
        svg.focus({ preventScroll: true, focusVisible: false });
      },
      pointermove: (event) => {
        moved(event);
        if (!box) return;
        const { across, down } = chosen2(event);
        const [[a, b], [c, d]] = [across ?? [box.left, box.left + box.width], down ?? [box.top, box.top + box.height]];
        rect.remove();
        if (across || down) svg.append(fill(rect, { x: a, y: c, width: b - a, height: d - c }));
      },
      pointerup: (event) => {
        if (!box) return;
        const [own, { across, down }] = [box, chosen2(event)];
        stop();
        if (across || down) zoomed(own, across, down);
      },
      pointercancel: stop,
      pointerleave: (event) => box || event.pointerType === "touch" || left(),
      blur: left
    });
  }
  function asked(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return null;
    const far = event.shiftKey ? 0.1 : 0.01;
    const found = { ArrowLeft: { way: -far }, ArrowRight: { way: far }, "+": { zoom: 0.5 }, "=": { zoom: 0.5 }, "-": { zoom: 2 }, 0: { all: true }, Escape: { off: true } }[event.key] ?? null;
    if (found) event.preventDefault();
    return found;
  }
  function tipAt(place2, svg, content, x, y) {
    place2.querySelector(":scope > .tip")?.remove();
    if (!content) return;
    const tip = el("div", { class: "tip", "aria-hidden": "true" }, content);
    place2.append(tip);
    const at = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
    const frame = place2.getBoundingClientRect();
    const { offsetWidth: wide, offsetHeight: tall } = tip;
    const right = at.x + 14 + wide < Math.min(frame.right, innerWidth);
    const left = right ? at.x + 14 : Math.max(at.x - 14 - wide, Math.max(frame.left, 0) + 2);
    const top = Math.min(Math.max(at.y - tall / 2, 4), innerHeight - tall - 4);
    tip.style.left = `${left - frame.left + place2.scrollLeft}px`;
    tip.style.top = `${top - frame.top}px`;
  }
  function tipRow({ name, colour, value, low, high }) {
    const range = Number.isFinite(low) && Number.isFinite(high) && high > low ? el("small", {}, ` ${digits(low)}–${digits(high)}`) : null;
    return el("tr", {}, el("td", {}, swatch(colour)), el("th", {}, name), el("td", {}, digits(value), range));
  }

  // lib/strips.js
  function between({ t, y }, [from, to]) {
    const first = Math.max(0, t.findIndex((own) => own >= from) - 1);
    const behind = t.findIndex((own) => own > to);
    return [t, y].map((own) => own.slice(first, behind < 0 ? own.length : behind + 1));
  }
  var KEYS = "Arrow keys move the cursor, + and − zoom, 0 shows all.";
  var MOST_ROWS = 12;
  var NEAR = 16;
  var Strips = class {
    /** `zoom` is called with the interval that somebody wants to see, `[from, to]` in seconds; `null` is all of it. */
    constructor(zoom) {
      Object.assign(this, { zoom, charts: [], at: null });
    }
    /**
     * A chart at the end of a place. `lines` are `{name, t, y, colour, dash, hidden}`, `ends` the interval that it shows, s; `top` is
     * the end of the scale, if not above the values; `events` are `[t, words]`, `window` is an interval to shade; `read` is called
     * with a time and the values there, and stands for the box at the cursor.
     */
    add(place2, options) {
      const chart = { place: place2, height: 172, events: [], window: null, top: null, read: null, near: null, ...options };
      chart.svg = picture(0, 0, `${chart.words} ${KEYS}`);
      chart.svg.classList.add("zooms");
      place2.append(chart.svg);
      this.charts.push(chart);
      this.draw(chart);
      this.listen(chart);
      return chart;
    }
    /** Takes charts away. */
    drop(charts = this.charts) {
      this.charts = this.charts.filter((own) => !charts.includes(own));
    }
    draw(chart) {
      const { svg, ends, lines, height } = chart;
      const width = widthIn(chart.place);
      const box = chart.box = { left: 58, top: 24, width: width - 76, height };
      const seen = lines.filter((line) => !line.hidden);
      fill(svg, { viewBox: `0 0 ${width} ${height + 48}`, width, height: height + 48 }).replaceChildren();
      const shade2 = svgEl("rect", { y: box.top, height, fill: "currentColor", "fill-opacity": 0.07 });
      svg.append(shade2);
      const y = endsOf(seen.flatMap((line) => line.y.filter((v) => v !== null)), false, chart.top);
      const scales = chart.scales = axes(svg, box, { x: [...ends, 0], y }, { y: chart.title }, { unit: " s" });
      const [from, to] = (chart.window ?? [0, 0]).map((t) => scales.x.of(clamp(t, ...ends)));
      fill(shade2, { x: from, width: to - from });
      const inside = within(svg, box);
      for (const [t, words] of chart.events) {
        if (t >= ends[0] && t <= ends[1]) inside.append(svgEl("line", { x1: scales.x.of(t), x2: scales.x.of(t), y1: box.top, y2: box.top + height, class: "event" }, svgEl("title", {}, words)));
      }
      chart.near = null;
      chart.paths = new Map(seen.map((line) => [line, svgEl("path", { d: pathOf(...between(line, ends), scales), fill: "none", stroke: line.colour, "stroke-width": 1.6, "stroke-dasharray": line.dash, "stroke-linejoin": "round" })]));
      inside.append(...chart.paths.values());
    }
    listen(chart) {
      const { svg } = chart;
      draggable(svg, {
        boxAt: () => chart.box,
        moved: (event) => {
          const { x, y } = pointOf(svg, event);
          this.point(chart, chart.scales.x.back(clamp(x, chart.box.left, chart.box.left + chart.box.width)), y);
        },
        left: () => this.point(null),
        zoomed: (box, across) => this.zoom(across.map(chart.scales.x.back))
      });
      fill(svg, {
        dblclick: () => this.zoom(null),
        keydown: (event) => {
          const wanted = asked(event);
          if (!wanted) return;
          const [a, b] = chart.ends;
          const now = this.at ?? (a + b) / 2;
          if (wanted.way) {
            const t = clamp(now + wanted.way * (b - a), a, b);
            this.point(chart, t);
            say(`${digits(t)} s: ${this.values(chart, t).map(({ line, value }) => `${line.name} ${digits(value)} ${chart.unit}`).join(", ")}`);
          } else if (wanted.off) this.point(null);
          else if (wanted.all) this.zoom(null);
          else {
            const half = (b - a) * wanted.zoom / 2;
            this.zoom([Math.max(0, now - half), now + half]);
          }
        }
      });
    }
    values(chart, t) {
      return [...chart.paths.keys()].flatMap((line) => {
        const i = nearest(line.t, t);
        return i === null || line.y[i] === null ? [] : [{ line, value: line.y[i], at: line.t[i] }];
      });
    }
    /** Puts the cursor into all charts, and the values at it into a box in this one; `down` is where the pointer is. */
    point(chart, t = null, down = null) {
      this.at = t;
      for (const own of this.charts) {
        const { svg, scales, box } = own;
        svg.querySelector(".cursor")?.remove();
        const values = t === null ? [] : this.values(own, t);
        const off = own === chart && down !== null ? values.map(({ value }) => Math.abs(scales.y.of(value) - down)) : [];
        const near = Math.min(...off) < NEAR ? values[off.indexOf(Math.min(...off))].line : null;
        if (near !== own.near) for (const [line, path] of own.paths) fill(path, { "stroke-opacity": near && line !== near ? 0.3 : 1 });
        own.near = near;
        if (t !== null) svg.append(svgEl("g", { class: "cursor" }, ...rule(scales.x.of(t), box, values.map(({ line, value, at }) => [scales.x.of(at), scales.y.of(value), line.colour]))));
        if (own.read) own.read(t, values);
        else tipAt(own.place, svg, own === chart && this.box(own, t, values), scales.x.of(t ?? 0), box.top + box.height / 2);
      }
    }
    box(chart, t, values) {
      const rows = values.slice(0, MOST_ROWS).map(({ line, value }) => tipRow({ name: line.name, colour: line.colour, value }));
      if (values.length > MOST_ROWS) rows.push(el("tr", {}, el("td", {}), el("th", {}, `and ${values.length - MOST_ROWS} more`)));
      return el("table", {}, el("caption", {}, [`${digits(t)} s`, chart.unit].filter(Boolean).join(" · ")), ...rows);
    }
  };

  // explore/trouble.js
  function trouble(error) {
    byId("trouble").hidden = error === null;
    byId("trouble").textContent = error === null ? "" : String(error.message ?? error);
  }

  // explore/over_time.js
  var MOST_RUNS = 24;
  var FEW_RUNS = 4;
  var TimeView = class {
    constructor(folder) {
      Object.assign(this, { folder, name: "time", title: "Over time", columns: null, between: null, cache: /* @__PURE__ */ new Map(), turn: 0 });
      this.over = new Strips((between2) => this.zoom(between2));
      this.which = el("p", { class: "soft" });
      this.tools = el("div", { class: "controls actions" });
      this.key = el("ul", { class: "key" });
      this.place = el("div", {});
      this.note = el("p", { class: "soft" });
      this.actions = el("div", { class: "actions" });
      this.element = el("div", {}, this.which, this.tools, this.key, this.place, this.note, this.actions);
    }
    /** Those that were picked, or the first that are chosen. */
    get runs() {
      const picked = this.folder.every.filter((run) => choice.picked.has(run));
      return (picked.length ? picked : chosen(this.folder).slice(0, FEW_RUNS)).slice(0, MOST_RUNS);
    }
    get strips() {
      const known = new Set(this.columns.map(({ table, column }) => `${table}.${column}`));
      const said = (choice.menus.get("strips") ?? "").split(",").filter((own) => known.has(own));
      if (said.length) return said;
      return ["flows.delivery_rate_bps", "flows.srtt_s", "queues.sojourn_mean_s"].filter((own) => known.has(own)).concat([...known]).slice(0, 2);
    }
    async draw() {
      const { folder, runs } = this;
      const turn = this.turn += 1;
      if (!runs.length) {
        for (const own of [this.tools, this.key, this.place, this.actions]) own.replaceChildren();
        this.which.textContent = "No run is chosen.";
        return;
      }
      const picked = choice.picked.size > 0;
      this.which.textContent = picked ? `${runs.length} picked run${runs.length === 1 ? "" : "s"}${choice.picked.size > MOST_RUNS ? ` (of ${choice.picked.size}: no more lie over one another)` : ""}.` : `The first ${runs.length} of the chosen runs. Pick others under Runs, or in a plot of one metric against another.`;
      try {
        if (this.of !== runs[0]) this.columns = (await ask("run", { revision: folder.revision, run: runs[0] })).columns;
        this.of = runs[0];
        if (turn !== this.turn) return;
        if (!this.columns.length) {
          this.place.replaceChildren(el("p", { class: "soft" }, "The first run has no table over time."));
          return;
        }
        const found = [];
        for (const strip of this.strips) found.push(await this.fetch(strip, runs));
        if (turn !== this.turn) return;
        trouble(null);
        this.show(found);
      } catch (error) {
        if (turn === this.turn) trouble(error);
      }
    }
    async fetch(strip, runs) {
      const key = JSON.stringify([strip, this.between]);
      if (!this.cache.has(key)) this.cache.set(key, /* @__PURE__ */ new Map());
      const own = this.cache.get(key);
      const wanted = runs.filter((run) => !own.has(run));
      const [table, column] = strip.split(".");
      if (wanted.length) for await (const part of comes("series", { revision: this.folder.revision, table, column, runs: wanted, between: this.between })) own.set(part.index, part);
      if (this.cache.size > 40) this.cache.delete(this.cache.keys().next().value);
      return { strip, table, column, runs: runs.map((run) => own.get(run)) };
    }
    show(found) {
      const { folder } = this;
      const wrong = found.flatMap((own) => own.runs.filter((part) => part.error).map((part) => `${folder.title(part.index)}: ${part.error}`));
      const several = found[0].runs.length > 1;
      const subjects = [...new Set(found.flatMap(({ strip, runs }) => several ? runs.flatMap((part) => (part.lines ?? []).map(({ name }) => `${strip} ${name}`)) : []))];
      const look = (strip, run, at, name, index) => {
        if (!several) return { ...lookOf(index), name };
        const own = subjects.filter((subject) => subject.startsWith(`${strip} `));
        return { colour: colourOf(at), dash: dashOf(own.indexOf(`${strip} ${name}`)), name: `${folder.title(run)}, ${name}` };
      };
      const seconds = Math.max(...found.flatMap((own) => own.runs.map((part) => part.seconds ?? 0)), 1e-3);
      const ends = this.between ?? [0, seconds];
      const offered = this.columns.map(({ table, column, label }) => [`${table}.${column}`, `${label} · ${table}`]);
      const menus = found.map(({ strip }, at) => {
        const picked = (value) => this.set(this.strips.map((own, index) => index === at ? value : own));
        const away = button("Take away", () => this.set(this.strips.filter((_, index) => index !== at)), { disabled: found.length < 2, "aria-label": `Take away strip ${at + 1}` });
        return el("div", { class: "strip" }, el("label", {}, `Strip ${at + 1}`, select(offered, picked, strip)), away);
      });
      const add = () => this.set([...this.strips, offered.find(([value]) => !this.strips.includes(value))?.[0] ?? offered[0][0]]);
      this.tools.replaceChildren(
        button("One strip more", add, { disabled: found.length >= 5 }),
        button("Show all of it", () => this.zoom(null), { disabled: !this.between }),
        el("span", { class: "soft" }, "Drag to zoom; 0 shows all.")
      );
      const focused = this.over.charts.findIndex(({ svg }) => svg === document.activeElement);
      this.over.drop();
      this.place.replaceChildren();
      const charts = found.map((own, at) => {
        const lines = own.runs.flatMap((part, index) => (part.lines ?? []).map((line, nth) => ({ ...line, ...look(own.strip, part.index, index, line.name, nth) })));
        const place2 = el("div", { class: "chart" });
        this.place.append(menus[at], place2);
        const { label, unit } = own.runs.find((part) => part.label) ?? { label: own.column, unit: "" };
        const title = unit ? `${label} (${unit})` : label;
        const [first] = own.runs;
        const words = `${title} over time: ${lines.map((line) => line.name).join("; ").slice(0, 300)}.`;
        return this.over.add(place2, { title, unit, lines, ends, words, ...several ? {} : { events: first.events, window: first.window } });
      });
      charts[focused]?.svg.focus({ preventScroll: true });
      const names = several ? found[0].runs.map((part) => folder.title(part.index)) : [];
      const alone = several ? [] : found.map(({ runs: [run] }) => run.lines ?? []).sort((a, b) => b.length - a.length)[0] ?? [];
      const key = several ? names.map((name, at) => [name, colourOf(at), null]) : alone.map(({ name }, at) => [name, lookOf(at).colour, lookOf(at).dash]);
      if (several && subjects.length > found.length) key.push(...dashesSaid(found, subjects).map(([name, dash]) => [name, "currentColor", dash]));
      this.key.replaceChildren(...keyRows(key));
      this.note.textContent = `Means over steps that an eye can tell apart.${wrong.length ? ` Left out: ${wrong.slice(0, 3).join("; ")}.` : ""}`;
      const csv = () => csvOf(["run", "of", "column", "t_s", "value", "unit"], found.flatMap(({ strip, runs }) => runs.flatMap((part) => (part.lines ?? []).flatMap((line) => line.t.map((t, i) => [part.run, line.name, strip, t, line.y[i], part.unit])))));
      this.actions.replaceChildren(
        ...charts.map(({ svg }, at) => saveButton(charts.length > 1 ? `Save picture ${at + 1} (SVG)` : "Save the picture (SVG)", `over-time-${at + 1}.svg`, "image/svg+xml", () => svgText([{ svg, key }]))),
        saveButton("Save the numbers (CSV)", "over-time.csv", "text/csv", csv)
      );
      reachable(this.element.querySelectorAll(".scroll"));
    }
    set(strips) {
      choice.menus.set("strips", strips.join(","));
      changed(this.folder);
    }
    zoom(between2) {
      this.between = between2;
      this.draw();
    }
  };
  function dashesSaid(found, subjects) {
    const byDash = /* @__PURE__ */ new Map();
    for (const { strip } of found) {
      const own = subjects.filter((subject) => subject.startsWith(`${strip} `));
      if (own.length < 2) continue;
      own.forEach((subject, at) => {
        const dash = dashOf(at);
        if (!byDash.has(dash)) byDash.set(dash, /* @__PURE__ */ new Set());
        byDash.get(dash).add(subject.slice(strip.length + 1));
      });
    }
    return [...byDash].map(([dash, names]) => [[...names].join(", "), dash]);
  }

  // lib/table.js
  var order = new Intl.Collator(void 0, { numeric: true });
  function tableOf(caption, heads, rows, attributes = {}) {
    const cell = (name, more) => (own) => own instanceof Element ? own : el(name, more, own);
    const body = rows.map((row) => el("tr", {}, ...row.map(cell("td", {}))));
    const head = el("thead", {}, el("tr", {}, ...heads.map(cell("th", { scope: "col" }))));
    return el("table", attributes, caption && cell("caption", {})(caption), head, el("tbody", {}, ...body));
  }

  // explore/chart.js
  var CIVIDIS = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];
  function shade(part) {
    const at = clamp(part, 0, 1) * (CIVIDIS.length - 1);
    const below = Math.min(Math.floor(at), CIVIDIS.length - 2);
    const mix = (index) => {
      const of = (colour) => parseInt(colour.slice(1 + 2 * index, 3 + 2 * index), 16);
      return Math.round(of(CIVIDIS[below]) + (of(CIVIDIS[below + 1]) - of(CIVIDIS[below])) * (at - below));
    };
    const rgb = [mix(0), mix(1), mix(2)];
    const light = rgb.map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
    return { ground: `rgb(${rgb.join(",")})`, ink: luminance > 0.19 ? "#000" : "#fff" };
  }
  function pointsChart(place2, { series, x, y, labels, titles, lines, told, said, chose }) {
    const width = widthIn(place2);
    const foot = labels && slants(labels.map(([, label]) => label), (width - 74) / labels.length) ? 92 : 30;
    const height = clamp(width * 0.5, 300, 460) + foot;
    const box = { left: 58, top: 26, width: width - 74, height: height - 26 - foot - 18, foot: height - 4 };
    const svg = picture(width, height, `${told}. Arrow keys go from point to point.`);
    const scales = axes(svg, box, { x, y }, titles, { labels });
    const every = [];
    series.forEach((own, index) => {
      const { colour, dash } = lookOf(index);
      const at = own.points.map((point) => ({ ...point, name: own.name, colour, px: scales.x.of(point.x + (point.off ?? 0)), py: scales.y.of(point.y) }));
      const group = svgEl("g", {});
      if (lines && at.length > 1) group.append(svgEl("path", { d: at.map((p, i) => `${i ? "L" : "M"}${p.px.toFixed(1)} ${p.py.toFixed(1)}`).join(""), fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": dash }));
      for (const p of at) {
        if (p.high > p.low) group.append(svgEl("line", { x1: p.px, x2: p.px, y1: scales.y.of(p.low), y2: scales.y.of(p.high), stroke: colour, "stroke-width": 1.5, "stroke-opacity": 0.65 }));
        group.append(svgEl("circle", { cx: p.px.toFixed(1), cy: p.py.toFixed(1), r: at.length > 300 ? 2.2 : 3.6, fill: colour, "fill-opacity": lines ? 1 : 0.75 }));
      }
      svg.append(group);
      every.push(...at);
    });
    const show = (point) => {
      svg.querySelector(".cursor")?.remove();
      if (!point) return tipAt(place2, svg, null);
      svg.append(svgEl("g", { class: "cursor" }, svgEl("circle", { cx: point.px, cy: point.py, r: 6, class: "ring", fill: "none", stroke: "currentColor", "stroke-width": 1.5 })));
      const rows = said(point).map(([head, value]) => el("tr", {}, el("th", {}, head), el("td", {}, value)));
      tipAt(place2, svg, el("table", {}, ...rows), point.px, point.py);
    };
    let now = -1;
    svg.addEventListener("pointermove", (event) => {
      const { x: px, y: py } = pointOf(svg, event);
      let [best, off] = [null, 26];
      for (const point of every) {
        const own = Math.hypot(point.px - px, point.py - py);
        if (own < off) [best, off] = [point, own];
      }
      now = best ? every.indexOf(best) : now;
      show(best);
    });
    svg.addEventListener("pointerleave", () => show(null));
    svg.addEventListener("blur", () => show(null));
    svg.addEventListener("click", () => now >= 0 && chose?.(every[now]));
    svg.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !every.length) return;
      const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") return show(null);
      if (event.key === "Enter" && now >= 0) return chose?.(every[now]);
      if (!way) return;
      event.preventDefault();
      now = (now + way + every.length) % every.length;
      show(every[now]);
      say(said(every[now]).map(([head, value]) => `${head} ${value}`).join(", "));
    });
    place2.replaceChildren(svg);
    return svg;
  }
  function heatChart(place2, { rows, columns, values, titles, told, low, high, unit }) {
    const width = widthIn(place2);
    const left = Math.min(width * 0.3, Math.max(48, ...rows.map((label) => widthOf(label) + 14)));
    const wide = Math.min(150, (width - left - 8) / Math.max(1, columns.length));
    const turned = slants(columns, wide);
    const head = turned ? 88 : 44;
    const tall = clamp(420 / Math.max(1, rows.length), 24, 44);
    const height = head + tall * rows.length + 58;
    const svg = picture(width, height, told);
    svg.append(svgEl("text", { x: 2, y: 14, class: "title" }, `${titles.y} ↓   ${titles.x} →`));
    columns.forEach((label, at) => {
      const middle = left + wide * (at + 0.5);
      svg.append(turned ? svgEl("text", { transform: `translate(${middle - 4} ${head - 6}) rotate(-38)`, class: "tick" }, cut(label, 96)) : svgEl("text", { x: middle, y: head - 7, "text-anchor": "middle", class: "tick" }, label));
    });
    rows.forEach((label, row) => {
      const y = head + tall * row;
      svg.append(svgEl("text", { x: left - 7, y: y + tall / 2 + 4, "text-anchor": "end", class: "tick" }, cut(label, left - 8)));
      columns.forEach((_, column) => {
        const value = values[row][column];
        const x = left + wide * column;
        if (value === null) return svg.append(svgEl("rect", { x: x + 1, y: y + 1, width: wide - 2, height: tall - 2, fill: "none", class: "grid" }));
        const { ground, ink } = shade(high > low ? (value - low) / (high - low) : 0.5);
        const text = digits(value);
        svg.append(svgEl("rect", { x: x + 0.5, y: y + 0.5, width: wide - 1, height: tall - 1, fill: ground }, svgEl("title", {}, `${rows[row]}, ${columns[column]}: ${text} ${unit}`)));
        if (widthOf(text) < wide - 2) svg.append(svgEl("text", { x: x + wide / 2, y: y + tall / 2 + 4, "text-anchor": "middle", class: "num", fill: ink }, text));
      });
    });
    const foot = head + tall * rows.length + 18;
    for (let i = 0; i < 60; i++) svg.append(svgEl("rect", { x: left + 3 * i, y: foot, width: 3.2, height: 10, fill: shade(i / 59).ground }));
    svg.append(svgEl("text", { x: left, y: foot + 24, class: "tick" }, digits(low)), svgEl("text", { x: left + 180, y: foot + 24, "text-anchor": "end", class: "tick" }, `${digits(high)} ${unit}`));
    place2.replaceChildren(svg);
    return svg;
  }

  // explore/measured.js
  var kept = /* @__PURE__ */ new Map();
  var Metric = class {
    constructor(folder, expression) {
      Object.assign(this, { folder, expression, label: expression, unit: "", top: null, byRun: /* @__PURE__ */ new Map(), wrong: [] });
    }
    get axis() {
      return this.unit ? `${this.label} (${this.unit})` : this.label;
    }
    get eachFlow() {
      return this.expression.includes("{flow}");
    }
    /** Whether these runs' values are all here. */
    has(runs) {
      return runs.every((run) => this.byRun.has(run));
    }
    async fetch(runs, signal, progress) {
      const wanted = this.folder.inTurn(runs.filter((run) => !this.byRun.has(run)));
      if (!wanted.length) return;
      let told = 0;
      for await (const part of comes("measure", { revision: this.folder.revision, metric: this.expression, runs: wanted }, signal)) {
        if (part.label !== void 0) {
          Object.assign(this, { label: part.label, unit: part.unit, top: part.top });
          continue;
        }
        for (; told < part.done; told++) this.byRun.set(wanted[told], []);
        for (const [run, of, value] of part.rows) this.byRun.get(run).push([of, value]);
        if (part.wrong) this.wrong = part.wrong;
        progress(told, wanted.length);
      }
    }
  };
  function metricOf(folder, expression) {
    if (!kept.has(expression)) kept.set(expression, new Metric(folder, expression));
    return kept.get(expression);
  }
  function metricField(folder, name, label, usual) {
    const value = choice.menus.get(name) ?? usual;
    const set = (text) => {
      if (!text.trim() || text.trim() === value) return;
      choice.menus.set(name, text.trim());
      changed(folder);
    };
    const field2 = el("input", { value, spellcheck: "false", autocomplete: "off", autocapitalize: "off", change: () => set(field2.value) });
    const usuals = [["", "usual ones …"], ...folder.metrics.map(({ metric, name: words }) => [metric, words])];
    return [el("label", { class: "wide" }, label, field2), el("label", {}, "", select(usuals, set, "", { "aria-label": `${label}: usual ones` }))];
  }
  var Measuring = class {
    constructor() {
      this.element = el("div", { class: "progress" });
      this.control = null;
      this.turn = 0;
    }
    stop() {
      this.control?.abort();
      this.control = null;
    }
    async show(metrics, runs, draw) {
      this.stop();
      const own = this.control = new AbortController();
      const turn = this.turn += 1;
      const current = () => turn === this.turn;
      this.element.replaceChildren();
      if (metrics.every((metric) => metric.has(runs))) {
        draw(true);
        return this.tellWrong(metrics);
      }
      const bar = el("progress", { max: 1, value: 0, "aria-label": "Measured" });
      const text = el("span", {}, "measuring …");
      const stop = button("Stop", () => this.stop());
      this.element.replaceChildren(bar, text, stop);
      let drawn = 0;
      try {
        for (const metric of metrics) {
          await metric.fetch(runs, own.signal, (done, of) => {
            if (!current()) return;
            bar.value = done / of;
            text.textContent = `${done} of ${of} runs`;
            if (performance.now() - drawn > 400) {
              draw(false);
              drawn = performance.now();
            }
          });
        }
        trouble(null);
      } catch (error) {
        if (!current()) return;
        if (error.name === "AbortError") text.textContent = `Stopped: ${text.textContent}`;
        else {
          this.element.replaceChildren();
          draw(true);
          return trouble(error);
        }
        stop.remove();
        return draw(true);
      }
      if (!current()) return;
      draw(true);
      this.tellWrong(metrics);
    }
    tellWrong(metrics) {
      const wrong = metrics.flatMap((metric) => metric.wrong);
      const said = wrong.map(({ why, runs }) => `${runs} run${runs === 1 ? "" : "s"} without a value: ${why}`);
      this.element.replaceChildren(...said.length ? [el("span", {}, said.slice(0, 3).join(" "))] : []);
    }
  };
  function spreadOf(values) {
    if (!values.length) return null;
    const sorted = [...values].sort((a, b) => a - b);
    const middle = sorted.length >> 1;
    const median = sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    return { mean: values.reduce((sum, v) => sum + v, 0) / values.length, min: sorted[0], max: sorted.at(-1), median, count: values.length };
  }
  var axesOfMetric = (folder, metric, runs) => [...metric.eachFlow ? [FLOW] : [], ...folder.variedAmong(runs).map((axis) => axis.name)];
  function labelsAmong(folder, runs, name, metric) {
    if (name === "") return [""];
    if (name === FLOW && metric.eachFlow) return [...new Set(runs.flatMap((run) => (metric.byRun.get(run) ?? []).map(([of]) => of)))];
    const axis = folder.byName.get(name);
    const there = new Set(runs.map((run) => axis.codes[run]));
    return [...axis.labels.filter((_, code) => there.has(code)), ...there.has(NO_LABEL) ? [null] : []];
  }
  var labelOfValue = (folder, run, of, name, metric) => name === "" ? "" : name === FLOW && metric.eachFlow ? of : folder.label(run, name);
  function overSaid(folder, runs, shown, metric) {
    const rest = axesOfMetric(folder, metric, runs).filter((name) => !shown.includes(name)).map((name) => [name, labelsAmong(folder, runs, name, metric).length]);
    const said = rest.filter(([, count]) => count > 1).map(([name, count]) => `${name} (${count})`);
    return said.length ? said.join(", ") : "";
  }

  // explore/pivot.js
  var HOW = [["mean", "mean"], ["median", "median"], ["min", "least"], ["max", "greatest"], ["count", "how many values"]];
  var PivotView = class {
    constructor(folder) {
      Object.assign(this, { folder, name: "pivot", title: "Pivot" });
      this.controls = el("div", { class: "controls" });
      this.measuring = new Measuring();
      this.place = el("div", { class: "chart" });
      this.note = el("p", { class: "soft" });
      this.actions = el("div", { class: "actions" });
      this.element = el("div", {}, this.controls, this.measuring.element, this.place, this.note, this.actions);
    }
    hide() {
      this.measuring.stop();
    }
    draw() {
      const { folder } = this;
      const metric = metricOf(folder, choice.menus.get("metric") ?? folder.metrics[0].metric);
      const runs = chosen(folder);
      const axes2 = axesOfMetric(folder, metric, runs);
      const own = axes2.filter((name) => name !== "seed" && name !== FLOW);
      const choices = [...axes2.map((name) => [name, name]), ["", "nothing"]];
      const known = choices.map(([name]) => name);
      const rows = menuValue("rows", known, own[0] ?? axes2[0] ?? "");
      const columns = menuValue("columns", known, (metric.eachFlow ? FLOW : own.find((name) => name !== rows)) ?? "");
      const how = menuValue("how", HOW.map(([value]) => value), "mean");
      const as = menuValue("as", ["table", "heat"], "table");
      this.controls.replaceChildren(
        ...metricField(folder, "metric", "Metric", folder.metrics[0].metric),
        menuOf(folder, "rows", "Down", choices, rows),
        menuOf(folder, "columns", "Across", choices, columns),
        menuOf(folder, "how", "Shown", HOW, how),
        menuOf(folder, "as", "As", [["table", "table"], ["heat", "heatmap"]], as)
      );
      this.measuring.show([metric], runs, (done) => this.fill({ metric, rows, columns, how, as, runs, done }));
    }
    fill({ metric, rows, columns, how, as, runs, done }) {
      const { folder } = this;
      const downs = labelsAmong(folder, runs, rows, metric);
      const acrosses = labelsAmong(folder, runs, columns, metric);
      const at = (labels) => new Map(labels.map((label, index) => [label, index]));
      const [down, across] = [at(downs), at(acrosses)];
      const cells = downs.map(() => acrosses.map(() => ({ values: [], runs: /* @__PURE__ */ new Set() })));
      for (const run of runs) {
        for (const [of, value] of metric.byRun.get(run) ?? []) {
          const i = down.get(labelOfValue(folder, run, of, rows, metric));
          const j = across.get(labelOfValue(folder, run, of, columns, metric));
          if (i === void 0 || j === void 0 || value === null) continue;
          cells[i][j].values.push(value);
          cells[i][j].runs.add(run);
        }
      }
      const spreads = cells.map((row) => row.map(({ values }) => spreadOf(values)));
      const shown = spreads.map((row) => row.map((own) => own ? own[how] : null));
      const every = shown.flat().filter((value) => value !== null);
      const unit = how === "count" ? "" : metric.unit;
      const rest = overSaid(folder, runs, [rows, columns], metric);
      const [howSaid] = HOW.filter(([value]) => value === how).map(([, words]) => words);
      const told = `${metric.axis}: ${howSaid}${rest ? ` over ${rest}` : ""}, by ${rows || "nothing"} and ${columns || "nothing"}`;
      if (!every.length) {
        this.place.replaceChildren(el("p", { class: "soft" }, done ? "No chosen run has a value of it." : ""));
      } else if (as === "heat") {
        this.svg = heatChart(this.place, { rows: downs.map((own) => own ?? NOTHING), columns: acrosses.map((own) => own ?? NOTHING), values: shown, titles: { x: columns, y: rows }, told, low: Math.min(...every), high: Math.max(...every), unit });
      } else this.place.replaceChildren(el("div", { class: "scroll" }, this.table({ metric, rows, columns, how, downs, acrosses, spreads, cells, told })));
      const ranges = as === "table" && how !== "count" ? " Small: least to greatest." : "";
      this.note.textContent = every.length ? `${told}.${ranges}` : "";
      const csv = () => csvOf([rows || "all", columns || "all", "mean", "median", "least", "greatest", "values"], spreads.flatMap((row, i) => row.map((own, j) => [downs[i] || "all", acrosses[j] || "all", own?.mean, own?.median, own?.min, own?.max, own?.count ?? 0])));
      this.actions.replaceChildren(saveButton("Save the numbers (CSV)", "pivot.csv", "text/csv", csv));
      if (as === "heat" && every.length) this.actions.append(saveButton("Save the picture (SVG)", "heatmap.svg", "image/svg+xml", () => svgText([{ svg: this.svg }])));
      const command = this.command({ metric, rows, columns, how, as });
      if (command) this.actions.append(copyButton("Copy the command", command));
      reachable(this.element.querySelectorAll(".scroll"));
    }
    /** The command that shows the same; none where it shows otherwise. */
    command({ metric, rows, columns, how, as }) {
      const pattern = patternOf(this.folder);
      if (pattern === null || how !== "mean") return null;
      const cell = pattern ? ` --cell ${shellWord(pattern)}` : "";
      const folder = shellWord(this.folder.folder);
      if (as !== "heat") return `sojourn table ${folder} ${shellWord(metric.expression)}${cell}`;
      if (!rows || !columns || rows === "seed" || columns === "seed") return null;
      return `sojourn plot ${folder} heatmap ${shellWord(`value=${metric.expression}`)} ${shellWord(`x=${columns}`)} ${shellWord(`y=${rows}`)}${cell} -o heatmap.svg`;
    }
    table({ metric, rows, columns, how, downs, acrosses, spreads, cells, told }) {
      const { folder } = this;
      const only = (run, name, label) => {
        if (name === "" || name === FLOW) return;
        choice.filters.set(name, /* @__PURE__ */ new Set([label === null ? NO_LABEL : folder.byName.get(name).labels.indexOf(label)]));
      };
      const heads = [el("th", { class: "text", scope: "col" }, rows || "all"), ...acrosses.map((label) => label || (columns ? NOTHING : metric.label))];
      const body = downs.map((label, i) => {
        const row = acrosses.map((other, j) => {
          const own = spreads[i][j];
          if (!own) return NOTHING;
          const range = how !== "count" && own.max > own.min ? el("small", {}, `${digits(own.min)}–${digits(own.max)}`) : null;
          const click = () => {
            const [run] = cells[i][j].runs;
            only(run, rows, label);
            only(run, columns, other);
            choice.view = "runs";
            changed(folder);
          };
          return el("td", {}, button(how === "count" ? String(own.count) : digits(own[how]), click, { title: "These runs alone" }), range);
        });
        return [el("th", { class: "text", scope: "row" }, label || (rows ? NOTHING : "all")), ...row];
      });
      return tableOf(el("caption", { class: "unseen" }, told), heads, body, { class: "pivot" });
    }
  };

  // explore/plot.js
  var BY_METRIC = "another metric";
  var PlotView = class {
    constructor(folder) {
      Object.assign(this, { folder, name: "plot", title: "Plot" });
      this.controls = el("div", { class: "controls" });
      this.measuring = new Measuring();
      this.place = el("div", { class: "chart" });
      this.key = el("ul", { class: "key" });
      this.note = el("p", { class: "soft" });
      this.actions = el("div", { class: "actions" });
      this.numbers = el("details", {}, el("summary", {}, "The numbers"));
      this.element = el("div", {}, this.controls, this.measuring.element, this.place, this.key, this.note, this.actions, this.numbers);
    }
    hide() {
      this.measuring.stop();
    }
    draw() {
      const { folder } = this;
      const first = folder.metrics[0].metric;
      const metric = metricOf(folder, choice.menus.get("y") ?? choice.menus.get("metric") ?? first);
      const runs = chosen(folder);
      const axes2 = axesOfMetric(folder, metric, runs);
      const own = axes2.filter((name) => name !== "seed" && name !== FLOW);
      const numbers = own.filter((name) => folder.byName.get(name).at);
      const along = [...axes2.filter((name) => name !== FLOW).map((name) => [name, name]), [BY_METRIC, BY_METRIC]];
      const x = menuValue("x", along.map(([name]) => name), numbers.at(-1) ?? own.at(-1) ?? (axes2.includes("seed") ? "seed" : BY_METRIC));
      const tells = [["", "nothing"], ...axes2.map((name) => [name, name])];
      const usual = metric.eachFlow ? FLOW : own.find((name) => name !== x) ?? "";
      const colour = menuValue("colour", tells.map(([name]) => name), usual);
      const log = menuValue("log", ["", "x", "y", "xy"], "");
      const scatter = x === BY_METRIC;
      const other = scatter ? metricOf(folder, choice.menus.get("x-metric") ?? folder.metrics.find((m) => m.metric !== metric.expression)?.metric ?? first) : null;
      this.controls.replaceChildren(
        ...metricField(folder, "y", "Metric", metric.expression),
        menuOf(folder, "x", "Against", along, x),
        ...scatter ? metricField(folder, "x-metric", "Metric along", other.expression) : [],
        menuOf(folder, "colour", "Colours", tells, colour),
        menuOf(folder, "log", "Logarithmic", [["", "neither"], ["x", "along"], ["y", "up"], ["xy", "both"]], log)
      );
      const asked2 = { metric, other, x, colour, log, runs };
      this.measuring.show(other ? [other, metric] : [metric], runs, () => scatter ? this.scatter(asked2) : this.lines(asked2));
    }
    lines({ metric, x, colour, log, runs }) {
      const { folder } = this;
      const axis = folder.byName.get(x);
      if (!axis) return this.nothing();
      const groups = /* @__PURE__ */ new Map();
      for (const run of runs) {
        const code = axis.codes[run];
        for (const [of, value] of metric.byRun.get(run) ?? []) {
          if (code < 0 || value === null) continue;
          const name = labelOfValue(folder, run, of, colour, metric) ?? NOTHING;
          if (!groups.has(name)) groups.set(name, /* @__PURE__ */ new Map());
          const own = groups.get(name);
          if (!own.has(code)) own.set(code, []);
          own.get(code).push(value);
        }
      }
      const names = [...groups.keys()];
      const known = labelsAmong(folder, runs, colour, metric);
      names.sort((a, b) => known.indexOf(a) - known.indexOf(b));
      const there = axis.labels.map((_, code) => code).filter((code) => names.some((name) => groups.get(name).has(code)));
      const placeOf = axis.at ? (code) => axis.at[code] : (code) => there.indexOf(code);
      const series = names.map((name, index) => ({
        name,
        points: [...groups.get(name)].map(([code, values]) => ({ x: placeOf(code), off: axis.at ? 0 : (index - (names.length - 1) / 2) * Math.min(0.12, 0.6 / names.length), label: axis.labels[code], ...spreadOf(values) })).map((point) => ({ ...point, y: point.mean, low: point.min, high: point.max })).sort((a, b) => a.x - b.x)
      }));
      const flat = series.flatMap((own) => own.points);
      if (!flat.length) return this.nothing();
      const labels = axis.at ? null : there.map((code, index) => [index, axis.labels[code]]);
      const rest = overSaid(folder, runs, [x, colour], metric);
      const told = `${metric.axis} against ${x}${colour ? `, colours: ${colour}` : ""}${rest ? `; mean and range over ${rest}` : ""}`;
      const ends = axis.at ? endsOf(flat.map((p) => p.x), log.includes("x")) : [-0.5, there.length - 0.5, 0];
      this.svg = pointsChart(this.place, {
        series,
        x: ends,
        y: endsOf(flat.flatMap((p) => [p.low, p.high]), log.includes("y"), metric.top),
        labels,
        titles: { x: axis.at ? axis.title : x, y: metric.axis },
        // Between labels that are no numbers there is nothing.
        lines: Boolean(axis.at),
        told,
        said: (p) => [...p.name ? [[colour, p.name]] : [], [x, p.label], [metric.label, `${digits(p.mean)} ${metric.unit}`], ...p.count > 1 ? [["range", `${digits(p.low)}–${digits(p.high)}`], ["values", String(p.count)]] : []]
      });
      const heads = [...colour ? [colour] : [], x, `mean${metric.unit ? ` (${metric.unit})` : ""}`, "least", "greatest", "values"];
      const rows = series.flatMap((own) => own.points.map((p) => [...colour ? [own.name] : [], p.label, p.mean, p.min, p.max, p.count]));
      this.finish({ told, names: colour ? names : [], heads, rows, command: this.command({ metric, x, colour, log }) });
    }
    scatter({ metric, other, colour, log, runs }) {
      const { folder } = this;
      const groups = /* @__PURE__ */ new Map();
      for (const run of runs) {
        for (const [of, value] of metric.byRun.get(run) ?? []) {
          const beside = (other.byRun.get(run) ?? []).find(([own]) => own === of || !other.eachFlow || !metric.eachFlow);
          if (!beside || value === null || beside[1] === null) continue;
          const name = labelOfValue(folder, run, of, colour, metric) ?? NOTHING;
          if (!groups.has(name)) groups.set(name, []);
          groups.get(name).push({ x: beside[1], y: value, low: value, high: value, run, of });
        }
      }
      const known = labelsAmong(folder, runs, colour, metric);
      const names = [...groups.keys()].sort((a, b) => known.indexOf(a) - known.indexOf(b));
      const series = names.map((name) => ({ name, points: groups.get(name) }));
      const flat = series.flatMap((own) => own.points);
      if (!flat.length) return this.nothing();
      const told = `${metric.axis} against ${other.axis}, a point a run${metric.eachFlow ? " and flow" : ""}${colour ? `, colours: ${colour}` : ""}`;
      this.svg = pointsChart(this.place, {
        series,
        x: endsOf(flat.map((p) => p.x), log.includes("x"), other.top),
        y: endsOf(flat.map((p) => p.y), log.includes("y"), metric.top),
        titles: { x: other.axis, y: metric.axis },
        lines: false,
        told,
        said: (p) => [["run", folder.title(p.run)], ...p.of ? [[FLOW, p.of]] : [], [other.label, `${digits(p.x)} ${other.unit}`], [metric.label, `${digits(p.y)} ${metric.unit}`]],
        chose: (p) => {
          choice.picked.add(p.run);
          say(`Picked: ${folder.title(p.run)}`);
          this.note.textContent = `${told}. Picked: ${folder.title(p.run)}. Its lines are under Over time.`;
        }
      });
      const heads = ["run", "flow", other.axis, metric.axis];
      const rows = flat.map((p) => [folder.title(p.run), p.of, p.x, p.y]);
      this.finish({ told: `${told}. A click, or Enter, picks the run`, names: colour ? names : [], heads, rows, command: null });
    }
    nothing() {
      this.place.replaceChildren(el("p", { class: "soft" }, "No chosen run has a value of it."));
      for (const own of [this.key, this.actions]) own.replaceChildren();
      this.note.textContent = "";
      this.numbers.hidden = true;
    }
    finish({ told, names, heads, rows, command }) {
      this.note.textContent = `${told}.`;
      const csv = () => csvOf(heads, rows);
      const key = names.map((name, index) => [name, lookOf(index).colour, lookOf(index).dash]);
      this.key.replaceChildren(...keyRows(key));
      this.actions.replaceChildren(saveButton("Save the picture (SVG)", "plot.svg", "image/svg+xml", () => svgText([{ svg: this.svg, key }])), saveButton("Save the numbers (CSV)", "plot.csv", "text/csv", csv));
      if (command) this.actions.append(copyButton("Copy the command", command));
      const most = 500;
      const body = rows.slice(0, most).map((row) => row.map((value) => typeof value === "number" ? digits(value) : el("td", { class: "text" }, value ?? NOTHING)));
      const caption = rows.length > most ? `The first ${most} of ${rows.length}; the CSV has all.` : null;
      const table = tableOf(caption, heads.map((head) => el("th", { class: "text", scope: "col" }, head)), body);
      this.numbers.hidden = false;
      this.numbers.replaceChildren(el("summary", {}, "The numbers"), el("div", { class: "scroll" }, table));
      this.numbers.ontoggle = () => reachable(this.numbers.querySelectorAll(".scroll"));
    }
    command({ metric, x, colour, log }) {
      const pattern = patternOf(this.folder);
      if (pattern === null || x === "seed" || colour === "seed") return null;
      const words = [`y=${metric.expression}`, `x=${x}`, `colour=${colour || "-"}`, ...log ? [`log=${log}`] : []];
      return `sojourn plot ${shellWord(this.folder.folder)} lines ${words.map(shellWord).join(" ")}${pattern ? ` --cell ${shellWord(pattern)}` : ""} -o plot.svg`;
    }
  };

  // explore/runs.js
  var ROWS = 100;
  var RunsView = class {
    constructor(folder) {
      Object.assign(this, { folder, shown: ROWS, name: "runs", title: "Runs", open: null });
      this.element = el("div", {});
      this.table = el("div", { class: "scroll" });
      this.more = el("p", {});
      this.about = el("div", {});
      this.bar = el("div", { class: "controls actions" });
      this.element.append(this.bar, this.about, this.table, this.more);
    }
    draw() {
      const { folder } = this;
      const runs = chosen(folder);
      const varied = folder.variedAmong(runs);
      const axes2 = varied.length ? varied : folder.axes;
      const toggle = (run, on) => on ? choice.picked.add(run) : choice.picked.delete(run);
      const csv = () => csvOf(folder.axes.map((axis) => axis.name), runs.map((run) => folder.axes.map((axis) => folder.label(run, axis.name))));
      const over = button("", () => {
        choice.view = "time";
        changed(folder);
      });
      const none = button("Pick none", () => {
        choice.picked.clear();
        this.draw();
      });
      const count = () => {
        over.textContent = `Over time: ${choice.picked.size} picked`;
        over.disabled = none.disabled = !choice.picked.size;
      };
      count();
      this.bar.replaceChildren(over, none, saveButton("Save the list (CSV)", "runs.csv", "text/csv", csv));
      const text = (...own) => el("td", { class: "text" }, ...own);
      const rows = runs.slice(0, this.shown).map((run) => {
        const title = folder.title(run);
        const change = ({ target }) => {
          toggle(run, target.checked);
          count();
        };
        const box = el("input", { type: "checkbox", checked: choice.picked.has(run), "aria-label": `Pick ${title}`, change });
        return [text(box), ...axes2.map((axis) => text(folder.label(run, axis.name) ?? NOTHING)), text(button("About", () => this.tell(run), { "aria-label": `About ${title}` }))];
      });
      const head = (own) => el("th", { class: "text", scope: "col" }, own);
      const heads = [head(el("span", { class: "unseen" }, "picked")), ...axes2.map((axis) => head(axis.name)), head(el("span", { class: "unseen" }, "about"))];
      this.table.replaceChildren(tableOf(runs.length ? `${rows.length} of ${runs.length} runs` : "No run has all of these labels.", heads, rows));
      const more = () => {
        this.shown += ROWS;
        this.draw();
      };
      this.more.replaceChildren(...runs.length > this.shown ? [button(`Show ${Math.min(ROWS, runs.length - this.shown)} more`, more)] : []);
      reachable(this.element.querySelectorAll(".scroll, pre"));
    }
    async tell(run) {
      const { folder } = this;
      const own = await ask("run", { revision: folder.revision, run }).catch(trouble);
      if (!own) return;
      const close = () => {
        about.remove();
        this.table.querySelector("button")?.focus();
      };
      const command = (words, text) => text ? [el("p", { class: "actions" }, el("b", {}, words), copyButton("Copy the command", text)), el("pre", {}, text)] : [];
      const list = (head, texts) => texts.length ? [el("h3", {}, head), el("ul", {}, ...texts.map((text) => el("li", {}, text)))] : [];
      const checks = own.checks.map(({ name, said, passed }) => el("li", { class: passed === true ? "good" : passed === false ? "bad" : "" }, `${name}: ${said}`));
      const about = el(
        "section",
        { class: "about", "aria-label": `About ${own.label}`, tabindex: -1 },
        el("h2", {}, own.label),
        el("p", { class: "soft" }, `${own.imported ? "Imported" : `On ${own.engine}`}, by ${own.version}. In ${own.folder}.`),
        ...checks.length ? [el("h3", {}, "Checks"), el("ul", {}, ...checks)] : [],
        ...list("Caveats", [...own.remarks, ...own.warnings]),
        ...command("Repeat it", own.again),
        ...command("Open it in the playground", own.playground),
        ...command("It was made by", own.made_by),
        el("p", { class: "soft" }, `Tables: ${own.tables.map(({ name, rows }) => `${name} (${rows})`).join(", ")}.`),
        button("Close", close)
      );
      this.about.replaceChildren(about);
      about.focus();
      about.scrollIntoView({ block: "nearest" });
    }
  };

  // explore/main.js
  async function start() {
    const folder = new Folder(await ask("runs"));
    const name = folder.folder.split("/").filter(Boolean).at(-1) ?? folder.folder;
    document.title = `${name} – Sojourn`;
    byId("title").textContent = name;
    byId("what").textContent = `${folder.runs} run${folder.runs === 1 ? "" : "s"} in ${folder.folder}, made by Sojourn ${folder.version}.`;
    if (folder.damaged.length) trouble(new Error(`Left out, because they cannot be read:
${folder.damaged.join("\n")}`));
    readAddress(folder);
    const reports = folder.reports.map((own) => el("a", { href: `report/${encodeURIComponent(own)}`, target: "_blank", rel: "noopener" }, own === "report.html" ? "Open the report" : `Open ${own}`));
    const none = reports.length ? [] : [copyButton("Copy the command that writes a report", `sojourn report ${shellWord(folder.folder)}`)];
    const again = button("Refresh", () => location.reload(), { title: "Runs may have been added" });
    byId("top").append(...reports, ...none, copyButton("Copy the command that made it", folder.command), again, colours());
    facets(folder, byId("facets"));
    if (matchMedia("(max-width: 760px)").matches) byId("choice").open = false;
    const views = [new RunsView(folder), new PivotView(folder), new PlotView(folder), new TimeView(folder)];
    const tabs = views.map((view) => {
      fill(view.element, { role: "tabpanel", id: `view-${view.name}`, "aria-labelledby": `tab-${view.name}`, tabindex: 0, hidden: true });
      const show2 = () => {
        choice.view = view.name;
        changed(folder);
      };
      return button(view.title, show2, { role: "tab", id: `tab-${view.name}`, "aria-controls": `view-${view.name}` });
    });
    byId("tabs").append(...tabs);
    byId("tabs").addEventListener("keydown", (event) => {
      const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!way) return;
      event.preventDefault();
      const next = (tabs.indexOf(document.activeElement) + way + tabs.length) % tabs.length;
      tabs[next].focus();
      tabs[next].click();
    });
    byId("views").append(...views.map((view) => view.element));
    let last = null;
    const show = () => {
      if (!views.some((view2) => view2.name === choice.view)) choice.view = "runs";
      byId("count").textContent = `${chosen(folder).length} of ${folder.runs}`;
      views.forEach((view2, at) => {
        const own = view2.name === choice.view;
        tabs[at].setAttribute("aria-selected", own);
        tabs[at].tabIndex = own ? 0 : -1;
        view2.element.hidden = !own;
        if (!own) view2.hide?.();
      });
      const view = views.find((own) => own.name === choice.view);
      if (last !== null && last !== view) trouble(null);
      last = view;
      view.draw();
    };
    choice.listeners.push(show);
    show();
    addEventListener("hashchange", () => {
      readAddress(folder);
      changed(folder);
    });
    let wide = document.body.clientWidth;
    addEventListener("resize", () => {
      if (Math.abs(document.body.clientWidth - wide) < 8) return;
      wide = document.body.clientWidth;
      last?.draw();
    });
    document.documentElement.classList.add("live");
    document.documentElement.dataset.ready = "";
  }
  start().catch(trouble);
})();
