// The report of an Attribution: contributions with null bands, the statistic, marginals, the table.

const SHORT = 20; // features that the chart shows at first
const LONG = 60;
const { names, values, samples, targets, alpha } = report;
const { statistic_name: statistic, standard_errors: errors, p_adjusted: adjusted } = report;
const tested = report.p_values !== null;
const subject = report.two_samples ? "the difference between the samples" : "the dependence on the target";

// --- head

const target = targets.length > 1 ? `${plural(targets.length, "target")} (${targets[0]} and ${targets.length === 2 ? targets[1] : "others"})` : samples[1];
const finest = 1 / (report.n_permutations + 1); // no p-value is smaller
const enough = Math.ceil(1 / alpha) - 1;
showHead(
  `${report.verdict} ${statistic} between ${report.two_samples ? `${samples[0]} and ${samples[1]}` : `the columns and ${target}`} is ${tested ? "" : `${fmt(report.statistic)}, `}split exactly among ${plural(names.length, "feature")}.`.trim(),
  ...report.remarks, // sentences, which may begin with a name as it is
  report.loaded && "This attribution was loaded from a file, which does not store the samples, so their columns are not shown.",
  names.length > LONG && `The bars show the ${SHORT} to ${LONG} features of largest size; the table has all ${names.length}.`,
);
showFacts([statistic, "p-value", "Significance level", "Rows", "Error bound", "Additivity error"]);

// --- what changed

if (report.changes.length) {
  const { body } = section("changes", "What changed", "Changes",
    `From ${samples[0]} to ${samples[1]}, in the units of the columns. These numbers describe the columns; the p-values are in the table below.`);
  body.append(h("dl", { class: "method changes" }, report.changes.flatMap(({ subject, text }) => [
    h("dt", {}, h("b", {}, subject)), h("dd", {}, text)])));
}

// --- bars

{
  const { body } = section("values", `Contributions to ${statistic}`, "Contributions",
    `The contributions add up to ${fmt(report.statistic)}. ${tested
      ? `Grey band: 95 % of the permutations. A contribution is significant where its p-value is at most ${alpha} (adjusted for their number); the test permutes labels and single columns.`
      : "No p-values; pass n_permutations=999."}${
      errors ? ` Whiskers: \u00b1 1 standard error over blocks of ${report.block_size} rows.` : ""}`);
  const figure = h("div", { class: "figure", id: "bars" });
  const shown = { count: Math.min(SHORT, names.length) };
  const draw = responsive(figure, (width) => {
    const largest = new Set([...report.ranking].sort((a, b) => Math.abs(values[b]) - Math.abs(values[a])).slice(0, shown.count));
    const order = report.ranking.filter((i) => largest.has(i));
    const ends = order.flatMap((i) => [values[i] - (errors?.[i] ?? 0), values[i] + (errors?.[i] ?? 0),
      ...(tested ? [report.null_low[i], report.null_high[i]] : [])]);
    const decimals = decimalsFor(Math.max(...order.map((i) => Math.abs(values[i]))));
    const frame = lanes(width, {
      names: order.map((i) => names[i]),
      notes: [order.map((i) => fixed(values[i], decimals)), ...(tested && width > 480 ? [order.map((i) => `p ${pText(adjusted[i])}`)] : [])],
      domain: padded(extent([0, ...ends]), 0.03), axis: `contribution to ${statistic}`,
    });
    order.forEach((i, at) => {
      const [a, b, y] = [frame.x(0), frame.x(values[i]), frame.y(at)];
      if (tested) {
        const [low, high] = [frame.x(report.null_low[i]), frame.x(report.null_high[i])];
        frame.svg.append(s("rect", { class: "band", x: low, y: y - 12, width: Math.max(1, high - low), height: 24 }));
      }
      const pale = tested && adjusted[i] > alpha;
      frame.svg.append(s("rect", { class: values[i] < 0 ? "down" : "up", rx: 2, x: Math.min(a, b), y: y - 6,
        width: Math.max(1, Math.abs(b - a)), height: 12, opacity: pale ? 0.45 : 1 }));
      if (errors?.[i] != null) frame.svg.append(whisker(frame, at, values[i] - errors[i], values[i] + errors[i]));
    });
    frame.svg.setAttribute("aria-label", `Contributions of ${plural(order.length, "feature")}, largest first: ${
      order.slice(0, 5).map((i) => `${names[i]} ${fmt(values[i], 3)}`).join(", ")}. The table below has all.`);
    figure.replaceChildren(frame.svg);
  });
  const key = (kind, text) => h("span", { class: "key" }, h("span", { class: `swatch ${kind}` }), text);
  fill(body, {}, [figure, h("p", { class: "scale" }, key("up", `increases ${subject}`), key("down", "decreases it"),
    tested ? key("band", "95 % of permutations") : null,
    tested ? h("span", {}, `\u00b7 pale: adjusted p-value above ${alpha}`) : null),
    more(SHORT, Math.min(LONG, names.length), shown, draw)]);
}

