"""``pkex demo``: scikit-learn's diabetes data, to try everything on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import pkex
from pkex._util.terminal import print_text, wrap_lines
from pkex.cli import _folder
from pkex.cli._options import DemoOptions

__all__ = ["demo"]

_ROWS, _BACKGROUND = 3, 100  # patients that are explained, and that serve as background


def demo(options: DemoOptions) -> int:
    """Explain some predictions; with ``--out``, write a model and tables for other commands."""
    out, force = options.out, options.force
    if out is not None:
        _folder.check(out, force)
    table, target, model = _model()
    explanation = pkex.Explainer(model, table[-_BACKGROUND:])(table[:_ROWS])
    _say(
        "A support vector regression of the progression of diabetes on ten features of 442 "
        "patients. Shapley values of the first three predictions:\n"
    )
    for line in repr(explanation).splitlines()[1:]:
        _say(line)
    gap = np.abs(explanation.predictions - model.predict(table[:_ROWS])).max()
    _say(f"\nBase value and Shapley values add up to the predictions, up to {gap:.1e}.")
    if out is None:
        print_text("\nTo try it on files:\n  pkex demo --out demo")
        return 0
    with _folder.stage_files(out, force) as folder:
        _write(folder, table, target, model)
    print_text(f"\nWrote a model and tables to {out}. Next:")
    print_text(f"  pkex explain {out}/model.skops {out}/diabetes.csv --rows 0:100 --out explained")
    print_text(f"  pkex drift {out}/younger.csv {out}/older.csv --out drifted")
    print_text(f"  pkex dependence {out}/diabetes.csv --target progression --top 30% --out ranked")
    return 0


def _say(text: str) -> None:
    print_text(wrap_lines(text, sys.stdout))


def _model() -> tuple[Any, Any, Any]:
    from sklearn.datasets import load_diabetes
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    table, target = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return table, target, make_pipeline(StandardScaler(), SVR(C=10.0)).fit(table, target)


def _write(folder: Path, table: Any, target: Any, model: Any) -> None:
    import skops.io

    skops.io.dump(model, folder / "model.skops")
    table.assign(progression=target).to_csv(folder / "diabetes.csv", index=False)
    young = table["age"] < 50
    for name, rows in (("younger", young), ("older", ~young)):
        table[rows].to_csv(folder / f"{name}.csv", index=False)
