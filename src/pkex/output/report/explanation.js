// The report of an Explanation: importance, beeswarm, one row, dependence.
// `row` and `feature` are positions among the stored rows and features; report.rows and
// report.features have their numbers in the table, which need not be in order.

const SHORT = 20; // features that a chart shows at first
const capitalise = (text) => text[0].toUpperCase() + text.slice(1);
const { names, features, rows, output_names: outputs, value_name: valueName } = report;
const nRows = rows.length;
const numbered = rows.every(Number.isInteger); // else rows have names
const [lowest, highest] = numbered ? [Math.min(...rows), Math.max(...rows)] : [null, null];
const nFeatures = features.length;
const featureNames = features.map((feature) => names[feature]);
const columns = report.columns.map((column) => ({ ...column, cells: unpack(column.cells) }));
const stored = report.values.map((packed, k) => ({
  values: unpack(packed), base: unpack(report.base[k]), predictions: unpack(report.predictions[k]),
}));
const state = { output: 0, row: 0, feature: 0, colour: -1 };
const noun = report.quantity ?? (report.meaning ? "output" : "prediction"); // a classifier predicts a class, not a number
const classOf = (row) => (report.predicted_class ? `predicted ${report.predicted_class[row]}${
  report.largest_class?.[row] != null ? `, largest output ${report.largest_class[row]}` : ""}` : "");
const value = (row, feature) => stored[state.output].values[row * nFeatures + feature];
const stds = report.stds?.map(unpack) ?? null; // of values, under the posterior of a Gaussian process
const otherStds = report.other_stds?.map(unpack) ?? null; // of the sum of what a waterfall does not show
const std = (row, feature) => (stds ? stds[state.output][row * nFeatures + feature] : null);

// --- feature values

/** Where a column's cells lie between its low and high ends, from 0 to 1; NaN where missing. */
function positions(column) {
  const sorted = column.cells.filter((cell) => !Number.isNaN(cell)).sort();
  const at = (q) => sorted[Math.round(q * (sorted.length - 1))];
  // outliers take the colour of the ends; a column of few different values keeps its whole range
  let [low, high] = [at(0.05), at(0.95)];
  if (!(low < high)) [low, high] = [at(0), at(1)];
  return Float32Array.from(column.cells, (cell) =>
    low < high ? Math.min(1, Math.max(0, (cell - low) / (high - low))) : cell - cell + 0.5);
}
const grey = new Float32Array(nRows).fill(NaN);
const columnsOf = report.feature_groups.map((group) => group.map((c) => columns[c])); // by feature
const isGroup = (feature) => columnsOf[feature].length > 1;
/** Categories have a colour each; those beyond the last colour share it. */
const SERIES = 6;
const levelsOf = (feature) => (isGroup(feature) ? null : columnsOf[feature][0].levels ?? null);
function painter() {
  const numbers = ramp();
  const series = colours(...Array.from({ length: SERIES }, (_, k) => `c${k}`)).map((channels) => `rgb(${channels})`);
  return (feature, row) => {
    if (feature < 0) return series[0];
    const levels = levelsOf(feature);
    return levels ? series[Math.min(SERIES - 1, columnsOf[feature][0].cells[row])] : numbers(shade[feature][row]);
  };
}
const keysOf = (feature) => {
  const levels = levelsOf(feature);
  const shown = levels.length > SERIES ? [...levels.slice(0, SERIES - 1), "others"] : levels;
  return shown.map((name, k) => h("span", { class: "key" }, h("span", { class: `swatch s${k}` }), name));
};
const shade = features.map((_, feature) => (isGroup(feature) ? grey : positions(columnsOf[feature][0])));

function cellText(column, row) {
  const cell = column.cells[row];
  if (column.levels) return column.levels[cell];
  return Number.isNaN(cell) ? "missing" : fmt(cell, 6);
}
const featureText = (feature, row) => columnsOf[feature]
  .map((column) => (isGroup(feature) ? `${column.name} = ` : "") + cellText(column, row)).join(", ");

