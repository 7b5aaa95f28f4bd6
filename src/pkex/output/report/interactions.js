// The section on interactions: a heat map, the top pairs, and the plot of one of them.

{
  const data = report.interactions;
  const { names: of, features: shown, top } = data;
  const nShown = shown.length;
  const tables = data.tables.map(unpack);
  const numbers = data.signed ? data.index : `mean |${data.index}|`;
  const cellsOf = Object.fromEntries(Object.entries(data.columns)
    .map(([feature, column]) => [feature, { ...column, cells: unpack(column.cells) }]));
  const target = data.target && { ...data.target, cells: unpack(data.target.cells) };
  const output = () => (typeof state === "undefined" ? 0 : state.output);
  const explained = data.explained === "prediction" ? "the prediction" : data.explained;
  const { card, body } = section("interactions", "Shapley interactions", "Interactions",
    `The ${data.index} of every pair: the joint effect of two features on ${explained}, beyond their main effects${
      data.signed ? "" : `; mean |${data.index}| over ${plural(data.n_rows, "row")}`}. Select a pair to plot it.`);
  card.classList.add("wide");
  const method = document.getElementById("method");
  sections.insertBefore(card, method);
  document.getElementById("nav").insertBefore(document.getElementById("nav").lastElementChild,
    document.querySelector('#nav a[href="#method"]'));

  const pairName = ([i, j]) => `${of[i]} & ${of[j]}`;
  let chosen = top[0][0] ?? null;
  const mix = (a, b, t) => `rgb(${a.map((channel, i) => Math.round(channel + (b[i] - channel) * t))})`;
  /** A function from a value to a colour: that of the page at 0, a full one at the largest size. */
  const tints = (largest) => {
    const [page, up, down] = colours("card", "up", "down");
    return (value) => mix(page, value < 0 ? down : up, largest ? Math.min(1, Math.abs(value) / largest) : 0);
  };

  // the heat map
  const heat = h("div", { class: "figure", id: "heat" });
  const drawHeat = responsive(heat, (width) => {
    const table = tables[output()] ?? tables[0];
    const left = Math.min(0.3 * width, 10 + Math.max(...shown.map((p) => textWidth(of[p]))));
    const size = Math.max(10, Math.min(40, (width - left - 8) / nShown));
    const head = Math.min(90, 14 + 0.75 * Math.max(...shown.map((p) => textWidth(of[p], 12))));
    const [high, wide] = [head + size * nShown + 4, left + size * nShown + 8];
    const largest = Math.max(...table.map(Math.abs));
    const tint = tints(largest);
    const svg = s("svg", { width, height: high, viewBox: `0 0 ${width} ${high}`, role: "img",
      "aria-label": `Heat map of ${plural(nShown, "feature")}; the largest pairs are in the table beside it.` });
    const [beside, above] = [[left - 10, 13], [100, 12]].map(([room, high]) => distinct(shown.map((p) => of[p]), room, high));
    shown.forEach((p, i) => {
      svg.append(s("text", { x: left - 8, y: head + size * (i + 0.5) + 4, "text-anchor": "end" }, beside[i], s("title", {}, of[p])));
      const at = left + size * (i + 0.5);
      svg.append(s("text", { class: "tick", x: at, y: head - 6, transform: `rotate(-50 ${at} ${head - 6})` }, above[i]));
      shown.forEach((q, j) => {
        if (i === j) return;
        const value = table[i * nShown + j];
        const here = chosen && ((chosen[0] === p && chosen[1] === q) || (chosen[0] === q && chosen[1] === p));
        const text = `${of[p]} & ${of[q]}: ${data.signed ? signed(value) : fmt(value)}`;
        const cell = s("rect", { class: here ? "cell chosen" : "cell", x: left + size * j + 0.5, y: head + size * i + 0.5,
          width: size - 1, height: size - 1, rx: 2, fill: tint(value),
          onclick: () => choose(Math.min(p, q), Math.max(p, q)),
          onmousemove: (event) => showTip(event, text), onmouseleave: () => showTip(null, "") });
        svg.append(cell);
      });
    });
    svg.append(s("rect", { x: left, y: head, width: wide - left - 8, height: size * nShown, fill: "none", class: "heat-frame" }));
    heat.replaceChildren(svg);
  });

  // the table of pairs
  const list = h("div", { id: "pairs" });
  const showList = () => {
    const some = top[output()] ?? top[0];
    const decimals = decimalsFor(Math.abs(some[0]?.[2] ?? 0));
    const button = (pair) => h("button", { type: "button", class: "pair", onclick: () => choose(pair[0], pair[1]) }, pairName(pair));
    list.replaceChildren(table(`The largest pairs by ${numbers}`,
      ["Pair", ...(data.signed ? [data.index] : [`Mean |${data.index}|`, "Mean"])],
      some.map((pair) => [button(pair), ...(data.signed
        ? [signed(pair[3], decimals)] : [fixed(pair[2], decimals), signed(pair[3], decimals)])])));
  };

  // the plot of a pair
  const sentence = h("p", { class: "sentence", id: "pair-sentence", "aria-live": "polite" });
  const figure = h("div", { class: "figure", id: "pair" });
  const legend = h("p", { class: "scale", id: "pair-legend" });
  /** Few different numbers: their smallest distance, else 0; rows of one number stand side by side. */
  const gap = (column) => {
    if (column.levels) return 1;
    const few = [...new Set(column.cells)].sort((a, b) => a - b);
    return few.length > 1 && few.length <= 5 ? Math.min(...few.slice(1).map((x, i) => x - few[i])) : 0;
  };
  const aside = (space, row, turn) => (((row + 1) * turn) % 1 - 0.5) * 0.4 * space;
  const drawPair = responsive(figure, (width) => {
    legend.replaceChildren();
    if (!chosen) return figure.replaceChildren("There is no pair.");
    const [x0, y0] = chosen.slice(0, 2).map((feature) => cellsOf[feature]);
    const values = data.values && data.values[`${chosen[0]},${chosen[1]}`];
    if (!x0 || !y0 || (data.values && !values)) {
      return figure.replaceChildren(report.loaded ? "The file did not hold the samples, so the pair cannot be plotted."
        : Object.keys(cellsOf).length && (data.values === null || values) ? "A group of columns has no axis."
        : "Only the largest pairs are plotted; this one is not among them.");
    }
    const down = Math.max(260, Math.min(420, width * 0.5)) - 46;
    const [title, upright] = [lines(of[chosen[0]], width - 4), lines(of[chosen[1]], down - 10)];
    const [left, right, up] = [64 + LINE * (upright.length - 1), width - 12, 10];
    const height = down + 46 + LINE * (title.length - 1);
    const domain = (column) => (column.levels ? [-0.5, column.levels.length - 0.5] : padded(extent(column.cells), gap(column) ? 0.25 : 0.04));
    const [x, y] = [scale(domain(x0), left, right), scale(domain(y0), down, up)];
    const marks = (column, count, room) => (column.levels
      ? distinct(column.levels, room, 12).map((text, i) => ({ x: i, text }))
      : ticks(domain(column), count));
    const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `Scatter of ${of[chosen[0]]} and ${of[chosen[1]]}.` },
      marks(x0, (right - left) / 80, (right - left) / (x0.levels?.length ?? 1) - 6).map((tick) => s("g", {},
        s("line", { class: "grid", x1: x(tick.x), x2: x(tick.x), y1: up, y2: down }),
        s("text", { class: "tick", x: within(x(tick.x), tick.text, width), y: down + 17, "text-anchor": "middle" }, tick.text))),
      marks(y0, (down - up) / 50, left - 10).map((tick) => s("g", {},
        s("line", { class: "grid", x1: left, x2: right, y1: y(tick.x), y2: y(tick.x) }),
        s("text", { class: "tick", x: left - 8, y: y(tick.x) + 4, "text-anchor": "end" }, tick.text))),
      axisLabel(title, (left + right) / 2, down + 40, width), uprightLabel(upright, (up + down) / 2));
    const valuesOfRows = values && unpack(values[output()] ?? values[0]);
    let paint;
    if (valuesOfRows) {
      const largest = Math.max(...valuesOfRows.map(Math.abs));
      const tint = tints(largest);
      paint = (row) => tint(valuesOfRows[row]);
      legend.append(h("span", { class: "key" }, h("span", { class: "swatch up" }), "interaction raises the prediction"),
        h("span", { class: "key" }, h("span", { class: "swatch down" }), `lowers it; largest |${data.index}| ${fmt(largest, 3)}`));
    } else if (data.series) {
      const [one, other] = colours("c0", "c1").map((c) => `rgb(${c})`);
      paint = (row) => (row < data.series[0] ? one : other);
      legend.append(h("span", { class: "key" }, h("span", { class: "swatch c0" }), report.samples[0]),
        h("span", { class: "key" }, h("span", { class: "swatch c1" }), report.samples[1]));
    } else {
      const [low, high] = extent(target.cells);
      const shade = ramp();
      paint = (row) => shade(high > low ? (target.cells[row] - low) / (high - low) : 0.5);
      legend.append(`${target.name}: low`, h("span", { class: "ramp" }), "high");
    }
    const [across, along] = [gap(x0), gap(y0)];
    const without = x0.cells.filter((cell, row) => Number.isNaN(cell) || Number.isNaN(y0.cells[row])).length;
    if (without) legend.append(h("span", {}, `\u00b7 ${plural(without, "row")} with missing values not shown`));
    x0.cells.forEach((cell, row) => {
      if (Number.isNaN(cell) || Number.isNaN(y0.cells[row])) return;
      svg.append(s("circle", { class: "dot", r: x0.cells.length > 300 ? 2.6 : 3.4, fill: paint(row),
        cx: x(cell + aside(across, row, 0.618034)), cy: y(y0.cells[row] + aside(along, row, 0.754878)) }));
    });
    figure.replaceChildren(svg);
  });
  const say = () => {
    if (!chosen) return;
    const places = chosen.slice(0, 2).map((feature) => shown.indexOf(feature));
    const known = (top[output()] ?? top[0]).find(([i, j]) => i === chosen[0] && j === chosen[1]);
    const value = known ? known[2] : (tables[output()] ?? tables[0])[places[0] * nShown + places[1]];
    sentence.textContent = `${pairName(chosen)}: ${numbers} ${data.signed ? signed(value) : fmt(value)}.`;
  };
  function choose(i, j) {
    chosen = [i, j];
    update();
  }
  const update = () => { say(); drawHeat(); drawPair(); };
  body.append(h("div", { class: "two" }, heat, list), h("h3", {}, "One pair"), sentence, figure, legend);
  if (typeof changed !== "undefined") changed.output.push(() => { chosen = top[state.output][0]; showList(); update(); });
  showList();
  update();
}
