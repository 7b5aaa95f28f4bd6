// What all kinds of report share: elements, numbers, tables, and charts made of lanes.
// Text from the data only ever becomes a text node, so none of it is read as markup.

const report = JSON.parse(document.getElementById("data").textContent);

// --- elements

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(2).filter((child) => child != null));
  return element;
}
const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// --- numbers

const MINUS = "\u2212";
const typographic = (text) => text.replace(/^-/, MINUS).replace(/e\+?(-?)(\d+)$/, (_, sign, power) =>
  `e${sign ? MINUS : ""}${power}`);

/** A number with at most `digits` significant digits; with all digits left of the decimal point
 * where there are ten at most, or nothing right of it. */
function fmt(x, digits = 4) {
  if (x == null || Number.isNaN(x)) return "\u2013";
  if (!Number.isFinite(x)) return x > 0 ? "\u221e" : `${MINUS}\u221e`;
  const size = Math.abs(x);
  if (size >= 10 ** digits && size < (Number.isInteger(x) ? 1e15 : 1e10)) return typographic(x.toFixed(0));
  if (size > 0 && size < 1e-4) return typographic(x.toExponential(Math.min(2, digits - 1)).replace(/\.?0+e/, "e"));
  return typographic(String(Number(x.toPrecision(digits))));
}

/** A number with a sign, for a set of numbers that share their decimals. */
const signed = (x, decimals) => {
  const text = decimals == null ? fmt(Math.abs(x)) : Math.abs(x).toFixed(decimals);
  return (x < 0 ? MINUS : "+") + text;
};
const decimalsFor = (largest, digits = 4) =>
  largest > 0 && largest >= 1e-5 ? Math.max(0, digits - 1 - Math.floor(Math.log10(largest))) : null;
const fixed = (x, decimals) => (decimals == null ? fmt(x) : typographic(x.toFixed(decimals)));
const plural = (count, noun) => `${fmt(count, 9)} ${noun}${count === 1 ? "" : "s"}`;
const pText = (p, decimals = 3) => (p < 10 ** -decimals ? fmt(p, 2) : p.toFixed(decimals));

function unpack(packed) {
  const [kind, text] = Object.entries(packed)[0];
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return kind === "f8" ? new Float64Array(bytes.buffer) : new Float32Array(bytes.buffer);
}

/** Where an axis begins and ends, so that few numbers far out do not squeeze the others: the middle
 * nine tenths with half their width on either side, where all would take 2.5 times as much. */
function bulk(numbers) {
  const sorted = Float64Array.from(numbers).filter((x) => !Number.isNaN(x)).sort();
  const at = (q) => sorted[Math.round(q * (sorted.length - 1))];
  const [least, most] = extent(sorted);
  const room = 0.5 * (at(0.95) - at(0.05));
  const [low, high] = [Math.max(least, at(0.05) - room), Math.min(most, at(0.95) + room)];
  return low < high && most - least > 2.5 * (high - low) ? [low, high] : [least, most];
}