// --- head

const summarised = nRows < report.n_rows || nFeatures < names.length;
const several = outputs.length > 1;
showHead(
  `Exact ${valueName}s: what each feature adds to the ${noun} of a row${
    report.efficient ? "" : ", averaged over sets of other features by the weights of this index"}. ${!report.efficient
    ? "They do not add up to the difference of prediction and base value."
    : report.complete
    ? `Base value and ${valueName}s of a row add up to the ${noun}.`
    : "Only some features were selected; the remaining features appear as one sum."}${
    report.meaning ? ` The ${noun} is the ${report.meaning}.` : ""}`,
  summarised && `The plots show ${[
    nRows < report.n_rows && `${nRows} of ${fmt(report.n_rows, 9)} rows, sampled at random`,
    nFeatures < names.length && `the ${nFeatures} most important of ${names.length} features`,
  ].filter(Boolean).join(" and ")}. The importance has all rows and features; the waterfall of a row has its largest values, whatever their feature.`,
);
showFacts(["Rows", "Features", "Classes", "Outputs", "Removal", "Error bound", "Additivity error"]);
sections.classList.add("half");

const changed = { output: [], row: [] };
function set(part, to) {
  state[part] = to;
  changed[part].forEach((update) => update());
}
if (several) {
  document.querySelector(".hero").append(h("div", { class: "controls" },
    choice("output", "Output", outputs.map((name, k) => [k, name]), 0, (k) => set("output", k))));
}
const ofOutput = () => (several ? ` of ${outputs[state.output]}` : "");
/** Of a classifier: which class values above and below 0 push towards. */
const directions = () => {
  if (!report.output_classes) return null;
  const [yes, no] = report.output_classes[state.output];
  return [`towards ${yes}`, no === null ? `away from ${yes}` : `towards ${no}`];
};
const axisOfValues = () => (directions() ? `${valueName} (+ ${directions()[0]}, ${MINUS} ${directions()[1]})` : `${valueName}${ofOutput()}`);

// --- importance

const importance = () => report.importance[state.output];
const byImportance = () => {
  const { mean } = importance();
  return names.map((_, feature) => feature).sort((a, b) => mean[b] - mean[a]);
};

{
  const { body } = section("importance", "Importance", "Importance",
    report.n_rows > 1 ? `Mean |${valueName}| over all rows; whiskers: ${report.whiskers.rows}.` : `|${valueName}| of the only row.`);
  const figure = h("div", { class: "figure" });
  const all = h("details");
  const shown = { count: Math.min(SHORT, names.length) };
  const draw = responsive(figure, (width) => {
    const { mean, error } = importance();
    const order = byImportance().slice(0, shown.count);
    const frame = lanes(width, {
      names: order.map((feature) => names[feature]),
      notes: [order.map((feature) => fixed(mean[feature], decimalsFor(mean[order[0]])))],
      domain: [0, Math.max(...order.map((feature) => mean[feature] + (error[feature] ?? 0))) * 1.02 || 1],
      axis: `mean |${valueName}|${ofOutput()}`,
      zero: false,
    });
    order.forEach((feature, i) => {
      frame.svg.append(s("rect", { class: "accent", rx: 2, x: frame.left, y: frame.y(i) - 8,
        width: Math.max(0, frame.x(mean[feature]) - frame.left), height: 16 }));
      if (error[feature]) {
        frame.svg.append(whisker(frame, i, Math.max(0, mean[feature] - error[feature]), mean[feature] + error[feature]));
      }
    });
    frame.svg.setAttribute("aria-label", `Bars of the mean |${valueName}|${ofOutput()}, largest first: ${
      order.slice(0, 5).map((feature) => `${names[feature]} ${fmt(mean[feature], 3)}`).join(", ")}. The table below has all.`);
    figure.replaceChildren(frame.svg);
  });
  const fillTable = () => {
    const { mean, error, centred } = importance();
    const total = mean.reduce((sum, size) => sum + size, 0) || 1;
    all.replaceChildren(h("summary", {}, "All features as a table"), table(
      `Importance of ${plural(names.length, "feature")}${ofOutput()} over ${plural(report.n_rows, "row")}`,
      ["Feature", `Mean |${valueName}|`, "Standard error", "Fraction", ...(centred ? ["Centred"] : [])],
      byImportance().map((feature) => [names[feature], fmt(mean[feature]), fmt(error[feature], 2),
        `${(100 * mean[feature] / total).toFixed(1)} %`, ...(centred ? [fmt(centred[feature])] : [])])));
  };
  fillTable();
  fill(body, {}, [figure, more(SHORT, nFeatures, shown, draw), all]);
  changed.output.push(draw, fillTable);
}

