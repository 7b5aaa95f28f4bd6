// The history of a monitor: p-values of its runs, the features that they detected, and a table.

const { names, runs, counts } = report;
const last = runs.at(-1);
const alarms = runs.filter(({ drift }) => drift);
const day = (run) => String(run.time).slice(0, 10);
const moment = (run) => String(run.time).replace("T", " ").replace(/:\d\d(\.\d+)?(\+00:00|Z)$/, " UTC");
const told = (run) => `${moment(run)}\n${run.current}\n${run.headline}\np = ${pText(run.p_value)} (alpha = ${fmt(run.alpha)})`;

showHead(
  `Last run, ${moment(last)}: ${last.headline}${/[.!?]$/.test(last.headline) ? "" : "."}`,
  `Every run is a test: of ${plural(runs.length, "run")} without any drift, about ${fmt(report.expected, 2)} would detect drift by chance.`,
  report.hidden > 0 && `The page shows the last ${runs.length} runs; ${plural(report.hidden, "earlier run")} ${report.hidden === 1 ? "is" : "are"} in the file.`,
);
showFacts(["Runs", "Runs with drift", "Last run", "Last p-value"]);

/** An axis of runs, evenly spaced, with the dates of some; `place` is the middle of a run. */
function runAxis(left, right, bottom) {
  const step = (right - left) / runs.length;
  const place = (i) => left + step * (i + 0.5);
  const wide = textWidth("2026-11-18", 12) + 16;
  const found = [];
  let free = -Infinity;
  runs.forEach((run, i) => {
    const x = Math.max(left + wide / 2 - 8, Math.min(place(i), right - wide / 2 + 8));
    if ((i === 0 || day(run) !== day(runs[i - 1])) && x - wide / 2 >= free) {
      found.push(s("line", { class: "grid", x1: place(i), x2: place(i), y1: bottom, y2: bottom + 5 }),
        s("text", { class: "tick", x, y: bottom + 18, "text-anchor": "middle" }, day(run)));
      free = x + wide / 2;
    }
  });
  return { place, step, labels: found };
}

/** Show what a run says while the pointer is over its place. */
function hover(svg, axis, [left, top, bottom]) {
  runs.forEach((run, i) => svg.append(s("rect", { x: axis.place(i) - axis.step / 2, y: top, width: Math.max(1, axis.step), height: bottom - top,
    fill: "transparent", onpointermove: (event) => showTip(event, told(run)), onpointerleave: (event) => showTip(event, "") })));
}

// --- p-values

{
  const { body } = section("p-values", "p-values of the runs", "p-values",
    "Oldest on the left, small p-values at the top. Line: significance level.");
  const figure = h("div", { class: "figure", id: "runs" });
  responsive(figure, (width) => {
    const [height, left, right, top, bottom] = [226, 52, width - 8, 12, 198];
    const least = Math.min(...runs.map((run) => Math.min(run.p_value, run.alpha)));
    const decades = Math.max(1, Math.ceil(-Math.log10(least) - 1e-9));
    const y = (p) => bottom + (Math.log10(p) / decades) * (bottom - top);
    const axis = runAxis(left, right, bottom);
    const level = runs.map((run, i) => `${i ? "L" : "M"}${axis.place(i) - axis.step / 2} ${y(run.alpha)}H${axis.place(i) + axis.step / 2}`).join("");
    const size = Math.max(2, Math.min(5, axis.step / 2));
    const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `p-values of ${plural(runs.length, "run")}; ${plural(alarms.length, "run")} detected drift. The table below has all.` },
      Array.from({ length: decades + 1 }, (_, k) => s("g", {},
        s("line", { class: "grid", x1: left, x2: right, y1: y(10 ** -k), y2: y(10 ** -k) }),
        s("text", { class: "tick", x: left - 6, y: y(10 ** -k) + 4, "text-anchor": "end" }, fmt(10 ** -k)))),
      axis.labels, s("path", { class: "level", d: level }),
      uprightLabel(["p-value"], (top + bottom) / 2),
      // those with drift last, so that no other hides them; they differ in shape as well
      ...[false, true].map((drift) => runs.map((run, i) => {
        if (Boolean(run.drift) !== drift) return null;
        const [a, b] = [axis.place(i), y(run.p_value)];
        return drift ? s("path", { class: "alarm", d: `M${a} ${b - size - 2}L${a + size + 2} ${b}L${a} ${b + size + 2}L${a - size - 2} ${b}Z` })
          : s("circle", { class: "calm", cx: a, cy: b, r: size });
      })));
    hover(svg, axis, [left, top, bottom]);
    figure.replaceChildren(svg);
  });
  const key = (name, text) => h("span", { class: "key" }, s("svg", { width: 14, height: 14, "aria-hidden": "true" }, name === "alarm"
    ? s("path", { class: "alarm", d: "M7 1L13 7L7 13L1 7Z" }) : s("circle", { class: "calm", cx: 7, cy: 7, r: 5 })), text);
  body.append(figure, h("p", { class: "scale" }, key("alarm", "drift detected"), key("calm", "no drift detected")));
}

// --- features

if (names.length) {
  const { body } = section("features", "Significant features", "Features",
    `A mark for each run that detected a feature; on the right, in how many runs.${
      report.n_features > names.length ? ` The ${names.length} of ${report.n_features} features that were detected most often.` : ""}`);
  const figure = h("div", { class: "figure", id: "features-of-runs" });
  responsive(figure, (width) => {
    const lane = 26;
    const widest = Math.max(...names.map((name) => textWidth(name)));
    const left = Math.ceil(Math.min(widest, Math.min(0.36 * width, 240))) + 12;
    const [right, top] = [width - Math.ceil(textWidth(String(Math.max(...counts)))) - 16, 4];
    const bottom = top + lane * names.length;
    const height = bottom + 26;
    const axis = runAxis(left, right, bottom);
    const shown = distinct(names, left - 12);
    const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `Features by number of runs that detected them: ${names.slice(0, 5).map((name, k) => `${name} ${counts[k]}`).join(", ")}.` },
      axis.labels,
      names.map((name, k) => {
        const y = top + lane * (k + 0.5);
        return s("g", {}, s("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }),
          s("text", { x: left - 10, y: y + 4.5, "text-anchor": "end" }, shown[k], s("title", {}, name)),
          s("text", { class: "quiet", x: width - 2, y: y + 4.5, "text-anchor": "end" }, counts[k]),
          runs.map((run, i) => (run.significant.includes(name) ? s("rect", { class: "alarm", rx: 1.5,
            x: axis.place(i) - Math.max(2, Math.min(10, axis.step * 0.8)) / 2, y: y - 8, width: Math.max(2, Math.min(10, axis.step * 0.8)), height: 16 }) : null)));
      }));
    hover(svg, axis, [left, top, bottom]);
    figure.replaceChildren(svg);
  });
  body.append(figure);
}

// --- table

{
  const { body } = section("table", "All runs", "Table", "Newest first. Bold: drift detected.");
  body.append(table("Runs", ["Time", "p-value", "Result", "Rows", "Current dataset"],
    [...runs].reverse().map((run) => [h("span", { class: run.drift ? "whole" : "whole plain" }, moment(run)),
      h("td", { class: run.drift ? "significant" : null }, pText(run.p_value, 4)),
      h("td", { class: "text long" }, run.changes.length ? run.changes.join(" ") : run.headline),
      run.rows ? fmt(run.rows[1], 9) : "", String(run.current ?? "")]), [2, 4]));
}

showMethod("The runs and their reference.");
