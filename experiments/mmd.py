"""MMD (figures 5 to 8): Student t against normal, no difference, and diabetes by sex.

The made data follow the paper and its published script. Both samples have twenty columns, in two
halves that are normal with a covariance drawn anew from a Wishart distribution, the same in both
samples. With a difference, the last ten columns of Z are independent Student t with 3 degrees of
freedom instead, its location and scale the mean and the standard deviation of X (so that the
variances differ, by a factor of 3). Unbiased MMD^2, one RBF bandwidth by the median heuristic.

Beside the paper's game, some of the same draws have removed columns averaged out, which is ours.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import gaussian_kde, wishart
from sklearn.datasets import load_diabetes

import pkex
from experiments import figures
from experiments.data import diabetes_by_sex
from experiments.page import table
from experiments.record import Experiment, Job, Record, results

__all__ = ["EXPERIMENT", "samples"]

Floats = NDArray[np.float64]

HALF = 10  # of the columns
PAPER: Any = {"kernel": "median", "removal": "neutral", "estimator": "unbiased"}
MARGINAL = PAPER | {"removal": "product-of-marginals"}  # ours
TITLES = ("neutral removal (the paper)", "product of marginals (ours)")
GAMES = {"": PAPER, "marginal ": MARGINAL}  # by the first words of the names of parts
ORDER = ("s3", "s4", "bp", "s6", "age", "s5", "s2", "bmi", "s1")  # the paper's, of diabetes


def samples(n: int, case: str, seed: int) -> tuple[Floats, Floats]:
    """Return X and Z of the "student" or the "equal" case."""
    rng = np.random.default_rng(seed)
    covariances = [wishart.rvs(HALF, np.eye(HALF), random_state=rng) for _ in range(2)]
    X, Z = (
        np.hstack([rng.multivariate_normal(np.zeros(HALF), one, n) for one in covariances])
        for _ in range(2)
    )
    if case == "student":
        last = X[:, HALF:]
        Z[:, HALF:] = last.mean(axis=0) + last.std(axis=0) * rng.standard_t(3, size=last.shape)
    return X, Z


def run(job: Job) -> None:
    """Draw and attribute both cases in blocks of draws, then diabetes; in both games."""
    parameters = job.parameters
    for title, game in GAMES.items():
        draws, tested, permutations = (
            parameters[f"{title}{key}".replace(" ", "_")]
            for key in ("draws", "tested", "permutations")
        )
        block = max(1, draws // 10)
        for case in ("student", "equal"):
            for start in range(0, draws, block):
                seeds = range(start, min(start + block, draws))
                part = partial(_draws, parameters["samples"], case, seeds, game)
                job.part(f"{title}{case}: {start}", part)
            part = partial(_test, parameters["test_samples"], case, tested, permutations, game)
            job.part(f"{title}{case} test", part)
    scaled = diabetes_by_sex()
    raw = load_diabetes(as_frame=True, scaled=False).data
    one, two = (raw[raw["sex"] == sex].drop(columns="sex") for sex in np.unique(raw["sex"]))
    default = {
        "kernel": "median-per-column",
        "removal": "product-of-marginals",
        "estimator": "unbiased",
    }
    for title, game in (("", PAPER), ("marginal ", default)):
        permutations = parameters["permutations"]
        job.part(f"{title}diabetes", partial(_attribution, *scaled, permutations, game))
        job.part(f"{title}diabetes unscaled", partial(_attribution, one, two, 0, game))


def _draws(n: int, case: str, seeds: range, game: Any) -> list[list[float]]:
    """Return the values of each draw, multiplied by n as in the paper's figures."""
    found = []
    for seed in seeds:
        values = pkex.mmd(*samples(n, case, seed), n_jobs=1, **game).values
        found.append([float(f"{n * value:.6g}") for value in values])
    return found


def _test(n: int, case: str, draws: int, permutations: int, game: Any) -> list[list[float]]:
    """Return the p-values of the columns for some draws of a smaller sample."""
    found = []
    for seed in range(draws):
        X, Z = samples(n, case, 10**6 + seed)
        tested: Any = pkex.mmd(
            X, Z, n_permutations=permutations, random_state=seed, n_jobs=1, **game
        )
        found.append([float(p) for p in tested.p_values])
    return found


