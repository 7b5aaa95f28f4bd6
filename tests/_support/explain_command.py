"""`pkex explain` on a saved model and a table, and what it writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import skops.io
from sklearn.datasets import load_diabetes

from pkex.cli import main
from tests._support.written import Page, results

__all__ = ["X", "Y", "check", "explain", "save"]

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X = X[:60]
Y = Y[:60]


def save(model, table=X, name="data.csv", **columns):
    skops.io.dump(model, "model.skops")
    table.assign(**columns).to_csv(name, index=False)
    return model


def explain(*args, code=0):
    assert main(["explain", "model.skops", "data.csv", "--out", "out", "--force", *args]) == code


def check(explanation, numbers=None):
    """Compare the files with an explanation of one output."""
    values, summary = results()
    names = list(explanation.feature_names)
    extra = ["output"] if explanation.output_names else []
    last = [] if explanation.predicted_class is None else ["predicted_class"]
    assert list(values.columns) == ["row", *extra, *names, "base_value", "prediction", *last]
    if last:
        assert list(values["predicted_class"]) == explanation.predicted_class.tolist()
    np.testing.assert_array_equal(values[names], explanation.values)
    np.testing.assert_array_equal(values["base_value"], explanation.base_values)
    np.testing.assert_array_equal(values["prediction"], explanation.predictions)
    expected = np.arange(len(explanation)) if numbers is None else numbers
    assert list(values["row"]) == list(expected)
    importance = explanation.importance()
    features = summary["result"]["features"]
    assert [entry["name"] for entry in features] == [names[i] for i in importance.ranking]
    assert [entry["importance"] for entry in features] == [
        [importance.values[i]] for i in importance.ranking
    ]
    assert summary["result"]["removal"] == explanation.removal
    assert summary["result"]["background_info"] == explanation.background_info
    assert [entry["centred"] for entry in features] == [
        [importance.centred[i]] for i in importance.ranking
    ]
    assert summary["result"]["additivity_error"] == explanation.additivity_error
    shown = Page(Path("out/report.html")).data
    assert shown["rows"] == list(expected)
    assert [entry["label"] for entry in shown["facts"][:2]] == ["Model", "Table"]
    return summary
