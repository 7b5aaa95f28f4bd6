// The report of Effects: a curve for each feature, with its band and individual curves.

const { output_names: outputs, effects: titles } = report;
const several = outputs.length > 1;
const HEIGHT = 230;

// --- head

showHead(
  `How the prediction changes with ${report.effects_are}.`,
  report.response === "probability" && "Curves are probabilities: individual curves are transformed before they are averaged.",
);
showFacts(["Effects", "Background", "Band", "H squared"]);

// --- curves

/** One curve in a plot of some width, with the vertical axis that all curves of an output share. */
function curve(width, panel, domain, title) {
  const [left, right, top, bottom] = [64, width - 10, 8, HEIGHT - 44];
  const x = scale(padded(extent(panel.x), panel.levels ? 0.15 : 0.02), left, right);
  const y = scale(domain, bottom, top);
  const path = (ys, attributes) => s("path", { fill: "none", d: ys.map((at, i) => `${i ? "L" : "M"}${x(panel.x[i])},${y(at)}`).join(""), ...attributes });
  const svg = s("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img" });
  for (const { x: at, text } of ticks(domain, 4)) {
    svg.append(s("line", { class: "grid", x1: left, x2: right, y1: y(at), y2: y(at) }),
      s("text", { class: "tick", x: left - 6, y: y(at) + 4, "text-anchor": "end" }, text));
  }
  if (panel.levels) {
    const step = Math.ceil(panel.levels.length / 12);
    panel.levels.forEach((name, i) => i % step || svg.append(s("text", { class: "tick", "text-anchor": "middle", x: x(i), y: bottom + 16 },
      fitted(name, ((right - left) / panel.levels.length) * step, 12))));
  } else if (!panel.joint) {
    for (const { x: at, text } of ticks(extent(panel.x), 5)) {
      svg.append(s("text", { class: "tick", "text-anchor": "middle", x: x(at), y: bottom + 16 }, text));
    }
  }
  const { average, std } = panel;
  if (average && std) {
    const up = average.map((at, i) => `${i ? "L" : "M"}${x(panel.x[i])},${y(at + 2 * std[i])}`);
    const down = average.map((at, i) => `L${x(panel.x[i])},${y(at - 2 * std[i])}`).reverse();
    svg.append(s("path", { class: "band", d: `${up.join("")}${down.join("")}Z` }));
  }
  for (const line of panel.individual ?? []) svg.append(path(line, { class: "whisker", "stroke-width": 0.6, opacity: 0.18 }));
  if (average) svg.append(path(average, { class: "mark" }));
  svg.append(axisLabel(lines(panel.joint ? `${title} (joint values, sorted)` : title, width - 4), (left + right) / 2, HEIGHT - 8, width));
  svg.setAttribute("aria-label", `Curve of ${title}, between ${fmt(panel.ends[0])} and ${fmt(panel.ends[1])}.`);
  return svg;
}

report.panels.forEach((panels, k) => {
  const single = panels.map((panel, i) => [panel, titles[i]]).filter(([panel]) => !panel.pair);
  if (!single.length) return; // the table has the ends of surfaces
  const { body } = section(`curves${k || ""}`, several ? `Curves of ${outputs[k]}` : "Curves", several ? outputs[k] : "Curves",
    report.lines);
  const values = single.flatMap(([{ average = [], std, individual = [] }]) => [
    ...average.flatMap((at, i) => (std ? [at - 2 * std[i], at + 2 * std[i]] : [at])), ...individual.flat()]);
  single.forEach(([panel, title], i) => {
    const figure = h("div", { class: "figure", id: `curve${k}-${i}` });
    body.append(figure);
    responsive(figure, (width) => figure.replaceChildren(curve(Math.min(width, 720), panel, padded(extent(values), 0.05), title)));
  });
});

// --- table

report.panels.forEach((panels, k) => {
  const { body } = section(`table${k || ""}`, several ? `All effects, ${outputs[k]}` : "All effects", several ? `Table, ${outputs[k]}` : "Table",
    "The lowest and the highest value of each curve or surface, and H squared.");
  body.append(table("Effects", ["Feature", "Lowest", "Highest", "H squared"],
    panels.map((panel, i) => [titles[i], fmt(panel.ends[0]), fmt(panel.ends[1]), report.h[k * titles.length + i] == null ? "" : fmt(report.h[k * titles.length + i], 3)])));
});

showMethod("Background and accuracy.");