def _attribution(first: Any, second: Any, permutations: int, game: Any) -> dict[str, Any]:
    options: Any = {"n_permutations": permutations, "random_state": 0, "n_jobs": 1}
    found: Any = pkex.mmd(first, second, **options, **game)
    result = {
        "names": list(found.feature_names),
        "values": found.values,
        "total": found.statistic,
        "rows": [len(first), len(second)],
    }
    if permutations:
        result |= {
            "p_values": found.p_values,
            "p_statistic": found.p_statistic,
            "p_univariate": found.p_univariate,
            "null": np.quantile(found.null_values, (0.025, 0.975), axis=0),
        }
    return result


def _values(record: Record, case: str) -> Floats:
    """Return the values of all draws, shape (draws, 20)."""
    return np.array([row for rows in results(record, f"{case}: ").values() for row in rows])


def draw(record: Record) -> dict[str, Figure]:
    """Draw the densities, the histograms, the bars and the marginals."""
    return {
        "mmd_student": _densities(_values(record, "student"), _values(record, "marginal student")),
        "mmd_equal": _histograms(_values(record, "equal")),
        "mmd_diabetes": _bars(results(record)),
        "mmd_marginals": _marginals(),
    }


def _densities(paper: Floats, ours: Floats) -> Figure:
    figure, grid = figures.axes(2, 2, figsize=(10.0, 6.5), sharex="col")
    parts = ((slice(0, HALF), figures.COLOURS[0]), (slice(HALF, 2 * HALF), figures.COLOURS[1]))
    for axes, (part, colour) in zip(grid.T, parts, strict=True):
        for ax, values in zip(axes, (paper, ours), strict=True):
            low, high = np.quantile(values[:, part], (0.001, 0.999))
            spread = high - low
            x = np.linspace(low - 0.1 * spread, high + 0.1 * spread, 300)
            for j in range(2 * HALF)[part]:
                ax.plot(x, gaussian_kde(values[:, j])(x), color=colour, lw=1, alpha=0.7)
            ax.axvline(0.0, color="0.3", lw=1, ls=":")
            ax.set_yticks([])
        axes[0].set_title(f"variables {part.start + 1} to {part.stop}, a line for each", size=10)
        axes[1].set_xlabel("Shapley value of MMD², times the sample size")
    for ax, title, values in zip(grid[:, 0], TITLES, (paper, ours), strict=True):
        ax.set_ylabel(f"{title}\ndensity over {len(values)} draws")
    return figure


def _histograms(values: Floats) -> Figure:
    figure, grid = figures.axes(4, 5, figsize=(10.0, 7.0), sharex=True, sharey=True)
    low, high = np.quantile(values, (0.001, 0.999))
    bins = np.linspace(low, high, 31)
    for j, ax in enumerate(grid.flat):
        ax.hist(values[:, j], bins=bins, color=figures.COLOURS[0])
        ax.axvline(0.0, color="0.2", lw=1, ls=":")
        ax.set_title(f"variable {j + 1}", size=9)
    figure.supxlabel("Shapley value of MMD², times the sample size", size=10)
    figure.supylabel("draws", size=10)
    return figure


def _bars(found: dict[str, Any]) -> Figure:
    figure, grid = figures.axes(1, 2, figsize=(11.0, 4.2))
    for ax, title, part in zip(grid[0], TITLES, GAMES, strict=True):
        _bars_of_game(ax, found[f"{part}diabetes"])
        ax.set_title(f"{title}, {'a bandwidth per column' if part else 'one bandwidth'}", size=10)
    grid[0, 0].legend(loc="lower right")
    return figure


def _bars_of_game(ax: Any, found: dict[str, Any]) -> None:
    values, null = np.array(found["values"]), np.array(found["null"])
    order = np.argsort(-values)
    places = np.arange(len(order))[::-1]
    ax.barh(places, values[order], color=figures.COLOURS[0], height=0.7)
    ax.hlines(places, null[0][order], null[1][order], color="0.2", lw=3, alpha=0.6,
              label="95 % of the values\nunder permutation")  # fmt: skip
    for place, j in zip(places, order, strict=True):
        text = max(values[j], null[1][j]) + 0.02 * values.max()
        ax.text(text, place, f"p = {found['p_values'][j]:.3f}", va="center", size=8)
    ax.set_yticks(places, [found["names"][j] for j in order])
    ax.set_xlim(right=values.max() * 1.2)
    ax.set_xlabel("Shapley value of MMD² between the sexes")


