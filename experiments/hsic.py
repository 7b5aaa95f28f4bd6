"""Feature selection with HSIC (the 7 x 6 table): as printed, and the clean protocol beside it.

Our selector, with removed columns averaged out, has a line in both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments import figures
from experiments.data import SOURCES, load
from experiments.page import table
from experiments.protocols import CLEAN_ROWS, clean, printed
from experiments.record import Experiment, Job, Record, results
from experiments.selectors import OURS, RANDOM, SELECTORS

__all__ = ["EXPERIMENT"]

PRINTED_MEANS = {  # in the paper, methods in the order of SELECTORS
    "sonar": (0.808, 0.808, 0.875, 0.842, 0.779, 0.837),
    "wisconsin": (0.909, 0.884, 0.900, 0.900, 0.909, 0.887),
    "ionosphere": (0.878, 0.912, 0.937, 0.932, 0.869, 0.926),
    "breastcancer": (0.850, 1.000, 1.000, 1.000, 1.000, 1.000),
    "skillcraft": (1.000, 2.175, 1.134, 1.821, 1.134, 2.175),
    "sml": (0.999, 1.354, 0.196, 1.000, 0.257, 1.000),
    "parkinsons": (0.125, 1.170, 0.214, 1.000, 1.018, 0.214),
}
PRINTED_DEVIATIONS = {
    "sonar": (0.030, 0.044, 0.053, 0.038, 0.040, 0.059),
    "wisconsin": (0.015, 0.010, 0.015, 0.024, 0.015, 0.033),
    "ionosphere": (0.036, 0.035, 0.023, 0.021, 0.018, 0.031),
    "breastcancer": (0.010, 0.080, 0.080, 0.080, 0.080, 0.080),
    "skillcraft": (0.020, 0.429, 0.099, 0.680, 0.099, 0.429),
    "sml": (0.001, 0.726, 0.071, 0.000, 0.086, 0.000),
    "parkinsons": (0.022, 0.269, 0.004, 0.000, 0.076, 0.004),
}
# found once, at full size, outside of what is stored
_TRIED = """A stable sort gives 0.926 for HSIC Lasso on ionosphere and 0.898 for Lasso on wisconsin.
About a dozen other bandwidths and scalings were tried for our own method on sonar; none gives the
printed 0.808, and the plain median was kept."""

_NOT_RUN = """ Cells marked "not run" are Gaussian processes on 2700 to 4700 rows, which take up
to an hour each."""
_REASONS = """With the columns of both on parkinsons four folds have errors near 0.22 and
one has 0.003; the printed deviation of 0.004 has no room for such a fold, so the optimiser of the
likelihood must have ended elsewhere. With 12 seeds the trees choose three sets of columns of sml.
HSIC Lasso differs in the last digit only. For PKeX-Shapley on breastcancer we know no cause."""


def run(job: Job) -> None:
    """Score every data set with both protocols."""
    parameters = job.parameters
    for name in parameters["clean"]:
        data = load(name, job.data).thinned(parameters["rows"])
        clean(job, data, parameters["clean_rows"], parameters["random_draws"])
    for name in parameters["printed"]:
        data = load(name, job.data).thinned(parameters["rows"])
        printed(job, data, parameters["seeds"] if data.is_classification else 1)


def _scores(record: Record, name: str) -> dict[str, list[tuple[float, float] | None]]:
    """Return mean and deviation by method, for every seed; None where the model fails."""
    found = results(record, f"{name}: printed: ")
    scores: dict[str, list[tuple[float, float] | None]] = {}
    chosen = found.get("chosen", {}) | found.get("chosen by ours", {})
    for method, runs in chosen.items():
        scores[method] = []
        for columns in runs:
            key = " ".join(map(str, columns))
            if key in found:
                folds = found[key]
                pair = None if folds is None else (float(np.mean(folds)), float(np.std(folds)))
                scores[method].append(pair)
    return scores


def _clean(record: Record, name: str) -> dict[str, tuple[float, float]]:
    """Return mean and deviation over the folds by row of the table."""
    return {
        row: (float(np.mean(scores)), float(np.std(scores)))
        for row, scores in _folds(record, name).items()
    }


def _folds(record: Record, name: str) -> dict[str, list[float]]:
    """Return the scores of the clean protocol's folds by row of the table, of those that ran."""
    parts = [f"{name}: {kind}: " for kind in ("clean", "clean by ours")]
    folds = [fold for part in parts for fold in results(record, part).values()]
    found = {row: [fold[row] for fold in folds if row in fold] for row in CLEAN_ROWS}
    return {row: scores for row, scores in found.items() if scores}


