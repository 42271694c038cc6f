// The plots as one SVG, made from the same panels as those of the page; and as PNG from that.

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [760, 170, 60, 20, 30, 28];

const escaped = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** Round numbers from 0 to about this one. */
function ticks(most) {
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

function panelSvg(panel, y0) {
  const most = 1.05 * panel.most || 1;
  const x = (t) => LEFT + (t / (panel.end || 1)) * (WIDTH - LEFT - RIGHT);
  const y = (v) => y0 + HEIGHT - BOTTOM - (v / most) * (HEIGHT - TOP - BOTTOM);
  const out = [`<text x="${LEFT}" y="${y0 + 14}" font-weight="600">${escaped(panel.title)} (${escaped(panel.unit)})</text>`];
  for (const v of ticks(most)) {
    out.push(`<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(v).toFixed(1)}" y2="${y(v).toFixed(1)}" stroke="#d5d9de"/>`);
    out.push(`<text x="${LEFT - 6}" y="${(y(v) + 4).toFixed(1)}" text-anchor="end">${v}</text>`);
  }
  for (const t of ticks(panel.end || 1)) {
    out.push(`<text x="${x(t).toFixed(1)}" y="${y0 + HEIGHT - 10}" text-anchor="middle">${t} s</text>`);
  }
  let legend = LEFT + 170;
  for (const { name, values, colour, dash } of panel.lines) {
    let path = "";
    let pen = false;
    values.forEach((v, i) => {
      if (v !== null) path += `${pen ? "L" : "M"}${x(panel.t[i]).toFixed(1)} ${y(v).toFixed(1)}`;
      pen = v !== null;
    });
    const dashes = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
    out.push(`<path d="${path}" fill="none" stroke="${colour}" stroke-width="1.4"${dashes}/>`);
    out.push(`<line x1="${legend}" x2="${legend + 18}" y1="${y0 + 10}" y2="${y0 + 10}" stroke="${colour}" stroke-width="2"${dashes}/>`);
    out.push(`<text x="${legend + 23}" y="${y0 + 14}">${escaped(name)}</text>`);
    legend += 40 + 7 * name.length;
  }
  return out.join("\n");
}

/** One SVG of these panels, under this title. */
export function svg(title, panels) {
  const height = 30 + panels.length * HEIGHT;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="#1b1f24">`,
    `<title>${escaped(title)}</title><rect width="100%" height="100%" fill="#ffffff"/>`,
    `<text x="${LEFT}" y="20" font-size="14">${escaped(title)}</text>`,
    ...panels.map((panel, i) => panelSvg(panel, 30 + i * HEIGHT)),
    "</svg>",
  ].join("\n");
}

/** An SVG as PNG, twice as fine. */
export function png(text) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      Object.assign(canvas, { width: 2 * image.width, height: 2 * image.height });
      const to = canvas.getContext("2d");
      to.scale(2, 2);
      to.drawImage(image, 0, 0);
      canvas.toBlob(resolve, "image/png");
    };
    image.onerror = () => reject(new Error("the picture could not be drawn"));
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  });
}
