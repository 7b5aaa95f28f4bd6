"""How often `pkex.change` finds a change where there is none, and where one was planted.

    python -m simulations.change [SETTING...]

Each data set is a support vector regression of 80 rows, and two tables of 60 rows that it was not
fitted on, of 120 rows where something was planted. The target is x0 + x1 - 0.5 x2 and noise; x3
and x4 do not matter. Without names all settings are run, else those that begin with one of the
words; the others keep their stored results. They go to simulations/change.json and
docs/p_values.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVR

import pkex
from simulations.page import write, write_page

Floats = NDArray[np.float64]

ROOT = Path(__file__).parent.parent
STORED = ROOT / "simulations" / "change.json"
FIT, ROWS, MORE_ROWS, D, PERMUTATIONS, ALPHA = 80, 60, 120, 5, 199, 0.05
NULL_PAIRS, POWER_PAIRS = 2000, 300

SECTION = """## If predictions or errors changed

`pkex.change` tests all features of a model, its predictions and, with targets, its errors as one
family. The table has the fraction of data sets with a verdict of change at the level 0.05; with a
significant difference of the mean prediction (adjusted for the family); in which all features are
named whose input was changed; and in which any other feature is named, with targets by predictions
or by errors. Data sets have two tables of {rows} rows, of {more_rows} where a change was planted;
{columns} columns that are independent or have correlations of 0.6; and a support vector regression
of {fit} other rows. {permutations} permutations, p-values adjusted by step-down maxima.

{table}

Where nothing changed, the verdict should be positive in 5 % of the data sets: the standard error
of {null} data sets is 0.005. Changes that cancel leave the mean prediction as it is; the verdict
and the features show them. "Others" are features whose column did not change. Their values can
change all the same where the fitted model lets them interact with a column that did, so these are
not always false alarms.

