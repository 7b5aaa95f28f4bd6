// The section on training rows: a table for one row, chosen from a list. As a report of its own it
// brings the head and the method as well.

{
  const data = report.influence;
  if (report.kind === "influence") {
    showHead(`Training rows behind ${plural(data.n_rows, "prediction")}: ${data.what}.`);
    showFacts(["Influence", "Training rows", "Kept for each row"]);
  }
  const { card, body } = section("influence", "Training rows behind a prediction", "Training rows",
    `Influence: ${data.what}. In each cell: the influence on the ${data.value_name} of the feature, and the feature value of the training row.${
      data.output ? ` Output: ${data.output}.` : ""}${
      data.rows.length < data.n_rows ? ` The first ${data.rows.length} rows.` : ""}${data.notes.map((note) => ` ${note}.`).join("")}`);
  card.classList.add("wide");
  const place = h("div", { id: "influence-table" });
  const show = (number) => {
    const row = data.rows[number];
    const cell = (value, text) => h("td", {}, signed(value), text ? h("small", {}, ` (${text})`) : null);
    const head = [data.noun[0].toUpperCase() + data.noun.slice(1), "Target", "Influence", ...row.features.map((name, j) => (row.cells[j] ? `${name} = ${row.cells[j]}` : name))];
    place.replaceChildren(table(`Training rows behind row ${row.name}, prediction ${fmt(row.prediction)}`, head,
      row.lines.map((line) => [line.name, line.target || "\u2013", signed(line.value),
        ...line.split.map((value, j) => cell(value, line.cells && line.cells[j]))])));
  };
  const options = data.rows.map((row, i) => [i, row.name]);
  fill(body, {}, [options.length > 1 ? choice("influence-row", "Row", options, 0, show) : null, place]);
  show(0);
  if (report.kind === "influence") {
    showMethod("Model and accuracy.");
  } else {
    sections.insertBefore(card, document.getElementById("method"));
    document.getElementById("nav").insertBefore(document.getElementById("nav").lastElementChild,
      document.querySelector('#nav a[href="#method"]'));
  }
}
