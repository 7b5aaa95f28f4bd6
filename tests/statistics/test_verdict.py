"""One verdict: the command, its report and summary, `MMDDrift.detect` and `explain` agree."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pkex
from pkex.cli import main
from pkex.output.view.changes import differing_columns, headline
from tests._support.openmetrics import read_openmetrics
from tests._support.stored import FILES
from tests._support.written import Page, results

COMMAND = ["dependence", "table.csv", "--target", "y", "--permutations", "99"]
SENTENCE = re.compile(
    r"(?P<start>Drift|No drift|Dependence|No dependence) detected"
    r"(?: (?:in|on) (?P<names>.+?))?, p = (?P<p>\S+) "
    r"\(alpha = (?P<alpha>\S+)\); (?:MMD²|HSIC) = (?P<total>\S+) \(p = (?P<p_statistic>\S+)\)\."
    r"(?:\s+No single feature is significant\.)?"
)


def said(text):
    """Return what a text says: the verdict, both p-values, the level, the statistic, the names."""
    [found] = SENTENCE.finditer(text)
    names = found["names"]
    return (
        not found["start"].startswith("No "),
        *(found[key] for key in ("p", "alpha", "total", "p_statistic")),
        names.split(", ") if names else [],
    )


def tables(rng):
    """Return two small tables; in half of the cases one column of them changed."""
    rows, count = rng.integers(15, 41, size=2), int(rng.integers(1, 6))
    categorical, gaps = rng.random((2, count)) < 0.3
    changed = int(rng.integers(count)) if rng.random() < 0.5 else None
    size = rng.choice([0.5, 1.0, 2.0])
    made = []
    for sample, n in enumerate(rows):
        moved = size if sample == 1 else 0.0
        columns = {}
        for j in range(count):
            cells = rng.normal(size=n) + (moved if j == changed else 0.0)
            text = np.array(["u", "v", "w"])[np.digitize(cells, [-0.5, 0.5])]
            columns[f"c{j}"] = text if categorical[j] else cells.round(4)
            if gaps[j]:
                columns[f"c{j}"] = np.where(rng.random(n) < 0.2, None, columns[f"c{j}"])
        made.append(pd.DataFrame(columns))
    return made


@pytest.mark.parametrize("seed", range(200))
def test_eight_places_say_the_same(seed, tmp_path, monkeypatch, capsys):
    """The names are also those of the rule: an adjusted p-value of either kind up to alpha."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng([19, seed])
    old, new = tables(rng)
    alpha, count = float(rng.choice([0.01, 0.05, 0.1, 0.3])), int(rng.choice([99, 199]))
    old.to_csv("old.csv", index=False)
    new.to_csv("new.csv", index=False)
    command = f"drift old.csv new.csv --permutations {count} --alpha {alpha} --out out"
    command += " --history runs.jsonl --metrics drift.prom"
    code = main(command.split())
    printed = capsys.readouterr().out
    values, summary = results()
    result = summary["result"]

    drift = pkex.MMDDrift(n_permutations=count, random_state=0).fit(old)
    explained = drift.explain(new, alpha=alpha)
    verdict = (
        result["drift"],
        f"{result['p_value']:.3g}",
        f"{alpha:g}",
        f"{result['statistic']:.4g}",
        f"{result['p_statistic']:.3g}",
        result["significant"],
    )
    assert said(printed) == verdict
    assert said(Page(Path("out/report.html")).data["verdict"]) == verdict
    assert said(repr(explained)) == verdict
    assert said(explained._repr_html_().replace("</div><div>", "\n")) == verdict
    assert (code == 1) is drift.detect(new, alpha=alpha) is result["drift"]
    assert explained.p_value == result["p_value"]
    samples = read_openmetrics(Path("drift.prom").read_text())
    monitor = ("monitor", "drift")
    assert samples["pkex_drift", frozenset({monitor})] == result["drift"]
    assert samples["pkex_drift_p_value", frozenset({monitor})] == result["p_value"]
    detected = {
        dict(labels)["feature"]
        for (name, labels), value in samples.items()
        if name == "pkex_drift_feature_significant" and value == 1.0
    }
    [line] = Path("runs.jsonl").read_text().splitlines()
    run = json.loads(line)
    [shown] = Page(Path("runs.html")).data["runs"]
    assert detected == set(result["significant"])
    for name in ("drift", "p_value", "alpha", "significant", "headline"):
        assert run[name] == shown[name] == result[name]

    changes = [change.as_dict() for change in explained.changes()]
    assert changes == result["changes"]
    assert run["changes"] == [change["sentence"] for change in changes]
    assert all(sentence in printed for sentence in run["changes"])
    named_columns = {column for change in changes for column in change["columns"]}
    assert named_columns >= set(result["significant"])

    named = values[(values["p_adjusted"] <= alpha) | (values["p_univariate_adjusted"] <= alpha)][
        "feature"
    ]
    assert result["drift"] == (result["p_value"] <= alpha)
    assert result["significant"] == (list(named) if result["drift"] else [])


