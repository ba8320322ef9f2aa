// Elements, charts and calls. Text from the server is only ever set as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";
const DASHES = ["", "6 3", "2 3", "8 3 2 3"];
// Colours are in the style sheet, for each theme; lines of one colour differ in their dashes.
const COLOURS = 8;
const colour = (i) => `var(--c${i % COLOURS})`;
const dash = (i) => DASHES[(i + Math.floor(i / COLOURS)) % DASHES.length];
const narrow = () => window.innerWidth < 640;

export function el(tag, facts = {}, ...inside) {
  const node = document.createElement(tag);
  fill(node, facts);
  node.append(...inside.flat().filter((part) => part !== null && part !== undefined));
  return node;
}

function draw(tag, facts = {}, ...inside) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(facts)) node.setAttribute(name, value);
  node.append(...inside);
  return node;
}

function fill(node, facts) {
  for (const [name, value] of Object.entries(facts)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && typeof value !== "string") node[name] = value;
    else if (value !== undefined && value !== null) node.setAttribute(name, value);
  }
}

export const number = (x, digits = 3) =>
  x === null || x === undefined ? "–" : Number(x).toLocaleString("en", { maximumSignificantDigits: digits });

const KEY = "sfumato-key";

export async function call(address, body) {
  const options = { headers: {}, credentials: "same-origin" };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    options.headers["content-type"] = "application/json";
    options.headers["x-sfumato-key"] = localStorage.getItem(KEY) || "";
  }
  let answer;
  try {
    answer = await fetch(address, options);
  } catch {
    throw Object.assign(new Error("The studio does not answer: is it still running in the terminal?"), { status: 0 });
  }
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(found.error || "The studio refused this."), { status: answer.status });
  return found;
}

export async function enter(key) {
  const found = await call("/api/enter", { key });
  localStorage.setItem(KEY, found.page);
}

export function say(text) {
  document.getElementById("said").textContent = text;
}

export function figure(svg, caption) {
  return el("figure", {}, svg, caption ? el("figcaption", {}, caption) : null);
}

