"""`Interactions` as a value: indexing, tables, files, shapiq's and our own plots, the commands."""

from __future__ import annotations

import json
import pickle

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import shapiq
import skops.io
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import pkex
from pkex.cli import main
from pkex.kernels import RBF
from pkex.output.files.archive import write_arrays
from tests._support.cases import assert_close

NAMES = ["age", "bmi", "bp", "s5"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 4)), columns=NAMES)
    frame["bp"] = rng.integers(0, 2, 40)
    frame.index = pd.Index([f"p{i}" for i in range(40)], name="patient")
    return frame


@pytest.fixture(scope="module")
def model(table):
    return make_pipeline(StandardScaler(), SVR(C=10.0)).fit(table, table["age"] * table["bmi"])


@pytest.fixture(scope="module")
def found(model, table):
    return pkex.Explainer(model).interactions(table[:12])


@pytest.fixture(scope="module")
def several(table):
    labels = np.array(["a", "b", "c"])[np.arange(40) % 3]
    return pkex.Explainer(SVC().fit(table, labels), table[:5]).interactions(table[:6], max_order=3)


@pytest.fixture(autouse=True)
def headless():
    with mpl.rc_context({"backend": "agg"}):
        yield


def test_subsets_are_found_by_name_and_number(found, several):
    assert (found["bmi", "age"] == found.pairs[:, 0, 1]).all()
    assert (found[0, "bmi"] == found["age", "bmi"]).all()
    assert (found["s5"] == found.main[:, 3]).all()
    assert several["age", "bp", "s5"].shape == (6, 3)
    assert (several["s5", "age", "bp"] == several.triples[:, 2]).all()
    for triple, place in (((0, 1, 2), 0), ((0, 1, 3), 1), ((1, 2, 3), 3)):
        assert (several[triple] == several.triples[:, place]).all()
    with pytest.raises(KeyError, match="max_order is 2; ask for subsets="):
        found["age", "bmi", "bp"]
    with pytest.raises(KeyError, match="no feature is named 'weight'"):
        found["weight"]


def test_chosen_subsets_alone_are_there(model, table):
    chosen = pkex.Explainer(model).interactions(table[:3], subsets=["age", ("bmi", "age")])
    assert chosen.subsets == ((0,), (0, 1))
    assert chosen.pairs is None
    assert chosen["age", "bmi"].shape == (3,)
    assert len(chosen.top()) == 2
    with pytest.raises(KeyError, match="bmi & bp is not one of the chosen subsets"):
        chosen["bmi", "bp"]
    with pytest.raises(ValueError, match="only chosen subsets were computed"):
        chosen.plot()
    assert list(chosen.to_frame(totals=False).columns) == ["age", "age & bmi"]


def test_pairs_are_full_symmetric_and_add_up(found):
    assert (found.pairs == found.pairs.swapaxes(1, 2)).all()
    assert not found.pairs[:, range(4), range(4)].any()
    total = found.base_values + found.main.sum(axis=1) + 0.5 * found.pairs.sum(axis=(1, 2))
    assert_close(total, found.predictions, 1e-10)


def test_the_top_is_sorted_by_size(found, several):
    top = found.top(3)
    assert top[0].features == ("age", "bmi")
    assert top[0].size == pytest.approx(np.abs(found.pairs[:, 0, 1]).mean())
    assert top[0].mean == pytest.approx(found.pairs[:, 0, 1].mean())
    assert [entry.size for entry in top] == sorted((e.size for e in top), reverse=True)
    assert {len(entry.features) for entry in several.top(100)} == {2, 3}
    assert len(several.top(100, order=3)) == 4
    with pytest.raises(ValueError, match="k must be a number"):
        found.top(-1)


def test_frames_have_a_column_for_each_subset(found, several, table):
    frame = found.to_frame()
    assert list(frame.index) == list(table.index[:12])
    assert (frame["age & bmi"] == found["age", "bmi"]).all()
    assert len(frame.columns) == 4 + 6 + 2
    wide = several.to_frame()
    assert (wide["b"]["age & bp & s5"] == several["age", "bp", "s5"][:, 1]).all()
    assert (several.to_frame("b")["age"] == several["age"][:, 1]).all()