// --- beeswarm

/** Positions of points around the middle of a lane, wider where there are more of them. */
function swarm(xs, halfHeight) {
  const step = 2.2;
  const counts = new Map();
  const bins = xs.map((x) => Math.round(x / step));
  const rank = bins.map((bin) => {
    const count = counts.get(bin) ?? 0;
    counts.set(bin, count + 1);
    return count;
  });
  const gap = Math.min(3, (2 * halfHeight) / Math.max(1, ...counts.values()));
  return rank.map((r) => (r % 2 ? 1 : -1) * Math.ceil(r / 2) * gap);
}

/** Points that can be pointed at and clicked; `at` returns what is said about a point. */
function clickable(canvas, points, say) {
  const nearest = (event) => {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let [best, distance] = [null, 14 ** 2];
    for (const point of points) {
      const d = (point.x - x) ** 2 + (point.y - y) ** 2;
      if (d < distance) [best, distance] = [point, d];
    }
    return best;
  };
  canvas.addEventListener("pointermove", (event) => {
    const point = nearest(event);
    canvas.classList.toggle("pick", point !== null);
    showTip(event, point && say(point));
  });
  canvas.addEventListener("pointerleave", (event) => showTip(event, ""));
  canvas.addEventListener("click", (event) => {
    const point = nearest(event);
    if (point) set("row", point.row);
  });
}

const say = (point) =>
  `Row ${rows[point.row]}${report.predicted_class ? `, ${classOf(point.row)}` : ""}\n${featureNames[point.feature]} = ${featureText(point.feature, point.row)}\nvalue ${signed(value(point.row, point.feature))}${
    stds ? ` \u00b1 ${fmt(std(point.row, point.feature), 2)}, one posterior standard deviation` : ""}`;
