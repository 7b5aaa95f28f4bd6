// The report of an Importance: a bar for every feature, with its standard error.

const SHORT = 20; // features that a chart shows at first
const LONG = 60;
const { names, output_names: outputs } = report;
const several = outputs.length > 1;

// --- head

{
  const best = report.rankings[0].slice(0, 3).map((i) => names[i]);
  showHead(
    several
      ? `The importance of ${plural(names.length, "feature")} for ${plural(outputs.length, "output")}: ${report.meaning}.`
      : `The importance of ${plural(names.length, "feature")}: ${report.meaning}. Most important: ${best.join(", ")}.`,
    ...report.remarks.map((remark) => `${remark[0].toUpperCase()}${remark.slice(1)}.`),
    names.length > LONG && `The bars show the ${SHORT} to ${LONG} most important features; the table has all ${names.length}.`,
  );
}
showFacts(["Features", "Rows", "Importance"]);

// --- bars

report.rankings.forEach((order, k) => {
  const of = several ? ` for ${outputs[k]}` : "";
  const { body } = section(`bars${k || ""}`, `Importance${of}`, several ? outputs[k] : "Importance",
    `Bar: ${report.meaning}.${report.standard_errors[k].some((error) => error !== null) ? " Line: one standard error over the rows on either side." : ""}`);
  const figure = h("div", { class: "figure", id: `figure${k || ""}` });
  const shown = { count: Math.min(SHORT, names.length) };
  const value = (i) => report.values[k][i] ?? 0;
  const error = (i) => report.standard_errors[k][i] ?? 0;
  const draw = responsive(figure, (width) => {
    const some = order.slice(0, shown.count);
    const frame = lanes(width, {
      names: some.map((i) => names[i]),
      notes: [some.map((i) => fmt(value(i), 3))],
      domain: padded(extent([0, ...some.flatMap((i) => [value(i) - error(i), value(i) + error(i)])]), 0.03), axis: report.meaning,
    });
    some.forEach((i, at) => {
      const y = frame.y(at);
      const [zero, end, low, high] = [0, value(i), value(i) - error(i), value(i) + error(i)].map((x) => frame.x(x));
      frame.svg.append(
        s("rect", { class: "accent", rx: 2, x: Math.min(zero, end), y: y - 7, width: Math.max(1, Math.abs(end - zero)), height: 14 }),
        s("line", { class: "mark", x1: low, x2: high, y1: y, y2: y }));
    });
    frame.svg.setAttribute("aria-label", `Importance of ${plural(some.length, "feature")}, most important first: ${
      some.slice(0, 5).map((i) => `${names[i]} ${fmt(value(i), 3)}`).join(", ")}. The table below has all.`);
    figure.replaceChildren(frame.svg);
  });
  fill(body, {}, [figure, more(SHORT, Math.min(LONG, names.length), shown, draw)]);
});

// --- tables

report.rankings.forEach((order, k) => {
  const of = several ? `, ${outputs[k]}` : "";
  const { body } = section(`table${k || ""}`, `All features${of}`, several ? `Table, ${outputs[k]}` : "Table", `Importance: ${report.meaning}.`);
  const columns = [["Importance", report.values], ["Standard error", report.standard_errors],
    ["Centred", report.centred], ["Std of a shuffle", report.std]].filter(([, numbers]) => numbers !== null);
  body.append(table(`Importance${of}, most important first`, ["Feature", ...columns.map(([name]) => name)],
    order.map((i) => [names[i], ...columns.map(([, numbers]) => fmt(numbers[k][i]))])));
});

showMethod("What was computed.");
