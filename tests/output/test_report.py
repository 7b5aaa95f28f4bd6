"""Reports as files: what is in them, that nothing in the data becomes markup, whole or not at all.

What a browser makes of them is in test_report_browser.py and test_report_legible.py.
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pkex
from pkex.output.plots.shades import feature_values
from pkex.output.report import _page, write
from tests._support.unchecked import unchecked
from tests._support.written import EVIL, Page, explained

pytestmark = pytest.mark.frontend


def report(result, tmp_path, **options):
    path = tmp_path / "report.html"
    write(result, path, **options)
    return Page(path)


def unpacked(packed):
    [(kind, text)] = packed.items()
    return np.frombuffer(base64.b64decode(text), dtype=f"<{kind}")


def test_the_values_of_an_explanation_are_all_there(tmp_path):
    values = np.random.default_rng(1).normal(size=(30, 5))
    explanation = explained(values)
    data = report(explanation, tmp_path).data
    order = explanation.importance().ranking
    assert data["features"] == order.tolist()
    assert data["rows"] == list(range(30))
    shown = unpacked(data["values"][0]).reshape(30, 5)
    np.testing.assert_allclose(shown, values[:, order], rtol=1e-6)
    # their difference counts, however large they are
    np.testing.assert_array_equal(unpacked(data["predictions"][0]), explanation.predictions)
    np.testing.assert_array_equal(unpacked(data["base"][0]), explanation.base_values)
    importance = explanation.importance()
    np.testing.assert_allclose(data["importance"][0]["mean"], importance.values, rtol=1e-7)
    np.testing.assert_allclose(
        data["importance"][0]["error"], importance.standard_errors, rtol=1e-7
    )
    for column, player in zip(data["columns"], sorted(order), strict=True):
        cells = explanation.data[:, player]
        np.testing.assert_allclose(unpacked(column["cells"]), cells, rtol=1e-6)


def test_facts_say_how_it_was_computed(tmp_path):
    page = report(explained(np.ones((3, 2))), tmp_path, details={"model": "SVR", "C": 10})
    facts = {entry["label"]: entry["value"] for entry in page.data["facts"]}
    assert facts == {
        "model": "SVR",
        "C": "10",
        "Rows": "3",
        "Features": "2",
        "Columns": "2",
        "Removal": "neutral",
        "Quadrature rules": "few-node gauss-legendre, 4 to 8 nodes",
        "Error bound": "relative 7e-16",
        "Additivity error": "1.0e-15",
    }
    assert page.data["version"] == pkex.__version__


def test_facts_name_the_groups_of_a_hierarchy_and_no_nodes(tmp_path):
    expansion = pkex.KernelExpansion(np.eye(3), np.ones(3), pkex.kernels.RBF())
    tree = {"first": ["x0", "x1"], "second": ["x2"]}
    page = report(pkex.Explainer(expansion, hierarchy=tree)(np.ones((2, 3))), tmp_path)
    facts = {entry["label"]: entry["value"] for entry in page.data["facts"]}
    assert facts["Hierarchy"].startswith("first, second")
    assert facts["Quadrature rules"] == "hierarchy, exact within each group"
    alone = pkex.KernelExpansion([[0.0], [1.0]], [1.0, 2.0], pkex.kernels.RBF())
    page = report(pkex.Explainer(alone)([[0.5]]), tmp_path)
    facts = {entry["label"]: entry["value"] for entry in page.data["facts"]}
    assert facts["Quadrature rules"].endswith(", 1 node")


def test_a_subclass_of_a_result_has_its_report(tmp_path):
    class Named(pkex.Explanation):
        """An explanation of somebody else."""

    explanation = explained(np.ones((3, 2)))
    data = report(Named(**vars(explanation)), tmp_path).data
    assert data["kind"] == report(explanation, tmp_path).data["kind"] == "explanation"


def test_rows_have_the_numbers_that_are_given(tmp_path):
    numbers = np.arange(30)[::-1] + 100
    data = report(explained(np.ones((30, 2))), tmp_path, row_names=numbers).data
    assert data["rows"] == numbers.tolist()
    explanation = explained(np.random.default_rng(3).normal(size=(1500, 3)))
    shown = report(explanation, tmp_path).data["rows"]
    data = report(explanation, tmp_path, row_names=range(5000, 6500)).data
    assert data["rows"] == [5000 + row for row in shown]


def test_kinds_of_cells(tmp_path):
    data = np.array(
        [
            [20240131.0, "b", 1.5, True],
            [20240201.0, "a", None, False],
            [16777217.0, None, np.nan, True],
        ],
        dtype=object,
    )
    names = ("day", "town", "size", "flag")
    columns = report(explained(np.ones((3, 4)), data, names=names), tmp_path).data["columns"]
    by_name = {column["name"]: column for column in columns}
    assert unpacked(by_name["day"]["cells"]).tolist() == data[:, 0].tolist()
    assert by_name["town"]["levels"] == ["a", "b", "missing"]
    assert unpacked(by_name["town"]["cells"]).tolist() == [1.0, 0.0, 2.0]
    np.testing.assert_array_equal(unpacked(by_name["size"]["cells"]), [1.5, np.nan, np.nan])
    assert by_name["flag"]["levels"] == ["True", "False"]


def test_categories_have_the_order_and_so_the_colours_of_the_plots(tmp_path):
    rng = np.random.default_rng(4)
    towns = np.array(["Wien", "Graz", "Linz", *(f"Dorf {i}" for i in range(20))], dtype=object)
    weights = np.array([0.4, 0.2, 0.3, *[0.005] * 20])
    data = np.stack([rng.choice(towns, 1500, p=weights), rng.choice(["b", "a"], 1500)], axis=1)
    explanation = explained(np.ones((1500, 2)), data)
    columns = report(explanation, tmp_path).data["columns"]
    plotted = feature_values(explanation, 0).categories
    assert columns[0]["levels"][:5] == list(plotted[:5])
    assert columns[0]["levels"][:3] == ["Wien", "Linz", "Graz"]
    assert columns[1]["levels"] == list(feature_values(explanation, 1).categories)
    rows = report(explanation, tmp_path).data["rows"]
    assert len(rows) == 1000
    levels = np.array(columns[0]["levels"])
    shown = levels[unpacked(columns[0]["cells"]).astype(int)]
    assert shown.tolist() == explanation.data[rows, 0].tolist()


def test_groups_keep_their_columns(tmp_path):
    explanation = explained(
        np.array([[1.0, 2.0]] * 4),
        names=("pair", "c"),
        players=((0, 2), (1,)),
        columns=("a", "c", "b"),
    )
    data = report(explanation, tmp_path).data
    shown = {
        data["names"][p]: [data["columns"][c]["name"] for c in columns]
        for p, columns in zip(data["features"], data["feature_groups"], strict=True)
    }
    assert shown == {"c": ["c"], "pair": ["a", "b"]}


def test_several_outputs(tmp_path):
    values = np.random.default_rng(2).normal(size=(8, 3, 2))
    data = report(explained(values, outputs=("yes", "no")), tmp_path).data
    assert data["output_names"] == ["yes", "no"]
    for k in range(2):
        shown = unpacked(data["values"][k]).reshape(8, 3)
        np.testing.assert_allclose(shown, values[:, data["features"], k], rtol=1e-6)


def test_large_tables_are_summarised_and_stay_small(tmp_path):
    rng = np.random.default_rng(3)
    values = rng.normal(size=(1500, 200)) * rng.uniform(0.2, 1.0, 200)
    explanation = explained(values)
    page = report(explanation, tmp_path)
    data = page.data
    assert len(page.text) < 1_000_000
    rows, features = np.array(data["rows"]), data["features"]
    assert len(rows) == 1000
    assert len(features) == 40
    assert (np.diff(rows) > 0).all()
    assert data["n_rows"] == 1500
    assert len(data["names"]) == 200
    np.testing.assert_allclose(
        data["importance"][0]["mean"], np.abs(values).mean(axis=0), rtol=1e-7
    )
    for i in (0, 500, 999):  # the bars of a waterfall are the largest values among all features
        largest = np.argsort(-np.abs(values[rows[i]]))[: data["waterfall"]]
        extras = {player: (size, text) for player, size, text in data["extras"][0][i]}
        assert set(extras) == set(largest) - set(features)
        for player, (size, text) in extras.items():
            assert size == pytest.approx(values[rows[i], player], rel=1e-6)
            assert float(text) == pytest.approx(explanation.data[rows[i], player], rel=1e-5)


def test_many_outputs_take_fewer_rows(tmp_path):
    data = report(explained(np.random.default_rng(4).normal(size=(900, 50, 30))), tmp_path).data
    assert len(data["rows"]) == 333


@pytest.mark.parametrize(
    "name", [EVIL, "<!--", "]]>", "&lt;b&gt;", "\u2028", "\ud800", "ü 漢字 🎈"]
)
def test_names_and_values_never_become_markup(tmp_path, name):
    data = np.array([[name, 1.0], ["other", 2.0]], dtype=object)
    explanation = explained(np.ones((2, 2)), data, names=(name, "b"))
    page = report(explanation, tmp_path, title=name, details={name: name})
    plain = report(explained(np.ones((2, 2))), tmp_path)
    assert page.elements == plain.elements
    assert len(page.scripts) == 2
    assert page.data["names"][0] == name
    assert page.data["columns"][0]["levels"] == sorted([name, "other"])
    assert page.data["title"] == name
    if name != "\ud800":  # half a character, which no file can hold
        assert page.title == name
    [(_, text)] = [entry for entry in page.scripts if entry[0] == "application/json"]
    assert "<" not in text


def test_the_page_allows_nothing_but_itself(tmp_path):
    page = report(explained(np.ones((3, 2))), tmp_path)
    policy = dict(part.strip().split(" ", 1) for part in page.policy.split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["img-src"] == "data:"
    [script] = [text for kind, text in page.scripts if kind == "module"]
    for directive, text in (("script-src", script), ("style-src", page.style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert policy[directive] == f"'sha256-{digest}'"
    addresses = set(re.findall(r"https?://[^\s\"'`<)]+", page.text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert "innerHTML" not in page.text
    assert "eval(" not in page.text


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(5)
    n = 60
    X = pd.DataFrame({"size": rng.normal(size=n), "town": rng.choice(["a", "b", "c"], n)})
    X["doors"] = rng.integers(2, 6, n).astype(float)
    Z = X.copy()
    Z["size"] += 1.5
    return X, Z


def test_an_attribution_agrees_with_its_frame(tmp_path, samples):
    attribution = pkex.mmd(*samples, n_permutations=49, block_size=20, random_state=0)
    data = report(attribution, tmp_path, sample_names=("old", "new")).data
    frame = attribution.to_frame()
    assert [data["names"][i] for i in data["ranking"]] == list(frame.index)
    for key, column in (
        ("values", "contribution"),
        ("standard_errors", "standard_error"),
        ("null_low", "null_low"),
        ("null_high", "null_high"),
        ("p_values", "p_value"),
        ("p_adjusted", "p_adjusted"),
        ("univariate", "univariate"),
        ("p_univariate", "p_univariate_adjusted"),
    ):
        found = np.array(data[key], dtype=float)[data["ranking"]]
        np.testing.assert_allclose(found, frame[column], rtol=1e-7)
    assert data["statistic"] == attribution.statistic
    assert data["p_value"] == attribution.p_value
    assert data["p_statistic"] == attribution.p_statistic
    assert data["verdict"] == attribution.verdict()
    assert sum(data["null_statistics"]["counts"]) == 49
    assert data["samples"] == ["old", "new"]


def test_the_level_of_the_test_is_told(tmp_path, samples):
    tested = pkex.mmd(*samples, n_permutations=19, random_state=0)
    for options, level in (({}, 0.05), ({"alpha": 0.2}, 0.2)):
        data = report(tested, tmp_path, **options).data
        assert data["alpha"] == level
        assert {"Significance level": f"{level}"}.items() <= {
            entry["label"]: entry["value"] for entry in data["facts"]
        }.items()
    facts = report(pkex.mmd(*samples), tmp_path).data["facts"]
    assert "Significance level" not in [entry["label"] for entry in facts]


def test_marginals_of_two_samples(tmp_path, samples):
    X, Z = samples
    data = report(pkex.mmd(X, Z), tmp_path).data
    assert data["p_values"] is data["null_low"] is data["null_statistics"] is None
    panels = {panel["column"]: panel for entry in data["marginals"] for panel in entry["panels"]}
    assert {name: panel["kind"] for name, panel in panels.items()} == {
        "size": "histogram",
        "town": "bars",
        "doors": "bars",
    }
    assert panels["doors"]["categories"] == ["2", "3", "4", "5"]
    shares = X["town"].value_counts(normalize=True)
    town = panels["town"]
    found = dict(zip(town["categories"], town["series"][0]["shares"], strict=True))
    assert found == pytest.approx(shares.to_dict(), abs=1e-4)
    for panel in panels.values():
        for series in panel["series"]:
            assert sum(series["shares"]) == pytest.approx(1.0, abs=1e-3)
    edges = np.array(panels["size"]["edges"])
    assert edges[0] <= X["size"].min() < Z["size"].max() <= edges[-1] + 1e-6


def test_marginals_with_a_target(tmp_path, samples):
    X, _ = samples

    def kinds(y):
        data = report(pkex.hsic(X, y), tmp_path).data
        panels = [panel for entry in data["marginals"] for panel in entry["panels"]]
        return {panel["column"]: panel["kind"] for panel in panels}, panels

    of_number, panels = kinds(X["size"] ** 2)
    assert of_number == {"size": "scatter", "town": "boxes", "doors": "boxes"}
    scatter = next(panel for panel in panels if panel["kind"] == "scatter")
    np.testing.assert_allclose(np.square(scatter["x"]), scatter["y"], rtol=1e-6)
    boxes = next(panel for panel in panels if panel["column"] == "town")
    for name, box in zip(boxes["categories"], boxes["boxes"], strict=True):
        assert box[2] == pytest.approx((X["size"] ** 2)[X["town"] == name].median())
    of_class, panels = kinds(np.where(X["size"] > 0.0, "high", "low"))
    assert of_class == {"size": "histogram", "town": "bars", "doors": "bars"}
    assert {series["name"] for series in panels[0]["series"]} == {"high", "low"}


def test_a_category_named_others_stands_once(tmp_path):
    codes = np.array(["others", *(f"c{i}" for i in range(12))])
    X = pd.DataFrame({"code": codes[np.minimum(np.arange(80) % 20, 12)], "x": np.arange(80.0)})
    X.loc[::3, "code"] = "others"
    data = report(pkex.mmd(X[:40], X[40:]), tmp_path).data
    panels = {panel["column"]: panel for entry in data["marginals"] for panel in entry["panels"]}
    names = panels["code"]["categories"]
    assert (names[0], names[-1], len(set(names))) == ("others", "all others", 8)
    assert panels["code"]["series"][0]["shares"][0] == np.mean(X["code"][:40] == "others")


def test_many_categories_and_far_outliers(tmp_path):
    rng = np.random.default_rng(6)
    X = pd.DataFrame(
        {"code": rng.choice([f"c{i}" for i in range(30)], 80), "x": rng.normal(size=80)}
    )
    X.loc[0, "x"] = 1e6
    data = report(pkex.mmd(X[:40], X[40:]), tmp_path).data
    panels = {panel["column"]: panel for entry in data["marginals"] for panel in entry["panels"]}
    assert panels["code"]["categories"][-1] == "others"
    assert len(panels["code"]["categories"]) == 8
    for panel in panels.values():
        assert sum(panel["series"][0]["shares"]) == pytest.approx(1.0, abs=1e-3)


def test_methods_write_the_same_report(tmp_path, samples):
    attribution = pkex.mmd(*samples)
    attribution.report(tmp_path / "method.html")
    write(attribution, tmp_path / "function.html")
    assert (tmp_path / "method.html").read_bytes() == (tmp_path / "function.html").read_bytes()
    explanation = explained(np.ones((3, 2)))
    options: Any = {"title": "t", "details": {"a": "b"}, "row_names": [7, 8, 5]}
    explanation.report(tmp_path / "method.html", **options)
    write(explanation, tmp_path / "function.html", **options)
    assert (tmp_path / "method.html").read_bytes() == (tmp_path / "function.html").read_bytes()


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, failing):
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, failing, full)
    with pytest.raises(OSError, match="No space left"):
        write(explained(np.ones((3, 2))), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_bad_input_gets_a_sentence(tmp_path):
    path, explanation = tmp_path / "report.html", explained(np.ones((3, 2)))
    with pytest.raises(TypeError, match="an Influence or a Change, got ndarray"):
        write(np.ones(3), path)
    with pytest.raises(ValueError, match="the explanation has no rows"):
        write(explained(np.ones((0, 2))), path)
    with pytest.raises(TypeError, match=r"details must be a mapping such as .* got str"):
        write(explanation, path, details=unchecked("SVR"))
    with pytest.raises(ValueError, match="sample_names are for attributions"):
        write(explanation, path, sample_names=("a", "b"))
    with pytest.raises(ValueError, match="alpha is for attributions"):
        write(explanation, path, alpha=0.01)
    with pytest.raises(ValueError, match="row_names has 2 entries, but the explanation has 3"):
        write(explanation, path, row_names=[4, 5])
    with pytest.raises(TypeError, match=r"row_names must be integers or text, got 0\.5"):
        write(explanation, path, row_names=[4, unchecked(0.5), 6])
    attribution = pkex.mmd(np.eye(3), 1.0 - np.eye(3))
    with pytest.raises(ValueError, match=r"sample_names must be two strings, got \['a'\]"):
        write(attribution, path, sample_names=["a"])
    with pytest.raises(ValueError, match="row_names are for explanations"):
        write(attribution, path, row_names=[0, 1, 2])
    for alpha in (0.0, 1.0, 5):
        with pytest.raises(ValueError, match=f"alpha must lie between 0 and 1, got {alpha}"):
            write(attribution, path, alpha=alpha)
    with pytest.raises(ValueError, match=r"is a directory; give the name of a file"):
        write(explanation, tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no directory"):
        write(explanation, tmp_path / "missing" / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_pack_keeps_what_the_page_shows():
    for numbers in ([1e-40, 1.0], [123456.0, 0.1], [16777217.0], [np.nan, np.inf, -1.0]):
        found = unpacked(_page.pack(numbers))
        np.testing.assert_allclose(found, numbers, rtol=1e-7)


def test_a_report_needs_no_extra_and_costs_nothing_before(tmp_path):
    script = """
import sys
for name in ("pandas", "matplotlib", "polars", "tqdm", "typer"):
    sys.modules[name] = None
import pkex
assert not {"pkex.output.report"} & set(sys.modules)
import numpy as np
pkex.mmd(np.eye(5), 1.0 - np.eye(5), n_permutations=9).report(sys.argv[1])
"""
    path = tmp_path / "report.html"
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)
    assert path.stat().st_size > 10_000


def test_a_report_has_a_section_on_training_rows(tmp_path):
    f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF(), ridge=0.1)
    rows = np.array([[0.0, 1.0], [1.0, 0.5]])
    explainer, path = pkex.Explainer(f), tmp_path / "report.html"
    explanation, influence = explainer(rows), explainer.influence(rows, top=1)
    explanation.report(path, influence=influence)
    assert "Training rows behind a prediction" in path.read_text(encoding="utf-8")
    influence.report(path, title="Examples")
    assert "<title>Examples</title>" in path.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="not that of the result"):
        write(explanation[:1], path, influence=influence)
    with pytest.raises(TypeError, match="must be an Influence"):
        write(explanation, path, influence=3)  # type: ignore[arg-type]