export function table(heads, rows, numeric = []) {
  const kind = (i) => (numeric.includes(i) ? { class: "n" } : heads[i] === "" ? { class: "name" } : ["note", "query"].includes(heads[i]) ? { class: "note" } : {});
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table: ${heads.filter(Boolean).join(", ")}` },
    el("table", {},
      el("thead", {}, el("tr", {}, heads.map((head, i) => el("th", { scope: "col", ...kind(i) }, head)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, i) => el("td", kind(i), cell)))))));
}

export function labelled(text, input, hint) {
  const id = `f${Math.random().toString(36).slice(2)}`;
  input.id = id;
  return el("div", {}, el("label", { for: id }, text), input, hint ? el("div", { class: "soft small" }, hint) : null);
}

const raised = (p) => String(p).replace(/./g, (sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign]));

// Lines on logarithmic axes: { name: [y or null, …] } over xs, with a line at `now`.
export function lines(xs, series, now, axes) {
  const [W, H, L, B, T] = narrow() ? [340, 300, 50, 40, 10] : [640, 360, 62, 40, 10];
  const all = Object.values(series).flat().filter((y) => y !== null && y > 0);
  if (!all.length) return el("p", {}, "No method predicts an error for these numbers.");
  const [low, high] = [Math.log10(Math.min(...all)), Math.log10(Math.max(...all))];
  const [left, right] = [Math.log10(xs[0]), Math.log10(xs[xs.length - 1])];
  const x = (v) => L + ((Math.log10(v) - left) / (right - left)) * (W - L - 12);
  const y = (v) => T + (1 - (Math.log10(v) - low) / (high - low || 1)) * (H - B - T);
  const svg = draw("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": axes.alt });
  for (let p = Math.ceil(low); p <= high; p++) {
    svg.append(draw("line", { class: "axis", x1: L, x2: W - 12, y1: y(10 ** p), y2: y(10 ** p) }),
      draw("text", { x: L - 6, y: y(10 ** p) + 4, "text-anchor": "end" }, p < -2 ? `10${raised(p)}` : number(10 ** p)));
  }
  for (const mark of [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10].filter((v) => v >= xs[0] && v <= xs[xs.length - 1])) {
    svg.append(draw("text", { x: x(mark), y: H - B + 16, "text-anchor": "middle" }, String(mark)),
      draw("line", { class: "axis", x1: x(mark), x2: x(mark), y1: T, y2: H - B }));
  }
  svg.append(draw("text", { x: (W + L) / 2, y: H - 6, "text-anchor": "middle", class: "ink" }, axes.x),
    draw("text", { x: 12, y: H / 2 - 10, transform: `rotate(-90 12 ${H / 2 - 10})`, "text-anchor": "middle", class: "ink" }, axes.y));
  Object.entries(series).forEach(([name, ys], i) => {
    let path = "";
    ys.forEach((value, j) => {
      if (value !== null && value > 0) path += `${path && ys[j - 1] !== null ? "L" : "M"}${x(xs[j]).toFixed(1)} ${y(value).toFixed(1)}`;
    });
    svg.append(draw("path", { d: path, fill: "none", stroke: colour(i), "stroke-dasharray": dash(i),
      "stroke-width": name === axes.chosen ? 4 : 1.75 }));
  });
  if (now >= xs[0] && now <= xs[xs.length - 1]) svg.append(draw("line", { class: "now", x1: x(now), x2: x(now), y1: T, y2: H - B }));
  return svg;
}

export function key(names) {
  return el("ul", { class: "key" }, names.map((name, i) =>
    el("li", {}, draw("svg", { viewBox: "0 0 26 12", "aria-hidden": "true" },
      draw("line", { x1: 0, x2: 26, y1: 6, y2: 6, stroke: colour(i), "stroke-width": 3, "stroke-dasharray": dash(i) })), name)));
}

// A density on squares, with centres, leaves of a tree, ellipses or regions on it.
export function scatter(facts) {
  const [S, L, B] = [narrow() ? 260 : 400, facts.y ? 58 : 4, facts.x ? 44 : 4];
  const [W, H] = [L + S + 14, S + B + 10];
  const svg = draw("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": facts.alt });
  const raster = facts.regions || facts.raster;
  if (raster) {
    const side = S / raster.length;
    const top = Math.max(...(facts.raster || [[0]]).flat(), 1e-9);
    raster.forEach((row, j) => row.forEach((_, i) => {
      const value = facts.raster ? Math.sqrt(facts.raster[j][i] / top) : 0.7;
      const region = facts.regions ? facts.regions[j][i] : -1;
      if (value <= 0.02 && region < 0) return;
      const square = draw("rect", { x: L + i * side, y: 6 + S - (j + 1) * side, width: side, height: side, "shape-rendering": "crispEdges", "fill-opacity": (facts.regions ? (region < 0 ? 0.15 : 0.85) * Math.max(value, 0.3) : value * 0.85).toFixed(2) });
      if (region >= 0) square.setAttribute("fill", colour(region)); else square.setAttribute("class", "cell");
      svg.append(square);
    }));
  }
  svg.append(draw("rect", { class: "axis", x: L, y: 6, width: S, height: S }));
  const place = ([x, y]) => [L + x * S, 6 + (1 - y) * S];
  (facts.leaves || []).forEach((point, i) => {
    const [x, y] = place(point);
    svg.append(draw("circle", { cx: x, cy: y, r: 5, fill: colour(facts.labels[i]), stroke: "var(--card)", "stroke-width": 1.5 }));
  });
  (facts.ellipses || []).forEach(([along, across, turn], i) => {
    const [x, y] = place(facts.private[i]);
    svg.append(draw("ellipse", { class: "spread", cx: x, cy: y, rx: along * S, ry: across * S, transform: `rotate(${-turn} ${x} ${y})` }));
  });
  (facts.true || []).forEach((point) => {
    const [x, y] = place(point);
    svg.append(draw("circle", { class: "true", cx: x, cy: y, r: 8 }));
  });
  (facts.private || []).forEach((point, i) => {
    const [x, y] = place(point);
    svg.append(draw("circle", { class: "private", cx: x, cy: y, r: 5.5 }));
    if (facts.numbered) svg.append(draw("text", { class: "number", x: x + 8, y: y + 4 }, String(i)));
  });
  ["x", "y"].forEach((way) => {
    const axis = facts[way];
    if (!axis) return;
    axis.ticks.forEach((tick, i) => {
      const at = i / (axis.ticks.length - 1);
      const [x, y] = way === "x" ? [L + at * S, S + 22] : [L - 5, 10 + (1 - at) * S];
      const anchor = way === "y" ? "end" : i === 0 ? "start" : at === 1 ? "end" : "middle";
      svg.append(draw("text", { x, y, "text-anchor": anchor }, tick));
    });
    const turn = way === "y" ? { x: 12, y: S / 2, transform: `rotate(-90 12 ${S / 2})` } : { x: L + S / 2, y: S + 40 };
    svg.append(draw("text", { ...turn, "text-anchor": "middle", class: "ink" }, axis.name));
  });
  return svg;
}

export function bars(values, name, alt) {
  const top = Math.max(...values, 1);
  const H = values.length * 22 + 4;
  const [W, most] = narrow() ? [320, 150] : [420, 250];
  const svg = draw("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": alt });
  values.forEach((value, i) => {
    svg.append(draw("text", { x: 84, y: i * 22 + 16, "text-anchor": "end" }, name(i)),
      draw("rect", { class: "bar", x: 90, y: i * 22 + 4, width: Math.max(0, (value / top) * most).toFixed(1), height: 14 }),
      draw("text", { class: "ink", x: 96 + Math.max(0, (value / top) * most), y: i * 22 + 16 }, number(value, 6)));
  });
  return svg;
}

// How much of a budget is spent, and how much a fit would take.
export function budget(spent, total, asked = 0) {
  const width = (part) => Math.max(0, Math.min(1, part / total)) * 400;
  return draw("svg", { viewBox: "0 0 400 14", role: "img", "aria-label": `ε spent: ${number(spent, 6)} of ${number(total, 6)}` },
    draw("rect", { class: "rest", x: 0, y: 1, width: 400, height: 12, rx: 3 }),
    draw("rect", { class: "bar", x: 0, y: 1, width: width(spent), height: 12, rx: 3 }),
    draw("rect", { class: "private", x: width(spent), y: 1, width: width(asked), height: 12, rx: 3 }));
}

// The upper joins of a tree.
export function tree(linkage, leaves, k) {
  const [W, H] = [420, 200];
  const nodes = Array.from({ length: leaves }, () => null);
  const order = [];
  const visit = (i) => (i < leaves ? order.push(i) : linkage[i - leaves].slice(0, 2).forEach(visit));
  if (linkage.length) visit(leaves + linkage.length - 1); else order.push(0);
  order.forEach((leaf, at) => { nodes[leaf] = [at / Math.max(leaves - 1, 1) * (W - 20) + 10, H - 8]; });
  const top = linkage.length ? linkage[linkage.length - 1][2] || 1 : 1;
  const svg = draw("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `Tree of ${leaves} small clusters, cut into ${k}` });
  linkage.forEach(([one, other, height], i) => {
    const [a, b] = [nodes[one], nodes[other]];
    const y = H - 8 - Math.sqrt(height / top) * (H - 20);
    const cut = i >= linkage.length - k + 1;
    svg.append(draw("path", { d: `M${a[0]} ${a[1]}V${y}H${b[0]}V${b[1]}`, fill: "none", stroke: cut ? "currentColor" : colour(0), "stroke-width": cut ? 1 : 2 }));
    nodes[leaves + i] = [(a[0] + b[0]) / 2, y];
  });
  return svg;
}