def test_files_hold_everything(found, several, table, tmp_path):
    statistic = pkex.mmd(table[:20], table[20:]).interactions()
    chosen = pkex.Explainer(SVR().fit(table, table["age"])).interactions(
        table[:2], index="BII", subsets=[("age", "bmi")]
    )
    for one in (found, several, statistic, chosen):
        one.save(tmp_path / "i.npz")
        again = pkex.Interactions.load(tmp_path / "i.npz")
        assert repr(again) == repr(one)
        assert again._repr_html_() == one._repr_html_()
        for name in (
            "main",
            "pairs",
            "triples",
            "values",
            "base_values",
            "predictions",
            "error_bound",
        ):
            assert np.array_equal(getattr(again, name), getattr(one, name)), name
        assert again.row_names == one.row_names
        assert len(again.rules) == len(one.rules)
        assert repr(pickle.loads(pickle.dumps(one))) == repr(one)


def test_damaged_files_are_refused(found, tmp_path):
    codec = pkex.Interactions.CODEC
    packed = codec.pack(found)
    for name, change, message in (
        ("pairs", lambda array: array[:, :3], "pairs must have shape"),
        ("pairs", lambda array: array + 1.0, "miss the prediction"),
        ("main", lambda array: array * np.nan, "main has an entry that is not a number"),
    ):
        broken = packed | {name: change(packed[name])}
        with (tmp_path / "i.npz").open("wb") as file:
            write_arrays(file, broken)
        with pytest.raises(ValueError, match=message):
            pkex.Interactions.load(tmp_path / "i.npz")


def test_shapiq_draws_them(found, several):
    values = found.to_shapiq(2)
    assert values.index == "k-SII"
    assert values[(0, 1)] == found.pairs[2, 0, 1]
    assert values[()] == values.baseline_value == found.base_values[2]
    names = list(found.feature_names)
    shapiq.network_plot(interaction_values=values, feature_names=names, show=False)
    shapiq.si_graph_plot(values, feature_names=names, show=False)
    shapiq.upset_plot(values, feature_names=names, show=False)
    shapiq.stacked_bar_plot(values, feature_names=names, show=False)
    values.plot_force(feature_names=np.array(names), show=False)
    triple = several.to_shapiq(-1, "c")
    assert triple[(0, 2, 3)] == several["age", "bp", "s5"][-1, 2]
    with pytest.raises(ValueError, match=r"to_shapiq\(output='a'\)"):
        several.to_shapiq(0)
    with pytest.raises(IndexError, match="no row 12: there are 12"):
        found.to_shapiq(12)


def test_shapiq_takes_every_index(model, table):
    explainer = pkex.Explainer(model)
    for index in ("SII", "STII", "FSII", "BII", "FBII", "Moebius", "Co-Moebius"):
        one = explainer.interactions(table[:1], index=index)
        assert one.to_shapiq()[(1, 3)] == one.pairs[0, 1, 3]


def test_plots_show_what_they_say(found, several):
    heat = found.plot()
    assert heat.ax_.get_title(loc="left") == "mean |k-SII| of 12 rows"
    drawn = heat.ax_.images[0].get_array()
    assert drawn.max() == pytest.approx(found.sizes.max())
    signed = found.plot(row=3, max_display=3)
    assert signed.ax_.images[0].get_clim()[0] < 0.0
    assert len(signed.ax_.get_xticklabels()) == 3
    assert len(found.plot.network().ax_.lines) == 6
    pair = found.plot.pair()
    assert (pair.ax_.get_xlabel(), pair.ax_.get_ylabel()) == ("age", "bmi")
    assert_close(pair.ax_.collections[0].get_array(), found["age", "bmi"], 0.0)
    few = found.plot.pair("bp", "bmi")  # a column of two values has two ticks
    assert list(few.ax_.get_xticks()) == [0.0, 1.0]
    with pytest.raises(ValueError, match="3 outputs; choose one"):
        several.plot()
    several.plot(output="b")
    fig, ax = plt.subplots()
    assert found.plot.network(ax).figure_ is fig


def test_plots_refuse_what_they_cannot_draw(found, table):
    statistic = pkex.mmd(table[:20], table[20:]).interactions()
    assert statistic.plot().ax_.get_title(loc="left") == "k-SII of MMD²"
    with pytest.raises(ValueError, match="a statistic has no rows"):
        statistic.plot.pair("age", "bmi")
    with pytest.raises(IndexError, match="there is no row 12: there are 12"):
        found.plot(row=12)
    with pytest.raises(ValueError, match="two features, or none"):
        found.plot.pair("age")
    grouped = pkex.Explainer(SVR().fit(table, table["age"]), groups={"g": ["age", "bp"]})
    with pytest.raises(ValueError, match="a group of 2 columns"):
        grouped.interactions(table[:3]).plot.pair("g", "bmi")