def _marginals() -> Figure:
    first, second = diabetes_by_sex()
    figure, grid = figures.axes(3, 3, figsize=(9.0, 6.5))
    for ax, name in zip(grid.flat, ORDER, strict=True):
        bins = np.linspace(-0.15, 0.15, 31)
        for sex, colour, label in (
            (first, figures.COLOURS[0], f"sex 1, {len(first)} rows"),
            (second, figures.COLOURS[1], f"sex 2, {len(second)} rows"),
        ):
            ax.hist(sex[name], bins=bins, density=True, color=colour, alpha=0.25)
            ax.hist(sex[name], bins=bins, density=True, histtype="step", color=colour, label=label)
        ax.set_title(name, size=10)
        ax.set_yticks([])
    grid[0, 0].legend(fontsize=8)
    figure.supxlabel("standardised value, as in scikit-learn's scaled data", size=10)
    figure.supylabel("density", size=10)
    return figure


def section(record: Record) -> str:
    """Return what the paper reports and what was found."""
    parameters, found = record["parameters"], results(record)
    student, equal = _values(record, "student"), _values(record, "equal")
    below = {
        case: np.array(found[f"{case} test"]) < 0.05
        for case in ("student", "equal", "marginal student", "marginal equal")
    }
    means, deviations = equal.mean(axis=0), equal.std(axis=0)
    diabetes = found["diabetes"]
    order = _order(diabetes)
    same = "this order" if order == list(ORDER) else f"another order, {', '.join(order)}"
    return f"""**The paper** reports, for Student t against normal in the last ten of twenty
columns, that columns 1 to 10 have negative values and columns 11 to 20 positive ones, nearly the
same within each group.

**We find**, in {len(student)} draws of {parameters["samples"]} rows each, a negative value in
{100 * (student[:, :HALF] < 0).mean():.1f} % of the draws for columns 1 to 10, and a positive one
in {100 * (student[:, HALF:] > 0).mean():.1f} % for columns 11 to 20. A negative value does not mean
special likeness, though: a column that is distributed alike gets a systematically negative
value as soon as others shift, because its factor in the kernel shrinks their discrepancy. The
permutation test, which the paper does not have, decides which differences are significant: with
{parameters["test_samples"]} rows and {parameters["permutations"]} permutations the fraction of
p-values below 0.05, over {parameters["tested"]} draws, is {below["student"][:, :HALF].mean():.3f}
for columns 1 to 10 and {below["student"][:, HALF:].mean():.3f} for columns 11 to 20. (As in the
published script, t has 3 degrees of freedom and the normal sample's mean and standard deviation as
location and scale: the variances differ by a factor of 3, not the higher moments alone.)

**No difference.** The paper reports that all columns contribute alike to an MMD near zero. We
find, over {len(equal)} draws, means from {means.min():.3f} to {means.max():.3f} with a standard
error of about {deviations.mean() / np.sqrt(len(equal)):.3f}, and standard deviations from
{deviations.min():.3f} to {deviations.max():.3f} (values times the sample size). Of the p-values
{100 * below["equal"].mean():.1f} % are below 0.05.

**Diabetes by sex.** The paper reports the order {", ".join(ORDER)}, the last two near zero. We
find {same}; {_negative(diabetes)} negative. MMD² is {diabetes["total"]:.4f}, with p =
{diabetes["p_statistic"]:.4f} by {parameters["permutations"]} permutations. The order is that of
scikit-learn's scaled data; in raw units it is {", ".join(_order(found["diabetes unscaled"]))}.

{table(["column", "value", "95 % under permutation", "p-value"], _lines(diabetes))}

{_ours(record, below)}
"""