// --- the statistic

if (tested) {
  const { body } = section("statistic", `${statistic} under the null hypothesis`, statistic,
    `Grey: ${plural(report.n_permutations, "permutation")}; line: the data.`);
  const figure = h("div", { class: "figure" });
  const { edges, counts } = report.null_statistics;
  responsive(figure, (width) => {
    const [height, left, right, bottom] = [190, 10, width - 10, 142];
    const domain = padded(extent([...edges, report.statistic]));
    const [x, y] = [scale(domain, left, right), scale([0, Math.max(...counts) || 1], bottom, 28)];
    const at = x(report.statistic);
    const side = at > width / 2 ? "end" : "start";
    figure.replaceChildren(s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `Histogram of ${statistic} over permutations, from ${fmt(edges[0], 3)} to ${fmt(edges.at(-1), 3)}; the data have ${fmt(report.statistic)}.` },
      ticks(domain, width / 90).map((tick) => s("g", {}, s("line", { class: "grid", x1: x(tick.x), x2: x(tick.x), y1: 20, y2: bottom }),
        s("text", { class: "tick", x: within(x(tick.x), tick.text, width), y: bottom + 17, "text-anchor": "middle" }, tick.text))),
      counts.map((count, i) => s("rect", { class: "band", x: x(edges[i]) + 0.5, y: y(count), width: Math.max(1, x(edges[i + 1]) - x(edges[i]) - 1), height: bottom - y(count) })),
      s("line", { class: "mark", x1: at, x2: at, y1: 20, y2: bottom }),
      s("text", { class: "strong", x: at + (side === "end" ? -6 : 6), y: 18, "text-anchor": side }, `${fmt(report.statistic)}, p\u00a0=\u00a0${pText(report.p_statistic)}`),
      s("text", { class: "axis-label", x: width / 2, y: height - 8, "text-anchor": "middle" }, statistic)));
  });
  body.append(figure);
}

// --- marginals

const series = (k) => `s${k % 6}`;
const legendOf = (entries) => h("p", { class: "scale" }, entries.map((name, k) =>
  h("span", { class: "key" }, h("span", { class: `swatch ${series(k)}` }), name)));

/** A frame with two axes for a small plot. */
function small(width, height, domain, range, labels) {
  const [left, right, top, bottom] = [labels.left ?? 40, width - 6, 8, height - 38];
  const [x, y] = [scale(domain, left, right), scale(range, bottom, top)];
  const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": labels.describe },
    ticks(domain, (right - left) / 62).map((tick) => s("g", {}, s("line", { class: "grid", x1: x(tick.x), x2: x(tick.x), y1: top, y2: bottom }),
      s("text", { class: "tick", x: within(x(tick.x), tick.text, width), y: bottom + 15, "text-anchor": "middle" }, tick.text))),
    labels.ticks === false ? null : ticks(range, (bottom - top) / 40).map((tick) => s("g", {},
      s("line", { class: "grid", x1: left, x2: right, y1: y(tick.x), y2: y(tick.x) }),
      s("text", { class: "tick", x: left - 6, y: y(tick.x) + 4, "text-anchor": "end" }, labels.percent ? `${fmt(100 * tick.x, 3)} %` : tick.text))),
    s("text", { class: "axis-label", x: (left + right) / 2, y: height - 5, "text-anchor": "middle" }, fitted(labels.axis, right - left, 12)));
  return { svg, x, y, left, right, top, bottom };
}

