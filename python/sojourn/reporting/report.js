// Built by `make bundles` from web/report and web/lib, of sha256 88d543c9e03c3606a5ffc9917e6b78b01dca2a5838ccef14911c6cf02a82610b
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
  var button = (words, click, attributes = {}) => el("button", { type: "button", click, ...attributes }, ...[words].flat());
  function select(choices, picked, chosen, attributes = {}) {
    const options = choices.map(([value, words = value, title]) => el("option", { value, title, selected: value === chosen }, words));
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

  // lib/table.js
  var FEWEST_TO_FILTER = 6;
  var FEWEST_TO_SORT = 2;
  function keyOf(cell) {
    const text = (cell?.firstChild?.textContent ?? "").trim() || (cell?.textContent ?? "").trim();
    const number = /^[-−]?[\d.,]+(?:e[-+]?\d+)?/i.exec(text);
    return { text, number: number ? Number(number[0].replace("−", "-").replace(/,/g, "")) : NaN };
  }
  var order = new Intl.Collator(void 0, { numeric: true });
  function sortable(table) {
    const body = table.tBodies[0];
    const heads = table.tHead?.rows[0]?.cells;
    if (!body || !heads || body.rows.length < FEWEST_TO_SORT) return;
    const first = [...body.rows];
    [...heads].forEach((head, column) => {
      const sort = () => {
        const now = head.getAttribute("aria-sort");
        const way = { ascending: "descending", descending: null }[now] ?? (now ? null : "ascending");
        for (const other of heads) other.removeAttribute("aria-sort");
        table.classList.toggle("sorted", way !== null);
        if (way === null) return body.append(...first);
        head.setAttribute("aria-sort", way);
        const keyed = first.map((row, at) => ({ row, at, ...keyOf(row.cells[column]) }));
        const numbers = keyed.filter(({ number }) => !Number.isNaN(number)).length * 2 > keyed.length;
        const sign = way === "ascending" ? 1 : -1;
        keyed.sort((a, b) => {
          if (!numbers) return sign * order.compare(a.text, b.text) || a.at - b.at;
          const [p, q] = [Number.isNaN(a.number), Number.isNaN(b.number)];
          return p || q ? p - q || a.at - b.at : sign * (a.number - b.number) || a.at - b.at;
        });
        body.append(...keyed.map(({ row }) => row));
      };
      head.append(button([...head.childNodes], sort, { class: "sort", title: "Sort by this column" }));
    });
  }
  function filterable(table, after = () => {
  }) {
    const body = table.tBodies[0];
    if (!body || body.rows.length < FEWEST_TO_FILTER) return;
    const count = el("span", { class: "soft", role: "status" });
    const filter = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      for (const row of body.rows) {
        const text = row.textContent.toLowerCase();
        const fits = words.every((word) => text.includes(word));
        row.hidden = !fits;
        left += fits;
        after(row, fits);
      }
      count.textContent = words.length ? `${left} of ${body.rows.length}` : "";
    };
    const field = el("input", { type: "search", placeholder: "filter", "aria-label": "Rows with these words", autocomplete: "off", spellcheck: "false", input: filter });
    const place2 = table.closest(".scroll") ?? table;
    place2.before(el("p", { class: "filter" }, field, " ", count));
  }

  // lib/address.js
  var VERSION = "1";
  var MOST = 3e5;
  async function through(bytes, stream, most = Infinity) {
    const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
    const parts = [];
    let size = 0;
    for (; ; ) {
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
  var toWords = (bytes) => {
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  };
  var bytesOf = (words) => Uint8Array.from(atob(words.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  async function pack(state) {
    const bytes = new TextEncoder().encode(JSON.stringify(state));
    return `#${VERSION}.${toWords(await through(bytes, new CompressionStream("deflate-raw"), MOST))}`;
  }

  // lib/copy.js
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const field = el("textarea", { class: "unseen", "aria-hidden": "true" });
      field.value = text;
      document.body.append(field);
      field.select();
      const done = document.execCommand("copy");
      field.remove();
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

  // report/actions.js
  function actions(figure, experiments2) {
    const command = figure.querySelector("pre.again");
    if (!command) return;
    const row = el("p", { class: "actions" }, copyButton("Copy the command", command.textContent));
    const own = figure.querySelector("details");
    (own ?? command).before(row);
    const key = figure.dataset.experiment;
    if (key === void 0) return;
    const note = el("p", { class: "soft", hidden: true });
    const open = async () => {
      const { page, texts } = await experiments2();
      const [text, run] = texts[Number(key)];
      const address = await pack({ a: { text, run }, b: null, lesson: "" });
      const local = location.protocol === "file:" && page !== "";
      note.replaceChildren(local ? "If no page opened, run: " : "The playground is a file of the machine that Sojourn is on. Run: ", el("code", {}, "sojourn playground '…'"), " ", copyButton("Copy it", `sojourn playground '${address}'`));
      note.hidden = false;
      if (local) window.open(page + address, "_blank", "noopener");
    };
    row.append(" ", button("Open in the playground", open));
    row.after(note);
  }

  // lib/scale.js
  function roundBelow(value) {
    const power = 10 ** Math.floor(Math.log10(value));
    return power * [5, 2, 1].find((factor) => factor * power <= value * (1 + 1e-9));
  }
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
  function logFloor(lines, high) {
    const usual = lines.map((values) => [...values].filter((v) => v > 0).sort((a, b) => a - b)).filter((own) => own.length).map((own) => own[own.length >> 1]);
    if (!usual.length) return high / 10;
    return Math.max(roundBelow(Math.min(...usual) / 2), roundBelow(high / 1e3));
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

  // lib/quantity.js
  function digits(value) {
    if (value === null || value === void 0 || !Number.isFinite(value)) return "–";
    return String(Number(Math.abs(value) >= 1e3 ? value.toFixed(0) : value.toPrecision(3)));
  }

  // lib/series.js
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
    const chosen = (event) => {
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
        const { across, down } = chosen(event);
        const [[a, b], [c, d]] = [across ?? [box.left, box.left + box.width], down ?? [box.top, box.top + box.height]];
        rect.remove();
        if (across || down) svg.append(fill(rect, { x: a, y: c, width: b - a, height: d - c }));
      },
      pointerup: (event) => {
        if (!box) return;
        const [own, { across, down }] = [box, chosen(event)];
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

  // report/packed.js
  async function unpacked(text) {
    const all = await through(bytesOf(text.trim()), new DecompressionStream("deflate-raw"));
    const length = new DataView(all.buffer).getUint32(0, true);
    return { value: JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + length))), body: all.slice(4 + length) };
  }
  function half(bits) {
    const exponent = bits >> 10 & 31;
    const fraction = bits & 1023;
    const sign = bits & 32768 ? -1 : 1;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
  }
  function arraysOf({ f, n }, body) {
    const exact = new Float32Array(body.slice(0, 4 * f).buffer);
    const high = body.subarray(4 * f, 4 * f + n);
    const low = body.subarray(4 * f + n, 4 * f + 2 * n);
    return ({ g, k, at, n: count, s }) => {
      if (g) return Float64Array.from({ length: g[2] }, (_, i) => g[0] + i * g[1]);
      if (k === "f") return exact.subarray(at, at + count);
      return Float64Array.from({ length: count }, (_, i) => s * half(high[at + i] << 8 | low[at + i]));
    };
  }

  // report/figure.js
  var boxOf = ({ box: [left, top, width, height] }) => ({ left, top, width, height });
  var EM = 8.5;
  var Figure = class {
    constructor(element, group) {
      Object.assign(this, { element, group, svg: element.querySelector("svg"), head: null, rule: null });
      this.block = element.querySelector("script.numbers");
      this.ready = null;
      element.classList.add("answers");
      draggable(this.svg, {
        boxAt: (event) => {
          const at = this.free && this.place(event);
          return at ? { ...boxOf(this.head.axes[at.index]), index: at.index } : null;
        },
        moved: (event) => this.moved(event),
        left: () => this.group.point(null),
        zoomed: ({ index }, across, down) => {
          const { x, y, ends } = this.scales(index);
          this.zoom(index, across?.map(x.back), down && [...down.reverse().map(y.back), ends.y[2]], ends.x[2]);
        },
        both: true
      });
      fill(this.svg, { tabindex: 0, dblclick: (event) => this.twice(event), keydown: (event) => this.key(event), focus: () => this.load() });
    }
    /** Reads the numbers, once. */
    load() {
      this.ready ??= unpacked(this.block.textContent).then(({ value, body }) => {
        const arrays = arraysOf(value, body);
        const seen = /* @__PURE__ */ new Map();
        const array = (place2) => {
          const key = JSON.stringify(place2);
          if (!seen.has(key)) seen.set(key, arrays(place2));
          return seen.get(key);
        };
        for (const axes of value.axes) {
          axes.lines = axes.lines.map((line) => ({ ...line, x: array(line.x), y: array(line.y) }));
          axes.main = axes.lines.filter((line) => !line.r);
          for (const line of axes.main) {
            const beside = axes.lines.filter((own) => own.r && own.n === line.n && own.c === line.c);
            line.seeds = beside.filter((own) => own.r === "seed").map((own) => own.y);
            const end = (role) => beside.find((own) => own.r === role)?.y;
            line.low = line.seeds.length ? over(line, Math.min) : end("low");
            line.high = line.seeds.length ? over(line, Math.max) : end("high");
          }
        }
        this.head = value;
        this.time = value.axes.length > 0 && value.axes.some((own) => own.called[0].startsWith("Time")) && value.axes.every((own) => String(own.x) === String(value.axes[0].x));
        this.free = value.axes.every((own) => own.free);
        this.svg.classList.toggle("zooms", this.free);
        this.draw();
      });
      return this.ready;
    }
    get seeds() {
      return Boolean(this.head?.axes.some((axes) => axes.main.some((line) => line.seeds.length)));
    }
    /** What an axis shows now, `[low, high, logarithmic]`. */
    shown(axes, index) {
      const { x, y, log } = this.group.view;
      const wide = [...this.time && x ? [...x, 0] : this.own?.x?.[index] ?? axes.x];
      let tall = y?.[index] ?? this.own?.y?.[index] ?? axes.y;
      if (log === "log" && !tall[2]) {
        tall = [tall[0] > 0 ? tall[0] : logFloor(axes.main.map((line) => line.y), tall[1]), tall[1], 1];
      } else if (log === "linear" && tall[2]) tall = [y?.[index] ? tall[0] : 0, tall[1], 0];
      return { x: wide, y: tall };
    }
    scales(index) {
      const axes = this.head.axes[index];
      const ends = this.shown(axes, index);
      return { ends, floor: ends.y[2] ? ends.y[0] : -Infinity, ...scalesOf(boxOf(axes), ends) };
    }
    /** Draws it as the group wants it; as it was drawn if that is what it wants. */
    draw() {
      if (!this.head) return;
      this.svg.querySelectorAll(".redrawn").forEach((own) => own.remove());
      const { x, y, log, seeds } = this.group.view;
      const anew = this.free && Boolean(x && this.time || y && this.time || log || seeds !== "range" && this.seeds || this.own);
      for (const own of this.svg.querySelectorAll("[data-axes]")) conceal(own, anew);
      if (anew) this.head.axes.forEach((axes, index) => this.svg.append(this.axes(axes, index)));
      this.point();
    }
    axes(axes, index) {
      const { top, height } = boxOf(axes);
      const scales = this.scales(index);
      const { ends, x } = scales;
      const out = svgEl("g", { class: "redrawn" });
      grid(out, boxOf(axes), ends, EM, { below: axes.told[0], aside: axes.told[1] });
      const inside = within(out, boxOf(axes));
      if (axes.span) inside.append(svgEl("rect", { x: x.of(axes.span[0]), y: top, width: Math.max(0, x.of(axes.span[1]) - x.of(axes.span[0])), height, fill: "currentColor", "fill-opacity": 0.1 }));
      const { seeds } = this.group.view;
      for (const line of axes.main) {
        const over2 = line.seeds.length > 0;
        if (line.low && (!over2 || seeds === "range")) inside.append(svgEl("path", { d: band(line, scales), fill: line.c, "fill-opacity": 0.25 }));
        if (over2 && seeds === "lines") for (const own of line.seeds) inside.append(stroke({ ...line, y: own, w: 0.7, a: 0.55 }, scales));
        inside.append(stroke(line, scales));
      }
      for (const at of axes.events ?? []) inside.append(svgEl("line", { x1: x.of(at), x2: x.of(at), y1: top, y2: top + height, class: "event" }));
      for (const [at, words] of axes.notes ?? []) if (at >= ends.x[0] && at <= ends.x[1]) out.append(svgEl("text", { x: x.of(at) + 2, y: top - 1, class: "tick note" }, words));
      return out;
    }
    // --- the cursor ---------------------------------------------------------------------------------------------------
    /** Where an event is, in points, and in which axes; `null` outside of all. */
    place(event) {
      if (!this.svg.getScreenCTM() || !this.head) return null;
      const { x, y } = pointOf(this.svg, event);
      const near = this.head.axes.map(({ box: [l, t, w, h] }, index2) => ({ index: index2, off: Math.max(l - x, x - l - w, 0) * 4 + Math.max(t - y, y - t - h, 0) }));
      const [{ index, off }] = near.sort((a, b) => a.off - b.off);
      return off > 40 ? null : { x, y, index };
    }
    async moved(event) {
      await this.load();
      const at = this.place(event);
      if (!at) return this.group.point(null);
      this.group.point({ figure: this, index: at.index, x: this.scales(at.index).x.back(at.x), at });
    }
    /** Shows this part of it: of a figure over time all of the group's, of others this one alone. */
    zoom(index, wide, tall, logarithmic = 0) {
      if (this.time) {
        if (wide) this.group.own.x = wide;
        if (tall) this.group.own.y = { ...this.group.own.y, [index]: tall };
      } else {
        const every = this.head.axes.map((_, own) => own);
        this.own ??= { x: {}, y: {} };
        if (wide) for (const own of every) this.own.x[own] = [...wide, logarithmic];
        if (tall) this.own.y[index] = tall;
      }
      this.group.changed();
    }
    /** Half as much, around a point: two clicks, two taps. */
    async twice(event) {
      await this.load();
      const at = this.place(event);
      if (at && this.free) this.around(at.index, this.scales(at.index).x.back(at.x), 0.5);
    }
    around(index, middle, factor) {
      const { ends } = this.scales(index);
      const full = this.head.axes[index].x;
      if (ends.x[2]) {
        const half3 = Math.log(ends.x[1] / ends.x[0]) * factor / 2;
        return this.zoom(index, [Math.max(full[0], middle * Math.exp(-half3)), Math.min(full[1], middle * Math.exp(half3))], null, 1);
      }
      const half2 = Math.abs(ends.x[1] - ends.x[0]) * factor / 2;
      if (factor > 1 && 2 * half2 >= Math.abs(full[1] - full[0])) return this.all();
      this.zoom(index, [Math.max(full[0], middle - half2), Math.min(full[1], middle + half2)], null);
    }
    all() {
      this.own = null;
      this.group.all();
    }
    async key(event) {
      const wanted = asked(event);
      if (!wanted) return;
      await this.load();
      const index = this.group.cursor?.index ?? 0;
      const { ends } = this.scales(index);
      const now = this.group.cursor?.x ?? (ends.x[0] + ends.x[1]) / 2;
      if (wanted.way) {
        const x = clamp(now + wanted.way * (ends.x[1] - ends.x[0]), Math.min(ends.x[0], ends.x[1]), Math.max(ends.x[0], ends.x[1]));
        this.group.point({ figure: this, index, x, at: null });
        say(this.words(this.values(index, x)));
      } else if (wanted.off) this.group.point(null);
      else if (wanted.all) this.all();
      else if (this.free) this.around(index, now, wanted.zoom);
    }
    /** The axes that stand with this one over the same time: a sheet may have several runs below one another. */
    together(index) {
      const { axes } = this.head;
      let from = index;
      while (from > 0 && !axes[from - 1].called[0]) from -= 1;
      let to = index;
      while (to < axes.length - 1 && !axes[to].called[0]) to += 1;
      return Array.from({ length: to - from + 1 }, (_, i) => from + i);
    }
    /** What every line is at a time: `[{title, unit, rows: [{name, colour, value, low, high, at}]}]`. */
    values(index, x) {
      return this.together(index).map((own) => {
        const axes = this.head.axes[own];
        const [, title, unit] = /^(.*?)(?: \(([^()]*)\))?$/.exec(axes.called[1]);
        const rows = [];
        for (const line of axes.main) {
          const i = nearest(line.x, x);
          if (i === null) continue;
          rows.push({ name: line.n || title, colour: line.c, value: line.y[i], low: line.low?.[i], high: line.high?.[i], at: line.x[i], own });
        }
        return { title, unit: unit ?? "", rows };
      });
    }
    words(values) {
      return values.map(({ title, unit, rows }) => `${title}: ${rows.map((row) => `${row.name} ${digits(row.value)} ${unit}`).join(", ")}`).join("; ");
    }
    /** Draws the cursor where the group has it, and says the values if it is this figure that is pointed at. */
    point() {
      this.rule?.remove();
      tipAt(this.element, this.svg, null);
      const { cursor } = this.group;
      if (!cursor || !this.head) return;
      if (this.time) this.pointTime(cursor);
      else if (cursor.figure === this) this.pointNearest(cursor);
    }
    pointTime({ figure, index, x, at }) {
      this.rule = svgEl("g", { class: "cursor" });
      this.head.axes.forEach((axes, own) => {
        const { left, top, width, height } = boxOf(axes);
        const { x: across, y, floor } = this.scales(own);
        const place2 = across.of(x);
        if (place2 < left - 0.5 || place2 > left + width + 0.5) return;
        const dots = axes.main.flatMap((line) => {
          const i = nearest(line.x, x);
          return i === null || !Number.isFinite(line.y[i]) ? [] : [[across.of(line.x[i]), y.of(Math.max(line.y[i], floor)), line.c]];
        });
        this.rule.append(...rule(place2, { top, height }, dots.filter(([, down]) => down >= top - 1 && down <= top + height + 1), 2.4));
      });
      this.svg.append(this.rule);
      if (figure !== this) return;
      const rows = this.values(index, x).flatMap(({ title, unit, rows: own }) => [
        el("tr", { class: "of" }, el("th", { colspan: 2 }, title), el("td", {}, unit)),
        ...own.map((row) => tipRow(row.name === title ? { ...row, name: "" } : row))
      ]);
      tipAt(this.element, this.svg, el("table", {}, el("caption", {}, `${digits(x)} s`), ...rows), this.scales(index).x.of(x), at?.y ?? this.head.axes[index].box[1]);
    }
    pointNearest({ index, at }) {
      if (!at) return;
      const axes = this.head.axes[index];
      const { x, y, ends, floor } = this.scales(index);
      const along = (value) => axes.labels?.find(([place2]) => Math.abs(place2 - value) < 0.5)?.[1] ?? digits(value);
      let best = null;
      for (const line of axes.main) {
        for (let i = 0; i < line.x.length; i++) {
          if (!Number.isFinite(line.y[i])) continue;
          const off = Math.hypot(x.of(line.x[i]) - at.x, y.of(line.y[i]) - at.y);
          if (off < (best?.off ?? 18)) best = { off, name: line.n, colour: line.c, value: line.y[i], where: along(line.x[i]), px: x.of(line.x[i]), py: y.of(line.y[i]) };
        }
      }
      for (const [left, width, foot, height, name] of axes.bars ?? []) {
        const [a, b] = [x.of(left), x.of(left + width)];
        const top = y.of(foot + height);
        if (at.x >= a && at.x <= b && at.y >= top - 6 && at.y <= y.of(Math.max(foot, floor)) + 2) {
          best = { off: 0, name, colour: "currentColor", value: foot > ends.y[0] || !ends.y[2] ? height : foot + height, where: along(left + width / 2), px: (a + b) / 2, py: top };
        }
      }
      if (!best) return;
      this.rule = svgEl("g", { class: "cursor" }, svgEl("circle", { cx: best.px, cy: best.py, r: 4, class: "ring" }));
      this.svg.append(this.rule);
      const below = this.head.axes.at(-1).called[0];
      const rows = [el("tr", {}, el("th", { colspan: 2 }, axes.called[1] || "value"), el("td", {}, digits(best.value))), el("tr", {}, el("th", { colspan: 2 }, below || "at"), el("td", {}, best.where))];
      tipAt(this.element, this.svg, el("table", {}, el("caption", {}, [best.name, axes.called[2]].filter(Boolean).join(", ") || best.where), ...rows), best.px, best.py);
    }
  };
  function over(line, choose) {
    return line.y.map((value, i) => {
      const there = [value, ...line.seeds.map((own) => own[i])].filter(Number.isFinite);
      return there.length ? choose(...there) : NaN;
    });
  }
  function stroke(line, scales) {
    const out = svgEl("g", {});
    if (!(line.d && line.d.length === 0)) out.append(svgEl("path", { d: pathOf(line.x, line.y, scales, { floor: scales.floor, steps: line.steps }), fill: "none", stroke: line.c, "stroke-width": line.w, "stroke-opacity": line.a ?? 1, "stroke-dasharray": line.d?.join(" ") }));
    if (line.m) line.x.forEach((value, i) => Number.isFinite(line.y[i]) && out.append(svgEl("circle", { cx: scales.x.of(value), cy: scales.y.of(line.y[i]), r: 2.4, fill: line.c })));
    return out;
  }
  function band(line, { x, y, floor }) {
    let path = "";
    let way = [];
    for (let i = 0; i <= line.x.length; i++) {
      if (Number.isFinite(line.low[i]) && Number.isFinite(line.high[i])) way.push(i);
      else if (way.length) {
        const points = (values) => way.map((own) => `${x.of(line.x[own]).toFixed(1)} ${y.of(Math.max(values[own], floor)).toFixed(1)}`);
        path += `M${points(line.high).join("L")}L${points(line.low).reverse().join("L")}Z`;
        way = [];
      }
    }
    return path;
  }
  function conceal(axes, hidden) {
    const drawn = (own) => own.classList.contains("event") || own.querySelector("path, use") !== null || own.matches("path, use");
    for (const own of axes.children) {
      const parts = own.querySelector(":scope > g text") ? own.children : [own];
      for (const part of parts) if (drawn(part)) part.style.display = hidden ? "none" : "";
    }
  }

  // report/group.js
  var Group = class {
    constructor(elements, page) {
      this.page = page;
      this.own = { x: null, y: null };
      this.cursor = null;
      this.figures = elements.map((element) => new Figure(element, this));
      const watch = new IntersectionObserver((seen) => {
        for (const { target, isIntersecting } of seen) {
          const figure = this.figures.find(({ element }) => element === target);
          figure.near = isIntersecting;
          if (isIntersecting && (figure.head || this.page.asks || this.zoomed)) figure.load().then(() => figure.draw());
        }
      }, { rootMargin: "300px" });
      for (const { element } of this.figures) watch.observe(element);
    }
    /** What is to be seen: the group's zoom with the page's choices. */
    get view() {
      return { log: this.page.log, seeds: this.page.seeds, ...this.own };
    }
    get zoomed() {
      return Boolean(this.own.x || this.own.y || this.figures.some((figure) => figure.own));
    }
    changed() {
      for (const figure of this.figures) if (figure.near) figure.load().then(() => figure.draw());
      this.page.zoomChanged();
    }
    all() {
      Object.assign(this.own, { x: null, y: null });
      for (const figure of this.figures) figure.own = null;
      this.changed();
    }
    point(cursor) {
      this.cursor = cursor;
      for (const figure of this.figures) {
        if (!figure.near) continue;
        if (figure.head) figure.point();
        else if (cursor) figure.load();
      }
    }
  };

  // report/main.js
  var pageState = {
    log: "",
    seeds: "range",
    groups: [],
    /** Whether figures are to be drawn otherwise than they were. */
    get asks() {
      return this.log !== "" || this.seeds !== "range";
    },
    zoomChanged() {
      back.disabled = !this.groups.some((group) => group.zoomed);
    },
    changed() {
      for (const group of this.groups) group.changed();
    }
  };
  var back = button("Show all", () => pageState.groups.forEach((group) => group.all()), { disabled: true });
  var figures = [...document.querySelectorAll("figure")].filter((own) => own.querySelector(":scope > script.numbers, .plot > script.numbers"));
  var shared = [...document.querySelectorAll("[data-group]")];
  for (const place2 of shared) pageState.groups.push(new Group(figures.filter((own) => place2.contains(own)), pageState));
  for (const own of figures) if (!shared.some((place2) => place2.contains(own))) pageState.groups.push(new Group([own], pageState));
  var bar = el("div", { class: "bar", role: "group", "aria-label": "All figures" });
  if (figures.length) {
    bar.append(
      menu("Axes", [["", "as drawn"], ["linear", "linear"], ["log", "logarithmic"]], (value) => {
        pageState.log = value;
        pageState.changed();
      })
    );
    if (document.body.dataset.seeds === "several") {
      bar.append(
        menu("Seeds", [["range", "their range"], ["lines", "each a line"], ["off", "the first alone"]], (value) => {
          pageState.seeds = value;
          pageState.changed();
        })
      );
    }
  }
  bar.append(colours());
  if (figures.length) bar.append(back, el("span", { class: "soft hint" }, "Drag over a figure to zoom, 0 shows all; with the keyboard: Tab, arrows, + and −."));
  (document.querySelector("main") ?? document.body).prepend(bar);
  for (const table of document.querySelectorAll("table")) {
    if (table.closest(".tip")) continue;
    sortable(table);
    filterable(table, (row, fits) => {
      const of = row.querySelector('a[href^="#"]')?.getAttribute("href").slice(1);
      const figure = of && document.getElementById(of);
      if (figure?.matches("figure")) figure.hidden = !fits;
    });
  }
  reachable(document.querySelectorAll(".scroll, figure, pre"));
  var block = document.querySelector("script.experiments");
  var carried = null;
  var experiments = () => carried ??= unpacked(block.textContent).then(({ value }) => value);
  for (const own of document.querySelectorAll("figure")) actions(own, experiments);
  document.documentElement.classList.add("live");
  document.documentElement.dataset.ready = "";
})();