function extent(numbers) {
  let [low, high] = [Infinity, -Infinity];
  for (const x of numbers) {
    if (x < low) low = x;
    if (x > high) high = x;
  }
  return low <= high ? [low, high] : [0, 1];
}
function median(numbers) {
  const sorted = Float64Array.from(numbers).sort();
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

/** An interval with room at both ends; one around the number where there is only one. */
function padded([low, high], share = 0.04) {
  const room = (high - low) * share || Math.abs(high) * 0.1 || 1;
  return [low - room, high + room];
}

function ticks([low, high], count) {
  const raw = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((multiple) => multiple * power >= raw * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step || 0);
  if (found.length < 2) return ticks([low, high], count + 1);
  const decimals = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const text = (x) => (x !== 0 && (step >= 1e5 || decimals > 5) ? String(Number(x.toExponential(2)).toExponential()) : x.toFixed(x === 0 ? 0 : decimals));
  return found.map((x) => ({ x, text: typographic(text(x)) }));
}

const scale = ([low, high], from, to) => (x) => from + ((x - low) / (high - low)) * (to - from);

// --- text that fits

const ruler = document.createElement("canvas").getContext("2d");
function textWidth(text, size = 13, weight = 400) {
  ruler.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}
/** The text, or its beginning and end where it is too wide: names often differ in their ends. */
function fitted(text, width, size = 13) {
  if (textWidth(text, size) <= width) return text;
  const cut = (kept) => `${text.slice(0, Math.ceil(kept / 2))}\u2026${text.slice(text.length - Math.floor(kept / 2))}`;
  let [low, high] = [0, text.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (textWidth(cut(middle), size) <= width) low = middle;
    else high = middle - 1;
  }
  return cut(low);
}

/** Where texts begin and end to differ, in whole words if `whole`: how many characters before and
 * after are the same in all. */
function differing(texts, whole) {
  const least = Math.min(...texts.map((text) => text.length));
  const same = (at) => texts.every((text) => text.at(at) === texts[0].at(at));
  let [before, after] = [0, 0];
  while (before < least && same(before)) before++;
  while (after < least - before && same(-1 - after)) after++;
  const joins = (at) => /[\p{L}\p{N}]/u.test(texts[0].at(at) ?? "");
  while (whole && before > 0 && joins(before - 1)) before--;
  while (whole && after > 0 && joins(-after)) after--;
  return [before, after];
}

/** A text cut so that what is between its first and last characters stays, then its beginning. */
function cutAround(text, before, after, width, size) {
  const middle = text.slice(before, text.length - after);
  const tail = after > 0 ? "\u2026" : "";
  const cut = (kept) => (kept < before ? `${text.slice(0, kept)}\u2026${middle}${tail}` : text.slice(0, before) + middle + tail);
  let kept = before;
  while (kept > 0 && textWidth(cut(kept), size) > width) kept--;
  return textWidth(cut(kept), size) <= width ? cut(kept) : null;
}

/** Texts that fit, of which no two are the same: where their beginnings and ends are, what tells
 * them apart is kept instead. */
function distinct(texts, width, size = 13) {
  const shown = texts.map((text) => fitted(text, width, size));
  const alike = new Map();
  shown.forEach((text, i) => alike.set(text, [...(alike.get(text) ?? []), i]));
  for (const places of alike.values()) {
    const own = places.map((i) => texts[i]);
    if (new Set(own).size < 2) continue;
    const [whole, least] = [differing(own, true), differing(own, false)];
    const again = own.map((text) => cutAround(text, ...whole, width, size) ?? cutAround(text, ...least, width, size)
      ?? fitted(text.slice(least[0], text.length - least[1]), width, size));
    // those that are the same even so differ from each other less than all of them do
    const groups = new Map();
    again.forEach((text, k) => groups.set(text, [...(groups.get(text) ?? []), k]));
    for (const some of groups.values()) {
      const better = some.length < 2 || some.length === own.length ? null : distinct(some.map((k) => own[k]), width, size);
      some.forEach((k, m) => { shown[places[k]] = better ? better[m] : again[k]; });
    }
  }
  return shown;
}

/** A feature value that fits: a number is not cut, a text at its end, a list after one of its entries. */
function valueFitted(text, width, size) {
  if (isWhole(text) || textWidth(text, size) <= width) return text;
  let kept = text.length;
  while (kept > 1 && textWidth(`${text.slice(0, kept)}\u2026`, size) > width) kept--;
  const entry = text.lastIndexOf(", ", kept - 2);
  const word = text.lastIndexOf(" ", kept - 1);
  const end = entry > 0 ? entry + 2 : word > 0 && isWhole(text.slice(word + 1, kept)) ? word : kept;
  return `${text.slice(0, end)}\u2026`;
}
/** Numbers, dates and times, which are read wrongly when they are cut or broken. */
const isWhole = (text) => text.length <= 20 && /^[\d.,:+\-\u2212/%()\u221e]*\d[\d.,:+\-\u2212/%()eETZ]*$/.test(text);

/** A text in lines of a width, of which the last is cut where more than `most` would be needed. */
function lines(text, width, most = 3, size = 12) {
  const found = [];
  let rest = text;
  while (rest && found.length < most - 1 && textWidth(rest, size) > width) {
    let end = rest.length;
    while (end > 0 && textWidth(rest.slice(0, end), size) > width) end = rest.lastIndexOf(" ", end - 1);
    if (end <= 0) end = rest.indexOf(" ") > 0 ? rest.indexOf(" ") : rest.length;
    found.push(fitted(rest.slice(0, end), width, size));
    rest = rest.slice(end).trimStart();
  }
  return rest ? [...found, fitted(rest, width, size)] : found;
}

// --- parts of the page

const sections = h("div", { class: "sections" });
document.getElementById("main").append(sections);

/** A card with a heading and an entry in the navigation; returns it and where its content goes. */
function section(id, title, short, hint) {
  const body = h("div", { class: "body" });
  const card = h("section", { id, "aria-labelledby": `${id}-title` },
    h("h2", { id: `${id}-title` }, title), hint && h("p", { class: "hint" }, hint), body);
  document.getElementById("nav").append(h("a", { href: `#${id}` }, short));
  sections.append(card);
  return { card, body };
}

/** A text for a cell, in which numbers, dates and short words are not broken. */
const unbroken = (text) => text.split(/(\s+)/).map((part) =>
  (isWhole(part) || (part.length > 1 && part.length <= 12) ? h("span", { class: "whole" }, part) : part));

function table(caption, head, rows, texts = []) {
  const kind = (i) => (texts.includes(i) ? "text" : null);
  // a table of many columns scrolls sideways on phones, so that long names may as well take room
  const wide = head.length > 3 && rows.some(([name]) => textWidth(name.textContent ?? name) > 150);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", { class: wide ? "wide" : null }, h("caption", {}, caption),
      h("thead", {}, h("tr", {}, head.map((title, i) => h("th", { scope: "col", class: kind(i) }, title)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, i) => {
        if (i === 0) return h("th", { scope: "row" }, cell);
        if (cell instanceof Node) return cell;
        return h("td", { class: kind(i) }, kind(i) ? unbroken(cell) : cell);
      }))))));
}