const drawings = {
  histogram(width, { edges, beyond, series: all, column }) {
    const top = Math.max(...all.flatMap(({ shares }) => shares));
    const frame = small(width, 190, extent(edges), [0, top * 1.05], { axis: `${column}${beyond > 0.02 ? ` (${fmt(100 * beyond, 2)} % beyond, in the outer bins)` : ""}`, percent: true, left: 44,
      describe: `Histograms of ${column}: ${all.map(({ name }) => name).join(", ")}.` });
    all.forEach(({ shares }, k) => {
      const line = shares.map((share, i) => `V${frame.y(share)}H${frame.x(edges[i + 1])}`).join("");
      const path = `M${frame.x(edges[0])} ${frame.bottom}${line}V${frame.bottom}`;
      frame.svg.append(
        s("path", { class: series(k), d: path, fill: "currentColor", opacity: 0.13 }),
        s("path", { class: series(k), d: path, fill: "none", stroke: "currentColor", "stroke-width": 1.75, "stroke-linejoin": "round" }));
    });
    return frame.svg;
  },
  bars(width, { categories, series: all, column }) {
    const lane = Math.max(18, 6 + 7 * all.length);
    const top = Math.max(...all.flatMap(({ shares }) => shares)) || 1;
    const frame = lanes(width, { names: categories, lane, domain: [0, 100 * top * 1.02], axis: `${column}, % of rows`, zero: false, room: 0.4 });
    const thick = (lane - 5) / all.length;
    all.forEach(({ shares }, k) => shares.forEach((share, i) => frame.svg.append(
      s("rect", { class: series(k), fill: "currentColor", x: frame.left, y: frame.y(i) - (lane - 5) / 2 + k * thick,
        width: Math.max(0, frame.x(100 * share) - frame.left), height: thick - 1 }))));
    frame.svg.setAttribute("aria-label", `Fractions of the categories of ${column}: ${
      categories.map((name, i) => `${name} ${all.map(({ shares }) => `${fmt(100 * shares[i], 3)} %`).join(" and ")}`).join("; ")}.`);
    return frame.svg;
  },
  scatter(width, { x: xs, y: ys, column }) {
    const frame = small(width, 210, padded(extent(xs)), padded(extent(ys)), { axis: column, left: 48,
      describe: `Scatter of ${samples[1]} against ${column}, ${plural(xs.length, "row")}.` });
    xs.forEach((at, i) => frame.svg.append(s("circle", { class: series(0), fill: "currentColor", opacity: 0.5, cx: frame.x(at), cy: frame.y(ys[i]), r: 2.2 })));
    return frame.svg;
  },
  boxes(width, { categories, boxes, column }) {
    const frame = lanes(width, { names: categories, lane: 24, domain: padded(extent(boxes.flat())), axis: `${samples[1]}, by ${column}`, zero: false, room: 0.4 });
    boxes.forEach(([low, first, middle, third, high], i) => {
      const y = frame.y(i);
      frame.svg.append(
        s("line", { class: "zero", x1: frame.x(low), x2: frame.x(high), y1: y, y2: y }),
        s("rect", { class: series(0), fill: "currentColor", opacity: 0.55, rx: 2, x: frame.x(first), y: y - 7, width: Math.max(1, frame.x(third) - frame.x(first)), height: 14 }),
        s("line", { class: "mark", x1: frame.x(middle), x2: frame.x(middle), y1: y - 7, y2: y + 7 }));
    });
    frame.svg.setAttribute("aria-label", `Quantiles of ${samples[1]} by ${column}; medians: ${
      categories.map((name, i) => `${name} ${fmt(boxes[i][2])}`).join(", ")}.`);
    return frame.svg;
  },
};