def draw(record: Record) -> dict[str, Figure]:
    """Draw the clean protocol: methods against random and all features."""
    names = [name for name in SOURCES if _clean(record, name)]
    if not names:
        return {}
    columns = 4
    lines = -(-len(names) // columns)
    figure, grid = figures.axes(lines, columns, figsize=(11.0, 2.9 * lines), sharey=True)
    places = dict(zip(CLEAN_ROWS, range(len(CLEAN_ROWS))[::-1], strict=True))
    colours = dict.fromkeys(SELECTORS, figures.COLOURS[7]) | {"PKeX-Shapley": figures.COLOURS[0]}
    colours |= dict.fromkeys(OURS, figures.COLOURS[1])
    for ax, name in zip(grid.flat, names, strict=False):
        for row, (mean, deviation) in _clean(record, name).items():
            ax.errorbar(mean, places[row], xerr=deviation, fmt="none", ecolor="0.6", lw=1)
            colour = colours.get(row, figures.COLOURS[4])
            ax.scatter(mean, places[row], color=colour, s=30, zorder=3)
        ax.set_yticks(list(places.values()), CLEAN_ROWS, size=8)
        ax.set_title(name, size=10)
        ax.set_xlabel("accuracy" if SOURCES[name].task == "classification" else "R2", size=9)
    for ax in grid.flat[len(names) :]:
        ax.set_visible(False)
    return {"hsic": figure}


def section(record: Record) -> str:
    """Return both tables and what they show."""
    parameters = record["parameters"]
    labels = [name for name in SOURCES if SOURCES[name].task == "classification"]
    numbers = [name for name in SOURCES if name not in labels]
    regressions = _printed_table(record, numbers)
    return f"""**The paper** reports the table below (mean ± standard deviation of five folds) and
that its method "consistently delivers strong results across all datasets".

**We find**, with the published pipeline, these accuracies. MI and the trees are random, and their
seeds were not published: over {parameters["seeds"]} seeds, the cell has the median, the range, and
for how many of them the printed mean comes out.

{_printed_table(record, labels, OURS)}

{_deviations(record, labels)}

The last line is a selector of our own, described below; the paper has no such line.

A random method counts when some seed gives the printed mean{_others_alone(record, labels)}. One row
of sonar is 0.005: where the means differ by that much, one row was classified otherwise. For larger
differences we know no cause but the unpublished seeds and the versions of the packages.

The match was not blind. Where the text leaves a choice open, we took what the published scripts do:
HSIC Lasso is called with the features as covariates, and tied scores keep the order of NumPy's
default sort, which may differ between processors. {_TRIED if record["size"] == "full" else ""}

For the regressions (percentage error, lower is better) the printed numbers do not mean what they
seem to. Inputs are not scaled while the length scale is at most 10, so that for many choices of
features the Gaussian process predicts the mean; the target is centred, so the mean is 0, and the
percentage error of predicting 0 is 1.000 whatever the data. Three of the four sets carry an
identifier of the row or the subject as a feature, and rows of one subject are in training and
test.{_NOT_RUN if "not run" in regressions else ""}

{regressions}

{_deviations(record, numbers)}

MI and the trees ran with one seed on these. {_REASONS if record["size"] == "full" else ""}

**The clean protocol**: identifiers and constant columns left out, scaling and selection inside the
folds, subjects of parkinsons kept together, a noise term in the regressions, training on at most
{parameters["clean_rows"]} rows of a fold. Accuracy, or R2 for the last four; higher is better;
mean ± standard deviation of five folds.

{_clean_table(record)}

{_verdict(record)} What attributing HSIC gives is the exact additive split of one number that
measures dependence, not a better selector. In breastcancer the feature `outcome` decides what the
target `time` means (time to recurrence, or time without), and in sml the humidity of the next room
nearly equals the target; both were left in.

**Removed columns averaged out.** The selector "product of marginals (ours)" is not the paper's: it
ranks by the same Shapley values of HSIC with `removal="product-of-marginals"` instead of neutral
removal, the unbiased estimator and a bandwidth per column, which are pkex's defaults.
{_ours(record)} It was not run on the regressions
as printed, whose numbers mean little.
"""


def _printed_table(record: Record, names: list[str], ours: Iterable[str] = ()) -> str:
    rows = []
    for i, method in enumerate(SELECTORS):
        cells = [method]
        for name in names:
            mean, deviation = PRINTED_MEANS[name][i], PRINTED_DEVIATIONS[name][i]
            cells.append(f"{mean:.3f} ± {deviation:.3f}")
            cells.append(_cell(_scores(record, name).get(method, []), mean))
        rows.append(cells)
    for method in ours:
        found = [_scores(record, name).get(method, []) for name in names]
        rows.append([method, *(cell for scores in found for cell in ("", _cell(scores)))])
    header = ["method"]
    for name in names:
        header += [f"{name}: paper", "ours"]
    return table(header, rows)


def _cell(scores: list[tuple[float, float] | None], printed_mean: float = 0.0) -> str:
    if not scores:
        return "not run"
    known = [score for score in scores if score is not None]
    if not known:
        return "fails"
    if len(scores) == 1:
        return f"{known[0][0]:.3f} ± {known[0][1]:.3f}"
    means = [mean for mean, _ in known]
    hits = sum(_same(mean, printed_mean) for mean in means)
    return f"{np.median(means):.3f} ({min(means):.3f} to {max(means):.3f}; {hits} of {len(scores)})"


def _same(ours: float, printed_mean: float) -> bool:
    return abs(ours - printed_mean) < 0.00051


def _deviations(record: Record, names: list[str]) -> str:
    """Say for each data set how many methods give the printed mean, and which do not."""
    lines = []
    for name in names:
        known = {
            method: [score[0] for score in scores if score is not None]
            for method, scores in _scores(record, name).items()
            if method not in OURS
        }
        missed = []
        for mean, method in zip(PRINTED_MEANS[name], SELECTORS, strict=True):
            ours = known.get(method)
            if ours and not any(_same(one, mean) for one in ours):
                nearest = min((abs(one - mean), one) for one in ours)[1]
                seeds = " with any seed" if len(ours) > 1 else ""
                missed.append(f"{method}{seeds} ({mean:.3f} printed, {nearest:.3f} at the nearest)")
        n_known = sum(bool(ours) for ours in known.values())
        if n_known:
            lines.append(
                f"- {name}: {n_known - len(missed)} of {n_known} methods give the printed mean to "
                f"three digits. Others: {'; '.join(missed) or 'none'}."
            )
    return "\n".join(lines)


def _others_alone(record: Record, names: list[str]) -> str:
    """Say how many methods that are not random give the printed mean, for each data set."""
    counts = []
    for name in names:
        scores = _scores(record, name)
        hits = [
            any(score is not None and _same(score[0], mean) for score in scores[method])
            for mean, method in zip(PRINTED_MEANS[name], SELECTORS, strict=True)
            if method not in RANDOM and scores.get(method)
        ]
        if hits:
            counts.append(f"{sum(hits)} of {len(hits)} give it on {name}")
    return f"; of the other methods, {', '.join(counts)}" if counts else ""


def _clean_table(record: Record) -> str:
    names = [name for name in SOURCES if _clean(record, name)]
    rows = []
    for row in CLEAN_ROWS:
        scores = [_clean(record, name).get(row) for name in names]
        rows.append(
            [row, *("not run" if s is None else f"{s[0]:.3f} ± {s[1]:.3f}" for s in scores)]
        )
    return table(["features", *names], rows)


def _verdict(record: Record) -> str:
    """Say on how many sets each method is the best, and where ours is below chance."""
    wins: dict[str, int] = dict.fromkeys(SELECTORS, 0)
    below = []
    names = [name for name in SOURCES if _clean(record, name)]
    for name in names:
        scores = _clean(record, name)
        wins[max(SELECTORS, key=lambda method: scores[method][0])] += 1
        if scores["PKeX-Shapley"][0] < scores["random features"][0]:
            below.append(name)
    counts = ", ".join(f"{method} {count}" for method, count in wins.items() if count)
    chance = f" It is below random features on {', '.join(below)}." if below else ""
    return (
        f"PKeX-Shapley is no general winner at selection: of {len(names)} sets, the best method is "
        f"{counts} times.{chance}"
    )


def _ours(record: Record) -> str:
    """Say how our selector does against the paper's, fold by fold, and against chance."""
    (row,) = OURS
    changes, best, below = [], [], []
    for name in SOURCES:
        folds = _folds(record, name)
        if row not in folds:
            continue
        paired = list(zip(folds[row], folds["PKeX-Shapley"], strict=False))
        gains = np.array([ours - paper for ours, paper in paired])
        error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
        changes.append(f"{gains.mean():+.3f} ± {error:.3f} on {name}")
        means = {method: mean for method, (mean, _) in _clean(record, name).items()}
        if means[row] > max(means[method] for method in SELECTORS):
            best.append(name)
        if means[row] < means["random features"]:
            below.append(name)
    if not changes:
        return "It was not run in the clean protocol."
    return (
        "In the clean protocol its score differs from that of PKeX-Shapley by these amounts, mean "
        f"and standard error of the differences in the same folds: {', '.join(changes)}. It is "
        f"better than all six methods on {', '.join(best) or 'none'}, and below random features "
        f"on {', '.join(below) or 'none'}."
    )


def _sizes() -> dict[str, dict[str, Any]]:
    labels = ("sonar", "ionosphere", "wisconsin")
    every = (*labels, "breastcancer", "skillcraft", "sml", "parkinsons")
    return {
        "smoke": {
            "rows": 60, "printed": ("wisconsin",), "seeds": 1,
            "clean": ("wisconsin",), "clean_rows": 40, "random_draws": 1,
        },
        "quick": {
            "rows": None, "printed": (*labels, "breastcancer"), "seeds": 5,
            "clean": every, "clean_rows": 300, "random_draws": 3,
        },
        "full": {
            "rows": None, "printed": every, "seeds": 20,
            "clean": every, "clean_rows": 1000, "random_draws": 5,
        },
    }  # fmt: skip


EXPERIMENT = Experiment(
    "hsic",
    "Feature selection with HSIC (appendix, table 2)",
    _sizes(),
    run,
    draw,
    section,
    partial=True,
)