@pytest.mark.parametrize("seed", range(10))
def test_dependence_has_one_verdict_as_well(seed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng([20, seed])
    table = pd.DataFrame(rng.normal(size=(30, 4)).round(4), columns=list("abcd"))
    table["y"] = (rng.choice([0.0, 0.5, 2.0]) * table["b"] + rng.normal(size=30)).round(4)
    table.to_csv("table.csv", index=False)
    assert main([*COMMAND, "--out", "out"]) == 0
    _, summary = results()
    result = summary["result"]
    found = pkex.hsic(table[list("abcd")], table["y"], n_permutations=99, random_state=0)
    verdict = said(repr(found))
    assert said(capsys.readouterr().out) == verdict
    assert said(Page(Path("out/report.html")).data["verdict"]) == verdict
    assert verdict[-1] == result["significant"] == list(found.significant())
    assert (found.p_value, found.p_statistic) == (result["p_value"], result["p_statistic"])


def test_a_test_of_the_statistic_alone_goes_by_the_statistic():
    """Where features were not permuted by themselves, the statistic is all there is."""
    X, Z = np.random.default_rng(1).normal(size=(2, 100, 30))
    Z[:, 4] += 0.8
    found = pkex.mmd(X, Z, n_permutations=399, random_state=0)
    nothing: Any = dict.fromkeys(("member_values", "member_null_values", "member_rounding"))
    bare = replace(found, univariate_null_values=None, member_names=(), **nothing)
    assert found.p_value < 0.05 < found.p_statistic
    assert bare.p_value == bare.p_statistic == found.p_statistic
    assert (found.detected(), bare.detected(), pkex.mmd(X, Z).detected()) == (True, False, None)
    assert bare.significant() == ()
    assert said(bare.verdict())[0] is False


def test_no_feature_is_named_where_the_verdict_is_negative():
    """The level of a verdict that names features is that of the one test, alpha."""
    named = 0
    for seed in range(100):
        X, Z = np.random.default_rng(seed).normal(size=(2, 20, 4))
        found = pkex.mmd(X, Z, n_permutations=99, random_state=0)
        named += bool(found.significant(0.1))
        assert not (found.significant(0.1) and not found.detected(0.1))
    assert named <= 10 + 2.5 * 3  # 2.5 standard deviations of 100 draws of 0.1


def test_a_file_of_the_first_version_has_its_p_values_under_the_right_names():
    """It was written when `p_value` was that of the statistic, 0.2, and `p_any` was 0.02."""
    found = pkex.Attribution.load(FILES / "attribution_v1.npz")
    assert (found.p_value, found.p_statistic) == (0.02, 0.2)
    assert found.alpha == 0.05
    assert found.significant() == ("x4",)


def test_a_name_at_the_head_of_a_sentence_stays_as_it_is(tmp_path):
    """A column c07 is not C07, in the text, the summary or the report."""
    X, Z = np.random.default_rng(1).normal(size=(2, 300, 3))
    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    frames = [pd.DataFrame(rows, columns=["c07", "c08", "c09"]) for rows in (X, Z)]
    found = pkex.mmd(*frames, n_permutations=199, random_state=0)
    [remark] = found.remarks()
    assert remark.startswith("c08, c07: ")
    found.report(tmp_path / "report.html")
    page = Page(tmp_path / "report.html")
    assert page.data["remarks"] == [remark]
    assert "toUpperCase" not in page.text


def with_wrong_unit(rng, count):
    """Return two samples whose columns x0 and x1 are correlated; some of x1 has a wrong unit."""
    X, Z = rng.normal(size=(2, 400, 3))
    for sample in (X, Z):
        sample[:, 1] = 5.0 + 0.7 * sample[:, 0] + 0.7 * sample[:, 1]
    Z[:count, 1] *= 100.0
    return X, Z


def test_a_wrong_unit_in_some_rows_is_not_called_a_change_of_dependence():
    """Its univariate statistic is not significant, and its correlation fell, but not by itself."""
    rng = np.random.default_rng(3)
    found = pkex.mmd(*with_wrong_unit(rng, 16), n_permutations=199, random_state=0)
    # as if labels had been clear: with more rows they are
    found = replace(found, test_p_values=np.array([1.0, 0.001, 1.0]), values=found.values * 9.0)
    assert found.significant() == ("x1",)
    assert found.p_univariate_adjusted[1] > 0.05
    [change] = found.changes()
    assert change.columns == ("x1",)
    assert change.headline.endswith("% outside the reference range")
    [remark] = [text for text in found.remarks() if text.startswith("x1: ")]
    assert "a clear difference of the column itself" in remark
    assert "dependence" not in remark


@pytest.mark.parametrize("seed", range(8))
def test_a_wrong_unit_in_some_rows_is_described_whether_the_feature_is_significant_or_not(seed):
    rng = np.random.default_rng(seed)
    found = pkex.mmd(*with_wrong_unit(rng, 16), n_permutations=199, random_state=0)
    assert found.detected()
    [change] = [one for one in found.changes() if one.columns == ("x1",)]
    assert "% outside the reference range" in change.headline
    assert float(change.sentence.split("as far as ")[1].split(";")[0]) > 400.0
    if not found.significant():
        assert headline(found, 0.05, found.changes()) == (
            f"Drift detected, most clearly in x1 ({change.headline})"
        )
    assert change.sentence in repr(found)


def test_no_column_is_said_to_differ_clearly_where_none_does():
    """For any column the chance is about alpha; many categories and small samples included."""
    named = 0
    for seed in range(200):
        rng = np.random.default_rng([5, seed])
        sizes = (rng.integers(3, 200), rng.integers(3, 200))
        frames = [
            pd.DataFrame(
                {
                    "x": rng.lognormal(size=n),
                    "count": rng.poisson(0.3, n),
                    "rare": rng.choice([f"c{k}" for k in range(60)], n),
                    "gaps": np.where(rng.random(n) < 0.03, np.nan, rng.normal(size=n)),
                }
            )
            for n in sizes
        ]
        found = pkex.mmd(*frames, random_state=0)
        named += any(differing_columns(found, feature, 0.05) for feature in range(4))
    assert named <= 10 + 3.0 * 3.1  # three standard deviations of 200 draws of 0.05