if (report.marginals.length) {
  const kinds = new Set(report.marginals.flatMap(({ panels }) => panels.map(({ kind }) => kind)));
  const shared = report.marginals.flatMap(({ panels }) => panels).find((panel) => panel.series)?.series.map(({ name }) => name);
  const { body } = section("marginals", report.two_samples ? "The columns in both samples" : `The columns and ${samples[1]}`, "Columns",
    `${report.marginals.length < names.length ? `The ${report.marginals.length} features that are significant or have the largest contributions. ` : ""}${
      shared ? `Histograms and bars show the fraction of rows${report.two_samples ? " of each sample" : ` of each ${samples[1]}`}.` : `A point is one row; vertical axis: ${samples[1]}.`}${
      targets.length > 1 ? ` Of the targets only ${samples[1]} is shown.` : ""}${
      kinds.has("boxes") ? " Box: IQR, whiskers: 5 to 95 %, line: median." : ""}`);
  if (shared) body.append(legendOf(shared));
  const grid = h("div", { class: "panels body" });
  body.append(grid);
  for (const { feature, panels } of report.marginals) {
    for (const panel of panels) {
      const figure = h("div", { class: "figure" });
      const grouped = panel.column !== names[feature];
      grid.append(h("div", { class: "panel" }, h("h3", {}, grouped ? `${names[feature]}: ${panel.column}` : names[feature]),
        h("p", {}, `contribution ${fmt(values[feature], 3)}${tested ? `, p = ${pText(adjusted[feature])}` : ""}${panel.note ? `; ${panel.note}` : ""}`), figure));
      responsive(figure, (width) => figure.replaceChildren(drawings[panel.kind](width, panel)));
    }
  }
}

// --- table

{
  const coarse = finest <= alpha ? "" : ` With ${plural(report.n_permutations, "permutation")} no adjusted p-value is below ${
    pText(Math.min(1, finest))}; ${alpha} needs ${enough} permutations.`;
  const what = report.two_samples ? "change" : "dependence";
  const { body } = section("table", "All features", "Table",
    `${report.univariate ? `Univariate: ${statistic} of the feature by itself. A significant contribution without a univariate ${what} means that ${
      report.two_samples ? "the dependence of the feature on others changed, or a few extreme values of it" : "the target depends on the feature jointly with others"}. A feature with a univariate ${what} can, rarely, have a negative contribution.` : "Univariate statistics were not computed before the attribution was saved."}${
      tested ? ` p-values are one-sided and adjusted for the number of features, which bounds the family-wise error rate. Bold: at most ${alpha}.${coarse}` : ""}`);
  const cell = (p) => h("td", { class: p <= alpha ? "significant" : null }, pText(p, 4));
  body.append(table(`Contributions to ${statistic}, largest first`,
    ["Feature", "Contribution", ...(errors ? ["Standard error"] : []), ...(tested ? ["Null, 2.5 %", "Null, 97.5 %", "p (adjusted)"] : []), ...(report.univariate ? ["Univariate"] : []), ...(report.p_univariate ? ["p (adjusted)"] : [])],
    report.ranking.map((i) => [names[i], fmt(values[i]), ...(errors ? [fmt(errors[i], 2)] : []),
      ...(tested ? [fmt(report.null_low[i], 3), fmt(report.null_high[i], 3), cell(adjusted[i])] : []),
      ...(report.univariate ? [fmt(report.univariate[i], 3)] : []), ...(report.p_univariate ? [cell(report.p_univariate[i])] : [])])));
}

showMethod("Data, kernel and accuracy.");
