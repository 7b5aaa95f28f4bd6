// The report of a Change: the Shapley values of every feature before and after.

const SHORT = 12; // features that a chart shows at first
const LONG = 60;
const { names, output_names: outputs, sides } = report;
const several = outputs.length > 1;

// --- head

showHead(report.verdict[0], ...report.verdict.slice(1),
  ...report.remarks.map((remark) => `${remark[0].toUpperCase()}${remark.slice(1)}${remark.endsWith(".") ? "" : "."}`));
showFacts(["Rows", "Features", "p-value", "Background"]);

// --- values

const key = (kind, text) => h("span", { class: "key" }, h("span", { class: `swatch ${kind}` }), text);
const smallest = (k, i) => Math.min(1, ...report.p_values.map((test) => test[k][i]));

report.summaries.forEach((summary, k) => {
  const of = several ? ` of ${outputs[k]}` : "";
  const { body } = section(`values${k || ""}`, `Shapley values${of}, ${report.samples.join(" and ")}`, several ? outputs[k] : "Values",
    `${summary} On the right: contribution, the difference of the two means${report.p_values.length ? `; * p \u2264 ${fmt(report.alpha)}` : ""}.`);
  const figure = h("div", { class: "figure", id: `boxes${k || ""}` });
  const shown = { count: Math.min(SHORT, names.length) };
  const draw = responsive(figure, (width) => {
    const some = report.ranking.slice(0, shown.count);
    const decimals = decimalsFor(Math.max(...some.map((i) => Math.abs(report.contributions[k][i]))));
    const frame = lanes(width, {
      names: some.map((i) => names[i]), lane: 40,
      notes: [some.map((i) => `${signed(report.contributions[k][i], decimals)}${smallest(k, i) <= report.alpha && report.p_values.length ? "*" : "\u2007"}`)],
      domain: padded(extent([0, ...some.flatMap((i) => sides.flatMap((side) => [...side.boxes[k][i], side.means[k][i]]))]), 0.03),
      axis: "Shapley value",
    });
    some.forEach((i, at) => sides.forEach((side, which) => {
      const y = frame.y(at) + (which ? 8 : -8);
      const [low, first, , third, high] = side.boxes[k][i].map(frame.x);
      frame.svg.append(
        s("line", { x1: low, x2: high, y1: y, y2: y, stroke: `var(--c${which})`, "stroke-width": 1.4 }),
        s("rect", { rx: 2, x: first, y: y - 5, width: Math.max(1, third - first), height: 10, fill: `var(--c${which})`, opacity: 0.5 }),
        s("circle", { cx: frame.x(side.means[k][i]), cy: y, r: 4, fill: `var(--c${which})` }));
    }));
    frame.svg.setAttribute("aria-label", `Values of ${plural(some.length, "feature")} before and after: ${
      some.slice(0, 5).map((i) => `${names[i]} ${fmt(report.contributions[k][i], 3)}`).join(", ")}. The table below has all.`);
    figure.replaceChildren(frame.svg);
  });
  fill(body, {}, [figure, h("p", { class: "scale" }, key("c0", report.samples[0]), key("c1", report.samples[1]),
    h("span", {}, "\u00b7 box: IQR, whiskers: 5 to 95 %, point: mean")),
    more(SHORT, Math.min(LONG, names.length), shown, draw)]);
});

// --- tables

report.summaries.forEach((summary, k) => {
  const of = several ? `, ${outputs[k]}` : "";
  const { body } = section(`table${k || ""}`, `All features${of}`, several ? `Table, ${outputs[k]}` : "Table", summary);
  const heads = ["Feature", `Mean ${report.samples[0]}`, `Mean ${report.samples[1]}`, "Contribution"];
  body.append(table(`Contributions${of}, smallest p-value first`,
    report.p_values.length ? [...heads, "p (mean)", "p (distribution)"] : heads,
    report.ranking.map((i) => [names[i], ...sides.map((side) => fmt(side.means[k][i])), fmt(report.contributions[k][i]),
      ...report.p_values.map((test) => pText(test[k][i]))])));
});

showMethod("Rows, tests and accuracy.");