(`python -m simulations.change`)
"""


class Setting(NamedTuple):
    """What is changed in the second table."""

    correlated: bool = False
    targets: bool = False
    shift: tuple[float, ...] = (0.0,) * D
    scale: tuple[float, ...] = (1.0,) * D
    target_noise: float = 0.3
    rows: int = ROWS
    kernel: Literal["rbf", "linear"] = "rbf"
    planted: tuple[str, ...] = ()


_ONE, _TWO = (0.8, 0.0, 0.0, 0.0, 0.0), (0.8, -0.8, 0.0, 0.0, 0.0)
_WIDE = (2.0, 1.0, 1.0, 1.0, 1.0)


def _planted(**options: Any) -> dict[str, Setting]:
    """Return a planted change for columns of both kinds."""
    return {
        kind: Setting(correlated=kind == "correlated", rows=MORE_ROWS, **options)
        for kind in ("independent", "correlated")
    }


_PLANTED = {
    "x0 shifted by 0.8": _planted(shift=_ONE, planted=("x0",)),
    "x0 and x1 shifted, which cancels": _planted(shift=_TWO, planted=("x0", "x1")),
    "spread of x0 doubled": _planted(scale=_WIDE, planted=("x0",)),
    "target alone, noise 0.3 to 0.6": _planted(targets=True, target_noise=0.6),
}
SETTINGS = {
    "nothing, independent": Setting(),
    "nothing, correlated": Setting(correlated=True),
    "nothing, independent, with targets": Setting(targets=True),
    "nothing, correlated, with targets": Setting(correlated=True, targets=True),
    **{f"{name}, {kind}": one for name, both in _PLANTED.items() for kind, one in both.items()},
    **{
        f"linear model, x0 shifted by 0.8, {kind}": one._replace(kernel="linear")
        for kind, one in _PLANTED["x0 shifted by 0.8"].items()
    },
}


def draw(rng: np.random.Generator, n: int, correlated: bool) -> Floats:
    """Return rows of standard normal columns."""
    X = rng.normal(size=(n, D))
    return np.sqrt(0.4) * X + np.sqrt(0.6) * rng.normal(size=(n, 1)) if correlated else X


def target(rng: np.random.Generator, X: Floats, noise: float) -> Floats:
    """Return targets of rows."""
    return X[:, 0] + X[:, 1] - 0.5 * X[:, 2] + noise * rng.normal(size=len(X))


def run(setting: Setting, seed: list[int]) -> list[bool]:
    """Return the verdict, whether the mean moved, and which features are named."""
    rng = np.random.default_rng(seed)
    X, before, after = (draw(rng, n, setting.correlated) for n in (FIT, *[setting.rows] * 2))
    model = SVR(kernel=setting.kernel, C=10.0, gamma=0.1).fit(X, target(rng, X, 0.3))
    after = np.array(setting.scale) * after + np.array(setting.shift)
    options: dict[str, Any] = {}
    if setting.targets:
        noises = {"y_before": (before, 0.3), "y_after": (after, setting.target_noise)}
        options = {name: target(rng, table, noise) for name, (table, noise) in noises.items()}
    change = pkex.change(
        model, before, after, **options, n_permutations=PERMUTATIONS, random_state=rng, n_jobs=1
    )
    assert change.p_totals is not None
    names = {*change.significant()}
    if setting.targets and not setting.planted:
        names |= {*change.significant(output="squared error")}
    planted = {*setting.planted}
    moved = float(change.p_totals.reshape(2, -1)[0, 0]) <= ALPHA
    return [bool(change.detected()), moved, planted <= names, bool(names - planted)]


def simulate(setting: Setting, place: int, pairs: int) -> dict[str, Any]:
    """Return the fractions over some data sets."""
    results = np.array([run(setting, [place, number]) for number in range(pairs)])
    detected, moved, named, others = results.mean(axis=0).tolist()
    fractions = {"change": detected, "mean prediction": moved, "planted": named, "others": others}
    return {"pairs": pairs, **fractions}


def section(stored: dict[str, Any]) -> str:
    """Return the section of the documentation, from what was stored."""
    heads = ["changed", "data sets", "change detected", "mean prediction", "planted", "others"]
    rows = [f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 1)}"]
    for name, one in stored["settings"].items():
        planted = f"{one['planted']:.3f}" if SETTINGS[name].planted else ""
        cells = [f"{one[key]:.3f}" for key in ("change", "mean prediction")]
        last = [planted, f"{one['others']:.3f}"]
        rows.append(f"| {' | '.join([name, str(one['pairs']), *cells, *last])} |")
    facts = {
        key: stored[key] for key in ("rows", "more_rows", "columns", "fit", "permutations", "null")
    }
    return SECTION.format(table="\n".join(rows), **facts)


def main() -> None:
    """Simulate, print and store."""
    parser = argparse.ArgumentParser(description="Level and power of pkex.change.")
    parser.add_argument("settings", nargs="*", help="beginnings of the settings to run")
    chosen = parser.parse_args().settings
    for place, (name, setting) in enumerate(SETTINGS.items()):
        words = [word for word in chosen if word not in SETTINGS or word == name]
        if not chosen or name.startswith(tuple(words)):
            pairs = NULL_PAIRS if name.startswith("nothing") else POWER_PAIRS
            result = simulate(setting, place, pairs)
            print(name, result, flush=True)
            store(name, result)


def store(name: str, result: dict[str, Any]) -> None:
    """Write the result of a setting beside those of the others, and the page."""
    known: dict[str, Any] = {}
    if STORED.exists():
        known = json.loads(STORED.read_text(encoding="utf-8"))["settings"]
    known[name] = result
    stored: dict[str, Any] = {
        "rows": ROWS,
        "more_rows": MORE_ROWS,
        "columns": D,
        "fit": FIT,
        "permutations": PERMUTATIONS,
        "null": NULL_PAIRS,
        "settings": {setting: known[setting] for setting in SETTINGS if setting in known},
    }
    write(STORED, json.dumps(stored, indent=1) + "\n")
    write_page()


if __name__ == "__main__":
    main()
