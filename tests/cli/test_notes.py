"""What the command line says about columns for which an exact answer is not the one wanted."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.svm import SVR

from pkex.cli import main

pytestmark = pytest.mark.frontend


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def tables(change=lambda table, rng: table, **options):
    """Write two tables, of which the second is shifted, as a change makes them."""
    rng = np.random.default_rng(0)
    for name, shift in (("old.csv", 0.0), ("new.csv", 1.0)):
        table = pd.DataFrame(
            {"price": rng.normal(10.0 + shift, 1.0, 60).round(3), "size": rng.normal(size=60)}
        )
        change(table, rng).to_csv(name, index=False, **options)


def notes(command, capsys, code=None):
    found = main([*command.split(), "--json", "--permutations", "39", "--n-jobs", "1"])
    assert code is None or found == code
    return json.loads(capsys.readouterr().out)["notes"]


def said(found, words):
    return [note for note in found if words in note]


def test_clean_columns_are_not_remarked(capsys):
    tables()
    assert len(notes("drift old.csv new.csv", capsys, 1)) == 2  # what was read


def test_numbers_with_a_decimal_comma(capsys):
    tables(sep=";", decimal=",")
    found = said(notes("drift old.csv new.csv", capsys), "read as text with a decimal comma")
    assert [note.split()[0] for note in found] == ["price", "size"]
    assert "--decimal ," in found[0]
    read = ["--decimal", ","]
    assert main(["drift", "old.csv", "new.csv", "--permutations", "39", *read]) == 1
    assert "read as text" not in capsys.readouterr().err


def test_one_cell_that_is_no_number(capsys):
    def spoil(table, rng):
        cells = table["price"].astype(object)
        cells[int(rng.integers(60))] = "n/k"
        return table.assign(price=cells)

    tables(spoil)
    [note] = said(notes("drift old.csv new.csv", capsys), "read as text")
    assert note.startswith(
        "price is read as text, as 'n/k' is not a number, though 118 of 120 values"
    )
    codes = notes("drift old.csv new.csv --categorical price", capsys)
    assert not said(codes, "price is read")


def test_in_one_table_text_in_the_other_numbers(capsys):
    tables()
    table = pd.read_csv("new.csv").astype({"price": object})
    table.loc[3, "price"] = "?"
    table.to_csv("new.csv", index=False)
    assert main(["drift", "old.csv", "new.csv"]) == 2
    assert "if it holds numbers, look for a cell that is not one, such as '?'" in (
        capsys.readouterr().err
    )


def test_a_category_for_each_row(capsys):
    tables(lambda table, rng: table.assign(name=[f"p{i}" for i in rng.permutation(60)]))
    [note] = said(notes("drift old.csv new.csv", capsys), "about one per row")
    assert note.startswith("name has 60 different values")


def test_running_numbers(capsys):
    tables(lambda table, rng: table.assign(id=rng.integers(1, 9, 60).cumsum()))
    [note] = said(notes("drift old.csv new.csv", capsys), "row number")
    assert note.startswith("id looks like")


def test_rows_dropped_from_one_table(capsys):
    tables()
    table = pd.read_csv("new.csv")
    table.loc[::3, "size"] = np.nan
    table.to_csv("new.csv", index=False)
    [note] = said(notes("drift old.csv new.csv --missing drop", capsys), "missing values removed")
    assert note.startswith("missing values removed 0 % of the rows of old.csv and 33 % of new.csv")
    table.assign(size=np.nan).to_csv("new.csv", index=False)
    assert main(["drift", "old.csv", "new.csv", "--missing", "drop"]) == 2
    assert "so none is left: size is empty, leave it out with --columns." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("cells", "noted"), [(range(5), True), ((0, 1), False), (np.linspace(0, 1, 7), False)]
)
def test_a_target_of_codes(cells, noted, capsys):
    rng = np.random.default_rng(0)
    tables(lambda table, _: table.assign(kind=rng.choice(list(cells), 60)))
    found = said(notes("dependence old.csv --target kind", capsys), "different integers")
    assert bool(found) == noted
    if noted:
        codes = notes("dependence old.csv --target kind --categorical kind", capsys)
        assert not said(codes, "different integers")


def test_a_model_that_knows_no_names(capsys):
    tables()
    table = pd.read_csv("old.csv")
    skops.io.dump(SVR().fit(table.to_numpy(), table["size"]), "model.skops")
    assert main(["explain", "model.skops", "old.csv", "--rows", "0:3"]) == 0
    assert "in the order of the file: price, size; --columns sets" in capsys.readouterr().err
    assert main(["sensitivity", "model.skops", "old.csv"]) == 0
    assert "in the order of the file: price, size" in capsys.readouterr().err
    given = ["--columns", "size,price"]
    assert main(["explain", "model.skops", "old.csv", "--rows", "0:3", *given]) == 0
    assert "in the order of the file" not in capsys.readouterr().err


def test_one_change_among_many_columns_is_drift(capsys):
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(2, 100, 30))
    Z[:, 4] += 0.8
    for name, rows in (("old.csv", X), ("new.csv", Z)):
        pd.DataFrame(rows).add_prefix("c").to_csv(name, index=False)
    assert main(["drift", "old.csv", "new.csv", "--json", "--permutations", "1199"]) == 1
    result = json.loads(capsys.readouterr().out)["result"]
    assert result["drift"]
    assert result["p_value"] < 0.05 < result["p_statistic"]
    assert result["significant"] == ["c4"]
    assert any("stands out most by itself, c4." in note for note in result["notes"])