def _ours(record: Record, below: dict[str, NDArray[np.bool_]]) -> str:
    """Return what changes when removed columns are averaged out."""
    parameters, found = record["parameters"], results(record)
    paper, ours, equal = (
        _values(record, case) for case in ("student", "marginal student", "marginal equal")
    )
    paper = paper[: len(ours)]  # the same draws
    first, last = slice(0, HALF), slice(HALF, 2 * HALF)
    tested = below["marginal student"]
    diabetes, raw = found["marginal diabetes"], found["marginal diabetes unscaled"]
    header = ["column", "value", "95 % under permutation", "p-value", "univariate p-value"]
    apart = np.abs(np.array(diabetes["values"]) - np.array(raw["values"])).max()
    return f"""**Removed columns averaged out.** This is ours, not the paper's: the same statistic
split with `removal="product-of-marginals"`, where the kernel factor of a removed column is its mean
over all pairs of rows, on the first {len(ours)} of the same draws with the same kernel. Columns 1
to 10 now have a mean value of
{ours[:, first].mean():.3f} with a standard deviation of {ours[:, first].std():.3f} (neutral
removal: {paper[:, first].mean():.3f} and {paper[:, first].std():.3f}), columns 11 to 20 one of
{ours[:, last].mean():.3f} and {ours[:, last].std():.3f} (neutral removal:
{paper[:, last].mean():.3f} and {paper[:, last].std():.3f}), all times the sample size. A value is
negative in {100 * (ours[:, first] < 0).mean():.1f} % of the draws for columns 1 to 10 and positive
in {100 * (ours[:, last] > 0).mean():.1f} % for columns 11 to 20. These ten columns depend on each
other, alike in both samples, so theory promises a value of 0 not to each of them, but to the ten as
one feature. Over {len(tested)} draws of {parameters["test_samples"]} rows and with
{parameters["marginal_permutations"]} permutations, of labels and of single columns, the fraction of
p-values below 0.05 is {tested[:, first].mean():.3f} for columns 1 to 10 and
{tested[:, last].mean():.3f} for columns 11 to 20. Without a difference it is
{below["marginal equal"].mean():.3f}, and the values have standard deviations from
{equal.std(axis=0).min():.3f} to {equal.std(axis=0).max():.3f}.

Diabetes by sex with the product of marginals and a bandwidth per column, the default of `pkex.mmd`:
the order is {", ".join(_order(diabetes))}, and {_negative(diabetes)} negative. MMD² is
{diabetes["total"]:.4f}. In raw units the values are the same to {apart:.0e}. The last column of the
table has the p-value of the univariate MMD; {_alone(diabetes)}.

{table(header, _lines(diabetes, alone=True))}"""


def _lines(found: dict[str, Any], *, alone: bool = False) -> list[list[str]]:
    """Return the lines of the table, the largest value first."""
    low, high = found["null"]
    return [
        [
            found["names"][j],
            f"{found['values'][j]:.5f}",
            f"{low[j]:.5f} to {high[j]:.5f}",
            f"{found['p_values'][j]:.4f}",
            *([f"{found['p_univariate'][j]:.4f}"] if alone else []),
        ]
        for j in np.argsort(-np.array(found["values"]))
    ]


def _alone(found: dict[str, Any]) -> str:
    """Say which columns differ by themselves without a significant contribution."""
    rows = zip(found["names"], found["p_values"], found["p_univariate"], strict=True)
    names = [name for name, p, alone in rows if alone < 0.05 <= p]
    which = f"{' and '.join(names)} differs" if len(names) == 1 else f"{' and '.join(names)} differ"
    which = which if names else "no column differs"
    return f"{which} in the univariate test (p < 0.05) without a significant contribution"


def _negative(found: dict[str, Any]) -> str:
    """Say which values are below zero."""
    names = [name for name, v in zip(found["names"], found["values"], strict=True) if v < 0]
    return f"the values of {' and '.join(names)} are" if names else "none is"


def _order(found: dict[str, Any]) -> list[str]:
    """Return the names by falling value."""
    return [found["names"][j] for j in np.argsort(-np.array(found["values"]))]


EXPERIMENT = Experiment(
    "mmd",
    "Explaining MMD (figures 5 to 8)",
    {
        "smoke": {
            "samples": 40, "draws": 4, "tested": 1, "test_samples": 30, "permutations": 10,
            "marginal_draws": 3, "marginal_tested": 1, "marginal_permutations": 10,
        },
        "quick": {
            "samples": 300, "draws": 100, "tested": 10, "test_samples": 200, "permutations": 200,
            "marginal_draws": 20, "marginal_tested": 5, "marginal_permutations": 100,
        },
        "full": {
            "samples": 1000, "draws": 1000, "tested": 50, "test_samples": 500,
            "permutations": 1000,
            "marginal_draws": 100, "marginal_tested": 20, "marginal_permutations": 200,
        },
    },
    run,
    draw,
    section,
)  # fmt: skip