def test_text_is_short_and_html_is_escaped(table):
    names = ["<b>", "x1", "x2", "x3"]
    f = pkex.KernelExpansion(table.to_numpy()[:5], np.ones(5), RBF(), feature_names=names)
    found = pkex.Explainer(f).interactions(table.to_numpy()[:2])
    assert "<b> & x1" in repr(found)
    assert "<b>" not in found._repr_html_()
    assert "&lt;b&gt; &amp; x1" in found._repr_html_()


def test_a_report_refuses_interactions_of_something_else(model, found, table, tmp_path):
    explanation = pkex.Explainer(model)(table[:5])
    with pytest.raises(ValueError, match="not those of the result"):
        explanation.report(tmp_path / "r.html", interactions=found)
    with pytest.raises(TypeError, match="interactions must be Interactions"):
        explanation.report(tmp_path / "r.html", interactions=explanation)
    assert not (tmp_path / "r.html").exists()
    pkex.Explainer(model)(table[:12]).report(tmp_path / "r.html", interactions=found)
    assert "Shapley interactions" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_commands_write_interactions(model, table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    skops.io.dump(model, "model.skops")
    table.to_csv("data.csv", index=False)
    table[20:].to_csv("later.csv", index=False)
    command = ["explain", "model.skops", "data.csv", "--rows", "0:7"]
    assert main([*command, "--interactions", "--out", "explained"]) == 0
    printed = capsys.readouterr().out
    assert "interaction" in printed
    assert "age & bmi" in printed
    out = tmp_path / "explained"
    facts = json.loads((out / "summary.json").read_text())["result"]["interactions"]
    again = pkex.Interactions.load(out / "interactions.npz")
    assert facts["index"] == again.index == "k-SII"
    assert facts["pairs"][0]["mean_abs"] == [pytest.approx(again.sizes.max())]
    lines = pd.read_csv(out / "interactions.csv")
    assert len(lines) == len(facts["pairs"]) == 6
    assert list(lines.iloc[0][["first", "second"]]) == ["age", "bmi"]
    expected = pkex.Explainer(model).interactions(table[:7])
    assert_close(again.pairs, expected.pairs, 1e-12)
    report = (out / "report.html").read_text(encoding="utf-8")
    assert "Shapley interactions" in report
    assert main([*command, "--json"]) == 0
    assert "interactions" not in json.loads(capsys.readouterr().out)["result"]


def test_drift_and_dependence_have_interactions_on_demand(table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table.to_csv("data.csv", index=False)
    table[20:].to_csv("later.csv", index=False)
    options = ["--permutations", "19", "--interactions", "--json"]
    main(["drift", "data.csv", "later.csv", *options])
    drift = json.loads(capsys.readouterr().out)["result"]
    main(["dependence", "data.csv", "--target", "s5", *options])
    depend = json.loads(capsys.readouterr().out)["result"]
    own = pkex.mmd(table, table[20:]), pkex.hsic(table[NAMES[:3]], table["s5"])
    for result, statistic in zip((drift, depend), own, strict=True):
        pairs = statistic.interactions()
        for pair in result["interactions"]["pairs"]:
            assert pair["mean"] == [pytest.approx(pairs[pair["first"], pair["second"]][0])]


def test_one_output_of_several_is_chosen(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = SVC().fit(table, np.array(["a", "b", "c"])[np.arange(40) % 3])
    skops.io.dump(model, "model.skops")
    table.to_csv("data.csv", index=False)
    command = ["explain", "model.skops", "data.csv", "--rows", "0:3", "--interactions"]
    assert main([*command, "--output", "b", "--out", "one"]) == 0
    assert main([*command, "--out", "all"]) == 0
    one, every = (pkex.Interactions.load(f"{folder}/interactions.npz") for folder in ("one", "all"))
    assert one.output_names == ("b",)
    assert (one.pairs == every.pairs[..., 1]).all()
    assert list(pd.read_csv("all/interactions.csv")["output"][:3]) == ["a", "b", "c"]
