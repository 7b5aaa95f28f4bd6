// The report of a Sensitivity: first-order, Shapley effect and total-order of every input.

const SHORT = 20; // inputs that a chart shows at first
const LONG = 60;
const { names, output_names: outputs } = report;

// --- head

{
  const best = report.rankings[0].slice(0, 3).map((i) => names[i]);
  const main = report.first_order[0].reduce((sum, part) => sum + (part ?? 0), 0);
  showHead(
    outputs.length > 1
      ? `The variance of ${plural(outputs.length, "output")} is split exactly among ${plural(names.length, "input")}.`
      : `The variance of the output, ${fmt(report.variance[0])}, is split exactly among ${plural(names.length, "input")}. Largest Shapley effects: ${best.join(", ")}. First-order indices sum to ${fmt(main, 3)}.`,
    ...report.remarks.map((remark) => `${remark[0].toUpperCase()}${remark.slice(1)}.`),
    names.length > LONG && `The bars show the ${SHORT} to ${LONG} largest inputs; the table has all ${names.length}.`,
  );
}
showFacts(["Inputs", "Range", "Variance", "Error bound"]);

// --- indices

const several = outputs.length > 1;
const key = (kind, text) => h("span", { class: "key" }, h("span", { class: `swatch ${kind}` }), text);

report.rankings.forEach((order, k) => {
  const of = several ? ` of ${outputs[k]}` : "";
  const { body } = section(`indices${k || ""}`, `Sobol indices${of}`, several ? outputs[k] : "Indices",
    "Bar: first-order; pale: total-order, which includes interactions. Line: Shapley effect, which divides interactions equally among their inputs; Shapley effects sum to 1.");
  const figure = h("div", { class: "figure", id: `bars${k || ""}` });
  const shown = { count: Math.min(SHORT, names.length) };
  const draw = responsive(figure, (width) => {
    const some = order.slice(0, shown.count);
    const frame = lanes(width, {
      names: some.map((i) => names[i]),
      notes: [some.map((i) => fixed(report.shapley[k][i] ?? 0, 3))],
      domain: padded(extent([0, ...some.map((i) => report.total_order[k][i] ?? 0)]), 0.03), axis: "fraction of the variance",
    });
    some.forEach((i, at) => {
      const y = frame.y(at);
      const [zero, first, effect, total] = [0, report.first_order[k][i], report.shapley[k][i], report.total_order[k][i]].map((x) => frame.x(Math.max(0, x ?? 0)));
      frame.svg.append(
        s("rect", { class: "accent", rx: 2, x: zero, y: y - 7, width: Math.max(1, total - zero), height: 14, opacity: 0.3 }),
        s("rect", { class: "accent", rx: 2, x: zero, y: y - 7, width: Math.max(1, first - zero), height: 14 }),
        s("line", { class: "mark", x1: effect, x2: effect, y1: y - 11, y2: y + 11 }));
    });
    frame.svg.setAttribute("aria-label", `Indices of ${plural(some.length, "input")}, largest Shapley effect first: ${
      some.slice(0, 5).map((i) => `${names[i]} ${fmt(report.shapley[k][i], 3)}`).join(", ")}. The table below has all.`);
    figure.replaceChildren(frame.svg);
  });
  fill(body, {}, [figure, h("p", { class: "scale" }, key("c0", "first-order (pale: total-order)"), h("span", {}, "\u00b7 line: Shapley effect")),
    more(SHORT, Math.min(LONG, names.length), shown, draw)]);
});

// --- tables

report.rankings.forEach((order, k) => {
  const of = several ? `, ${outputs[k]}` : "";
  const { body } = section(`table${k || ""}`, `All inputs${of}`, several ? `Table, ${outputs[k]}` : "Table",
    `Fractions of the variance ${fmt(report.variance[k])}; inputs are independent of each other.`);
  body.append(table(`Indices${of}, largest Shapley effect first`, ["Input", "First-order", "Shapley effect", "Total-order"],
    order.map((i) => [names[i], fmt(report.first_order[k][i]), fmt(report.shapley[k][i]), fmt(report.total_order[k][i])])));
});
report.second_order.forEach((pairs, k) => {
  if (pairs.length === 0) return;
  const of = several ? `, ${outputs[k]}` : "";
  const { body } = section(`pairs${k || ""}`, `Second-order Sobol indices${of}`, several ? `Pairs, ${outputs[k]}` : "Pairs",
    `Interactions of two inputs, as fractions of the variance${
      pairs.length === report.max_pairs ? `; the ${pairs.length} largest` : ""}.`);
  body.append(table(`Second-order indices${of}, largest first`, ["Input", "With", "Second-order"],
    pairs.map(([i, j, part]) => [names[i], names[j], fmt(part, 3)]), [1]));
});

showMethod("Inputs and accuracy.");
