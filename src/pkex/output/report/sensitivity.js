// The report of a Sensitivity: first order, Shapley effect and total order of every input.

const SHORT = 20; // inputs that a chart shows at first
const LONG = 60;
const { names, outputs } = report;

// --- head

{
  const best = report.orders[0].slice(0, 3).map((i) => names[i]);
  const alone = report.first[0].reduce((sum, share) => sum + (share ?? 0), 0);
  showHead(
    outputs.length > 1
      ? `The variance of ${plural(outputs.length, "output")} is split exactly among ${plural(names.length, "input")}.`
      : `The variance of the output, ${fmt(report.variance[0])}, is split exactly among ${plural(names.length, "input")}. Largest: ${best.join(", ")}. Inputs explain ${fmt(100 * alone, 3)} % of it alone.`,
    ...report.remarks.map((remark) => `${remark[0].toUpperCase()}${remark.slice(1)}.`),
    names.length > LONG && `The bars show the ${SHORT} to ${LONG} largest inputs; the table has all ${names.length}.`,
  );
}
showFacts(["Inputs", "Range", "Variance", "Variance over the rows", "Error"]);

// --- indices

const several = outputs.length > 1;
const key = (kind, text) => h("span", { class: "key" }, h("span", { class: `swatch ${kind}` }), text);

report.orders.forEach((order, k) => {
  const of = several ? ` of ${outputs[k]}` : "";
  const { body } = section(`indices${k || ""}`, `What each input has in the variance${of}`, several ? outputs[k] : "Indices",
    "The full bar is what an input explains alone (first order). The pale bar reaches to what would be lost without it (total order). The mark is its Shapley effect, which divides what inputs do together equally among them; the effects sum to 1.");
  const figure = h("div", { class: "figure", id: `bars${k || ""}` });
  const shown = { count: Math.min(SHORT, names.length) };
  const draw = responsive(figure, (width) => {
    const some = order.slice(0, shown.count);
    const frame = lanes(width, {
      names: some.map((i) => names[i]),
      notes: [some.map((i) => fixed(report.shapley[k][i] ?? 0, 3))],
      domain: padded(extent([0, ...some.map((i) => report.total[k][i] ?? 0)]), 0.03), axis: "share of the variance",
    });
    some.forEach((i, at) => {
      const y = frame.y(at);
      const [zero, first, effect, total] = [0, report.first[k][i], report.shapley[k][i], report.total[k][i]].map((x) => frame.x(Math.max(0, x ?? 0)));
      frame.svg.append(
        s("rect", { class: "accent", rx: 2, x: zero, y: y - 7, width: Math.max(1, total - zero), height: 14, opacity: 0.3 }),
        s("rect", { class: "accent", rx: 2, x: zero, y: y - 7, width: Math.max(1, first - zero), height: 14 }),
        s("line", { class: "mark", x1: effect, x2: effect, y1: y - 11, y2: y + 11 }));
    });
    frame.svg.setAttribute("aria-label", `Indices of ${plural(some.length, "input")}, largest Shapley effect first: ${
      some.slice(0, 5).map((i) => `${names[i]} ${fmt(report.shapley[k][i], 3)}`).join(", ")}. The table below has all.`);
    figure.replaceChildren(frame.svg);
  });
  fill(body, {}, [figure, h("p", { class: "scale" }, key("c0", "alone, and pale with others"), h("span", {}, "\u00b7 line: Shapley effect")),
    more(SHORT, Math.min(LONG, names.length), shown, draw)]);
});

// --- tables

report.orders.forEach((order, k) => {
  const of = several ? `, ${outputs[k]}` : "";
  const { body } = section(`table${k || ""}`, `All inputs${of}`, several ? `Table, ${outputs[k]}` : "Table",
    `Shares of the variance ${fmt(report.variance[k])}, with inputs that are independent of each other.`);
  body.append(table(`Indices${of}, largest Shapley effect first`, ["Input", "First order", "Shapley effect", "Total order"],
    order.map((i) => [names[i], fmt(report.first[k][i]), fmt(report.shapley[k][i]), fmt(report.total[k][i])])));
});
report.pairs.forEach((pairs, k) => {
  if (pairs === null || pairs.length === 0) return;
  const of = several ? `, ${outputs[k]}` : "";
  const { body } = section(`pairs${k || ""}`, `Pairs of inputs${of}`, several ? `Pairs, ${outputs[k]}` : "Pairs",
    `What two inputs explain together beyond what each explains alone, as shares of the variance${
      pairs.length === report.max_pairs ? `; the ${pairs.length} largest` : ""}.`);
  body.append(table(`Parts of pairs${of}, largest first`, ["Input", "With", "Share"],
    pairs.map(([i, j, part]) => [names[i], names[j], fmt(part, 3)]), [1]));
});

showMethod("What was analysed and how exactly.");