const field = (label, control) => h("div", { class: "field" }, h("label", { for: control.id }, label), control);

function choice(id, label, options, chosen, change) {
  const select = h("select", { id, onchange: () => change(Number(select.value)) },
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
  return field(label, select);
}

/** A button between the short form of a chart and its long one. */
function more(short, long, shown, draw) {
  if (long <= short) return null;
  const text = () => (shown.count === short ? `Show ${long}` : `Show ${short}`);
  const button = h("button", { type: "button", class: "more", onclick: () => {
    shown.count = shown.count === short ? long : short;
    button.textContent = text();
    draw();
  } }, text());
  return button;
}

function showHead(lead, ...notes) {
  const note = notes.filter(Boolean).join(" ");
  document.getElementById("title").textContent = report.title;
  document.getElementById("lead").textContent = lead;
  const place = document.getElementById("note");
  place.textContent = note;
  place.hidden = !note;
  document.getElementById("footer").textContent = `Made with pkex ${report.version}. This file works offline.`;
}

function showFacts(key) {
  const entries = key.map((label) => report.facts.find((fact) => fact.label === label)).filter(Boolean);
  document.querySelector(".hero").append(h("dl", { class: "facts" },
    entries.map((fact) => h("div", {}, h("dt", {}, fact.label), h("dd", {}, fact.value)))));
}

function showMethod(hint) {
  const { card, body } = section("method", "How it was computed", "Method", hint);
  card.classList.add("wide");
  body.append(h("dl", { class: "method" }, report.facts.flatMap((fact) => [
    h("dt", {}, fact.label), h("dd", {}, fact.value, fact.note ? h("small", {}, fact.note) : null)])));
}

const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
document.body.append(tip);
function showTip(event, text) {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
  tip.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18}px`;
}
addEventListener("scroll", () => showTip(null, ""), { passive: true });

// --- drawing

const redraws = [];
/** Draw now, when the width changes, and when the colours do. */
function responsive(figure, draw) {
  let width = 0;
  const again = () => { if (figure.clientWidth) draw((width = figure.clientWidth)); };
  new ResizeObserver(() => { if (figure.clientWidth !== width) again(); }).observe(figure);
  redraws.push(again);
  again();
  return again;
}

/** The middle of a text near `x` that stays within `width`. */
const within = (x, text, width) => {
  const half = textWidth(text, 12) / 2;
  return Math.max(half, Math.min(x, width - half));
};

const LINE = 15; // the height of a line of an axis label
/** The label of an axis around `x`, within `width`; its first line stands at `y`. */
function axisLabel(found, x, y, width) {
  const [longest] = [...found].sort((a, b) => textWidth(b, 12) - textWidth(a, 12));
  const middle = within(x, longest, width);
  return s("text", { class: "axis-label", "text-anchor": "middle" },
    found.map((line, i) => s("tspan", { x: middle, y: y + LINE * i }, i ? ` ${line}` : line)));
}
/** The label of an axis that goes upwards, around `y`; its lines begin at the left of the plot. */
const uprightLabel = (found, y) => s("text", { class: "axis-label", "text-anchor": "middle", transform: `rotate(-90 12 ${y})` },
  found.map((line, i) => s("tspan", { x: 12, y: y + LINE * i }, i ? ` ${line}` : line)));

/** The labels of lanes: texts, or names with feature values, which take two lines where one is too
 * short, as a value is not cut for the sake of its name. */
function laneLabels(labels, width) {
  const entries = labels.map((label) => (typeof label === "string" ? { name: label } : label));
  const full = ({ name, value }) => (value == null ? name : `${name} = ${value}`);
  const two = entries.map((entry) => entry.value != null && textWidth(full(entry)) > width);
  const shown = distinct(entries.map((entry, i) => (two[i] ? entry.name : full(entry))), width);
  const draw = (x, y) => entries.map((entry, i) => s("text", { x, y: y(i) + 4.5, "text-anchor": "end" },
    two[i] ? [s("tspan", { x, y: y(i) - 2.5 }, shown[i]),
      s("tspan", { class: "value", x, y: y(i) + 12 }, ` = ${valueFitted(entry.value, width - textWidth("= ", 12), 12)}`)] : shown[i],
    s("title", {}, full(entry))));
  return { draw, high: two.includes(true) };
}

/** Lanes below each other, with names on the left, columns of notes on the right, and one axis. */
function lanes(width, { names, notes = [], lane = 26, domain, axis, top = 6, zero = true, room = 0.36 }) {
  const widest = (texts, weight) => Math.max(0, ...texts.map((text) => textWidth(text, 13, weight)));
  const wanted = names.map((name) => (typeof name === "string" ? name : `${name.name} = ${name.value}`));
  const values = names.filter(({ value }) => value != null && isWhole(value)).map(({ value }) => `= ${value}`);
  const left = Math.ceil(Math.min(widest(wanted, 620), Math.max(Math.min(width * room, 240), widest(values)))) + 12;
  const labels = laneLabels(names, left - 12);
  const high = labels.high ? Math.max(lane, 36) : lane;
  const ends = [];
  let right = width;
  for (const column of [...notes].reverse()) {
    ends.unshift(right);
    right -= Math.ceil(widest(column)) + 14;
  }
  right -= notes.length ? 0 : 8;
  const bottom = top + high * names.length;
  const x = scale(domain, left, right);
  const y = (i) => top + high * (i + 0.5);
  const title = lines(axis, width - 4);
  const height = bottom + 40 + LINE * (title.length - 1);
  const grid = ticks(domain, (right - left) / 70).map(({ x: at, text }) => s("g", {},
    s("line", { class: at === 0 && zero ? "zero" : "grid", x1: x(at), x2: x(at), y1: top, y2: bottom }),
    s("text", { class: "tick", x: within(x(at), text, width), y: bottom + 16, "text-anchor": "middle" }, text)));
  const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" }, grid,
    axisLabel(title, (left + right) / 2, bottom + 34, width),
    labels.draw(left - 10, y),
    notes.map((column, k) => column.map((note, i) => s("text", { class: "quiet", x: ends[k], y: y(i) + 4.5, "text-anchor": "end" }, note))));
  return { svg, x, y, left, right, top, bottom, height, lane: high };
}

function whisker(frame, i, low, high) {
  const [a, b, y] = [frame.x(low), frame.x(high), frame.y(i)];
  return s("path", { class: "whisker", fill: "none", d: `M${a} ${y - 4}V${y + 4}M${a} ${y}H${b}M${b} ${y - 4}V${y + 4}` });
}

function canvasOver(figure, width, height) {
  const canvas = h("canvas", { "aria-hidden": "true" });
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  figure.append(canvas);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return { canvas, context };
}

function dots(context, points, colour, radius) {
  for (const point of points) {
    context.fillStyle = colour(point);
    context.beginPath();
    context.arc(point.x, point.y, radius, 0, 7);
    context.fill();
  }
}

/** Thin upright lines at points, between the two ends that `ends` returns for each. */
function strokes(context, points, colour, ends) {
  context.globalAlpha = 0.4;
  for (const point of points) {
    const [low, high] = ends(point);
    context.strokeStyle = colour(point);
    context.beginPath();
    context.moveTo(point.x, low);
    context.lineTo(point.x, high);
    context.stroke();
  }
}

/** The colours of the theme that is on, as red, green and blue. */
function colours(...names) {
  const probe = document.body.appendChild(h("i"));
  const found = names.map((name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  });
  probe.remove();
  return found;
}

/** A function from [0, 1] to a colour, for numbers from low to high; NaN has a colour of its own. */
function ramp() {
  const [low, mid, high, none] = colours("low", "mid", "high", "none");
  const mix = (a, b, t) => `rgb(${a.map((channel, i) => Math.round(channel + (b[i] - channel) * t))})`;
  const steps = Array.from({ length: 65 }, (_, i) => (i < 32 ? mix(low, mid, i / 32) : mix(mid, high, (i - 32) / 32)));
  return (t) => (Number.isNaN(t) ? `rgb(${none})` : steps[Math.round(64 * t)]);
}

// --- light, dark and paper

const dark = matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
const toggle = document.getElementById("theme");
function applyTheme(theme) {
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  toggle.setAttribute("aria-pressed", isDark());
  redraws.forEach((draw) => draw());
}
applyTheme();
toggle.addEventListener("click", () => applyTheme(isDark() ? "light" : "dark"));
dark.addEventListener("change", () => applyTheme(root.dataset.theme));

let before = null;
addEventListener("beforeprint", () => {
  before = { theme: root.dataset.theme, closed: [...document.querySelectorAll("details:not([open])")] };
  before.closed.forEach((entry) => { entry.open = true; });
  root.dataset.paper = "";
  applyTheme("light");
});
addEventListener("afterprint", () => {
  before.closed.forEach((entry) => { entry.open = false; });
  delete root.dataset.paper;
  applyTheme(before.theme);
});