/** Let the points of a drawn canvas be pointed at; return what draws rings around those of the chosen row. */
function ringed(figure, canvas, width, height, points) {
  const over = s("svg", { class: "over", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  const ring = ({ x, y }) => s("circle", { class: "ring", cx: x, cy: y, r: 5.5 });
  figure.append(over);
  clickable(canvas, points, say);
  return () => over.replaceChildren(...points.filter((point) => point.row === state.row).map(ring));
}

{
  const { body } = section("beeswarm", `${capitalise(valueName)}s of all rows`, "All rows",
    `A point is one row; x: ${valueName}; colour: feature value. Click a point to select its row.${
      stds ? " On the right: \u00b1 1 posterior standard deviation, median over rows." : ""}`);
  const figure = h("div", { class: "figure", id: "swarm" });
  const shown = { count: Math.min(SHORT, nFeatures) };
  let mark = () => {};
  const draw = responsive(figure, (width) => {
    const { mean } = importance();
    const order = features.map((_, feature) => feature)
      .sort((a, b) => mean[features[b]] - mean[features[a]]).slice(0, shown.count);
    const all = order.flatMap((feature) => extent(rows.map((_, row) => value(row, feature))));
    const frame = lanes(width, { names: order.map((feature) => featureNames[feature]), lane: 30,
      notes: stds ? [order.map((feature) => `\u00b1 ${fmt(median(rows.map((_, row) => std(row, feature))), 2)}`)] : [],
      domain: padded(extent([...all, 0])), axis: axisOfValues(), room: 0.3 });
    const points = order.flatMap((feature, i) => {
      const xs = rows.map((_, row) => frame.x(value(row, feature)));
      return swarm(xs, frame.lane / 2 - 3).map((shift, row) =>
        ({ x: xs[row], y: frame.y(i) + shift, row, feature }));
    });
    frame.svg.setAttribute("aria-label", `Values${ofOutput()} of ${plural(nRows, "row")}, one lane for each of ${plural(order.length, "feature")}. One row at a time is below as a table.`);
    figure.replaceChildren(frame.svg);
    const { canvas, context } = canvasOver(figure, width, frame.height);
    const paint = painter();
    dots(context, points, (point) => paint(point.feature, point.row), nRows > 400 ? 1.9 : 2.5);
    mark = ringed(figure, canvas, width, frame.height, points);
    mark();
  });
  const categorical = features.map((_, feature) => feature).filter((feature) => levelsOf(feature)).slice(0, SERIES);
  fill(body, {}, [figure, h("p", { class: "scale" }, "feature value: low", h("span", { class: "ramp" }), "high",
    shade.includes(grey) ? h("span", {}, "\u00b7 grey: a feature group") : null),
    categorical.map((feature) => h("p", { class: "scale" }, `${featureNames[feature]}:`, keysOf(feature))),
    more(SHORT, nFeatures, shown, draw)]);
  changed.output.push(draw);
  changed.row.push(() => mark());
}

// --- one row

/** The values of a row that are known one by one, largest first: [feature, value, text, std]. */
function known(row) {
  const extras = (report.extras[state.output]?.[row] ?? []).map(([feature, size, text, spread]) => [feature, size, typographic(text), spread]);
  return [...features.map((number, feature) => [number, value(row, feature), featureText(feature, row), std(row, feature)]), ...extras]
    .sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
}

{
  const { card, body } = section("row", "One row", "One row",
    report.efficient ? `From the base value to the ${noun}, largest ${valueName}s first.` : `Largest ${valueName}s first.`);
  card.classList.add("wide");
  const byPrediction = () => rows.map((_, row) => row)
    .sort((a, b) => stored[state.output].predictions[a] - stored[state.output].predictions[b]);
  const attributes = numbered ? { type: "number", min: lowest, max: highest, step: "any", inputmode: "numeric" }
    : { type: "text", autocomplete: "off", spellcheck: "false" };
  const input = h("input", { id: "row-number", "aria-describedby": "row-problem", ...attributes });
  const problem = h("p", { class: "invalid", id: "row-problem", role: "alert", hidden: true });
  const go = (row) => set("row", Math.max(0, Math.min(nRows - 1, row)));
  const step = (label, text, by) => h("button", { type: "button", "aria-label": label, onclick: () => go(state.row + by) }, text);
  const [previous, next] = [step("Previous row", "\u2190", -1), step("Next row", "\u2192", 1)];
  const quick = (text, q) => h("button", { type: "button", onclick: () => go(byPrediction()[Math.round(q * (nRows - 1))]) }, text);
  input.addEventListener("change", () => {
    const asked = numbered ? Number(input.value) : input.value.trim();
    const row = input.value === "" ? -1 : rows.indexOf(asked);
    problem.hidden = row >= 0;
    if (row >= 0) go(row);
    else if (!numbered) problem.textContent = `No row shown here is named ${asked}; the first is ${rows[0]}.`;
    else {
      const inGap = Number.isInteger(asked) && input.value !== "" && asked > lowest && asked < highest;
      const near = rows.reduce((best, r) => (Math.abs(r - asked) < Math.abs(best - asked) ? r : best));
      problem.textContent = inGap
        ? `Row ${asked} is not among the ${nRows} rows shown here; the nearest is ${near}.`
        : `Give the number of a row, from ${lowest} to ${highest}.`;
    }
  });
  const keys = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 };
  const stepper = h("div", { class: "step" }, field(numbered ? "Row number" : "Row", input), previous, next);
  stepper.addEventListener("keydown", (event) => {
    const typing = event.target === input && ["ArrowLeft", "ArrowRight"].includes(event.key);
    if (!(event.key in keys) || typing) return;
    event.preventDefault();
    go(state.row + keys[event.key]);
  });
  const sentence = h("p", { class: "sentence", id: "row-sentence", "aria-live": "polite" });
  const figure = h("div", { class: "figure", id: "waterfall" });
  const values = h("div", { id: "row-table" });

  /** The base value and the prediction of the row. */
  const startAndEnd = () => [stored[state.output].base[state.row], stored[state.output].predictions[state.row]];
  const label = ({ name, text }) => (text == null ? name : { name, value: text });
  const bar = (frame, i, from, size) => {
    const [a, b] = [frame.x(from), frame.x(from + size)];
    return s("rect", { class: size < 0 ? "down" : "up", rx: 2, x: Math.min(a, b), y: frame.y(i) - 9,
      width: Math.max(1, Math.abs(a - b)), height: 18 });
  };
  /** Values that do not add up: bars from 0, each by itself. */
  const apart = (width, steps) => {
    const sizes = steps.map(({ size }) => size);
    const ends = steps.flatMap(({ size, spread }) => [size - spread, size + spread]);
    const decimals = decimalsFor(Math.max(...sizes.map(Math.abs)));
    const frame = lanes(width, {
      names: steps.map(label), notes: [sizes.map((size) => signed(size, decimals))],
      domain: padded(extent([0, ...ends])), lane: 28, zero: true, axis: axisOfValues(), room: 0.42,
    });
    steps.forEach(({ size, spread }, i) => {
      frame.svg.append(bar(frame, i, 0, size));
      if (spread) frame.svg.append(whisker(frame, i, size - spread, size + spread));
    });
    frame.svg.setAttribute("aria-label", `Values of row ${rows[state.row]}; the table beside it has the numbers.`);
    return frame.svg;
  };

  const draw = responsive(figure, (width) => {
    const [start, end] = startAndEnd();
    const bars = known(state.row).slice(0, report.waterfall);
    const left = names.length - bars.length;
    const rest = bars.reduce((sum, [, size]) => sum - size, end - start);
    const steps = bars.map(([feature, size, text, spread]) => ({ name: names[feature], text, size, spread: spread ?? 0 }));
    if (report.efficient && (left > 0 || !report.complete)) {
      steps.push({ name: left > 0 ? plural(left, report.complete ? "other feature" : "or more other feature") : "remaining features", size: rest, spread: otherStds?.[state.output][state.row] ?? 0 });
    }
    if (!report.efficient) {
      figure.replaceChildren(apart(width, steps));
      return;
    }
    let at = start;
    steps.forEach((entry) => { entry.from = at; at += entry.size; entry.to = at; });
    const decimals = decimalsFor(Math.max(...steps.map(({ size }) => Math.abs(size))));
    const frame = lanes(width, {
      names: ["base value", ...steps.map(label), noun],
      notes: [[fixed(start, decimals), ...steps.map(({ size }) => signed(size, decimals)), fixed(end, decimals)]],
      domain: padded(extent([start, end, ...steps.flatMap(({ to, spread }) => [to - spread, to + spread])])), lane: 28, zero: false, axis: directions() ? `${noun} (+ ${directions()[0]}, ${MINUS} ${directions()[1]})` : `${noun}${ofOutput()}`, room: 0.42,
    });
    const upright = (kind, at, y1, y2) => s("line", { class: kind, x1: frame.x(at), x2: frame.x(at), y1, y2 });
    const mark = (i, at) => upright("mark", at, frame.y(i) - 9, frame.y(i) + 9);
    const link = (i, at) => upright("link", at, frame.y(i) + 9, frame.y(i + 1) - 9);
    frame.svg.append(mark(0, start), mark(steps.length + 1, end));
    steps.forEach(({ from, to, size, spread }, i) => {
      frame.svg.append(link(i, from), bar(frame, i + 1, from, size));
      if (spread) frame.svg.append(whisker(frame, i + 1, to - spread, to + spread));
    });
    frame.svg.append(link(steps.length, end));
    frame.svg.setAttribute("aria-label", `Waterfall of row ${rows[state.row]} from base value ${fmt(start)} to ${noun} ${fmt(end)}; the table beside it has the numbers.`);
    figure.replaceChildren(frame.svg);
  });
  const update = () => {
    input.value = rows[state.row];
    problem.hidden = true;
    previous.setAttribute("aria-disabled", state.row === 0);
    next.setAttribute("aria-disabled", state.row === nRows - 1);
    const [start, end] = startAndEnd();
    sentence.textContent = `Row ${rows[state.row]}${report.predicted_class ? ` (${classOf(state.row)})` : ""}: the ${noun}${ofOutput()} is ${fmt(end)}, which is ${fmt(Math.abs(end - start))} ${end < start ? "below" : "above"} the base value ${fmt(start)}.`;
    const entries = known(state.row);
    const decimals = decimalsFor(Math.abs(entries[0][1]));
    const missing = names.length - entries.length;
    values.replaceChildren(table(`Row ${rows[state.row]}: feature values and ${valueName}s${missing ? `, without ${plural(missing, "smaller one")}` : ""}`,
      ["Feature", "Feature value", capitalise(valueName), ...(stds ? ["± posterior std"] : [])],
      entries.map(([feature, size, text, spread]) => [names[feature], text, signed(size, decimals), ...(stds ? [fmt(spread, 2)] : [])]), [1]));
    fillLegend();
    draw();
  };
  const legend = h("p", { class: "scale" });
  const fillLegend = () => fill(legend, {}, [legend.replaceChildren(),
    h("span", { class: "key" }, h("span", { class: "swatch up" }), directions() ? `pushes ${directions()[0]}` : `raises the ${noun}`),
    h("span", { class: "key" }, h("span", { class: "swatch down" }), directions() ? `pushes ${directions()[1]}` : "lowers it"),
    stds ? h("span", {}, `\u00b7 whiskers: ${report.whiskers.posterior}`) : null]);
  card.insertBefore(h("div", { class: "controls" }, stepper, quick("Lowest", 0), quick("Median", 0.5), quick("Highest", 1)), body);
  body.append(problem, sentence, h("div", { class: "two" }, h("div", {}, figure, legend), values));
  changed.output.push(update);
  changed.row.push(update);
  update();
}

// --- dependence

{
  const { card, body } = section("dependence", "Dependence on a feature", "Dependence",
    `A point is one row; x: feature value, y: ${valueName}. Click a point to select its row.`);
  card.classList.add("wide");
  const figure = h("div", { class: "figure", id: "scatter" });
  const legend = h("p", { class: "scale" });
  let mark = () => {};
  const drawScatter = (width) => {
    const [column] = columnsOf[state.feature];
    const high = Math.max(260, Math.min(400, width * 0.45)) - 46;
    const present = rows.map((_, row) => row).filter((row) => !Number.isNaN(column.cells[row]));
    const ends = column.levels ? [0, column.levels.length - 1] : bulk(column.cells);
    const inside = (cell) => Math.min(ends[1], Math.max(ends[0], cell));
    const beyond = present.filter((row) => inside(column.cells[row]) !== column.cells[row]).length;
    const note = [beyond && `${plural(beyond, "row")} beyond, at the edges`,
      present.length < nRows && `${plural(nRows - present.length, "row")} with missing values not shown`].filter(Boolean).join(", ");
    const title = lines(featureNames[state.feature] + (note && ` (${note})`), width - 4);
    const upright = lines(axisOfValues(), high - 10);
    const [left, right, top, bottom] = [64 + LINE * (upright.length - 1), width - 12, 10, high];
    const height = bottom + 46 + LINE * (title.length - 1);
    const domain = column.levels ? [-0.5, column.levels.length - 0.5] : padded(ends);
    const around = (row) => [-1, 1].map((sign) => value(row, state.feature) + sign * (std(row, state.feature) ?? 0));
    const range = padded(extent([0, ...present.flatMap(around)]), 0.06);
    const [x, y] = [scale(domain, left, right), scale(range, bottom, top)];
    const space = (right - left) / (column.levels?.length ?? 1);
    const every = Math.ceil(44 / space);
    const some = column.levels?.filter((_, i) => i % every === 0);
    const marks = some
      ? distinct(some, space * every - 6, 12).map((text, i) => ({ x: i * every, text }))
      : ticks(domain, (right - left) / 80);
    const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `Scatter of the ${valueName} of ${featureNames[state.feature]} against the feature value, ${plural(present.length, "row")}.` },
      marks.map((tick) => s("g", {}, s("line", { class: "grid", x1: x(tick.x), x2: x(tick.x), y1: top, y2: bottom }),
        s("text", { class: "tick", x: within(x(tick.x), tick.text, width), y: bottom + 17, "text-anchor": "middle" }, tick.text))),
      ticks(range, (bottom - top) / 50).map((tick) => s("g", {},
        s("line", { class: tick.x === 0 ? "zero" : "grid", x1: left, x2: right, y1: y(tick.x), y2: y(tick.x) }),
        s("text", { class: "tick", x: left - 8, y: y(tick.x) + 4, "text-anchor": "end" }, typographic(tick.text)))),
      axisLabel(title, (left + right) / 2, bottom + 40, width), uprightLabel(upright, (top + bottom) / 2));
    const coloured = state.colour >= 0;
    // rows of one text stand side by side, in the same order at every drawing
    const aside = (row) => (column.levels ? ((row * 0.618034) % 1 - 0.5) * 0.5 : 0);
    const points = present.map((row) => ({ x: x(inside(column.cells[row]) + aside(row)), y: y(value(row, state.feature)), row, feature: state.feature }));
    figure.replaceChildren(svg);
    const { canvas, context } = canvasOver(figure, width, height);
    const paint = painter();
    if (stds) strokes(context, points, (point) => paint(state.colour, point.row), (point) => around(point.row).map(y));
    context.globalAlpha = 0.75;
    dots(context, points, (point) => paint(state.colour, point.row), nRows > 400 ? 2.5 : 3);
    mark = ringed(figure, canvas, width, height, points);
    mark();
    legend.hidden = !coloured && !stds;
    legend.replaceChildren(...(!coloured ? [] : levelsOf(state.colour) ? [`${featureNames[state.colour]}:`, ...keysOf(state.colour)]
      : [`${featureNames[state.colour]}: low`, h("span", { class: "ramp" }), "high"]), ...(stds ? [h("span", {}, "lines: \u00b1 1 posterior standard deviation")] : []));
  };
  // a feature group has no axis
  const options = featureNames.map((name, feature) => [feature, name]).filter(([feature]) => !isGroup(feature));
  if (options.length === 0) body.append("Every feature here is a group of columns, which has no axis.");
  else {
    state.feature = options[0][0];
    body.append(figure, legend);
    const draw = responsive(figure, drawScatter);
    card.insertBefore(h("div", { class: "controls" },
      choice("feature", "Feature", options, state.feature, (feature) => { state.feature = feature; draw(); }),
      choice("colour", "Colour by", [[-1, "nothing"], ...options], -1, (feature) => { state.colour = feature; draw(); })), body);
    changed.output.push(draw);
    changed.row.push(() => mark());
  }
}

showMethod("Data, model and accuracy.");
