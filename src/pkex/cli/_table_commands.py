"""The commands that take tables alone, and their options: ``drift`` and ``depend``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pkex.cli._options import (
    DropMissing,
    Groups,
    Interactions,
    Jobs,
    Output,
    ReadOptions,
    option,
)

if TYPE_CHECKING:
    from pkex.cli._statistics import Test

__all__ = ["depend", "drift"]

_TEST = "Statistic and test"  # a panel of the help


@dataclass(frozen=True)
class Testing:
    """What is computed of which columns, and how it is tested."""

    columns: Annotated[
        str | None,
        option("--columns", metavar="NAMES", help="Columns to use, e.g. age,bmi."),
    ] = None
    groups: Groups = None
    interactions: Interactions = False
    jobs: Jobs = -1
    permutations: Annotated[
        int | None,
        option(
            "--permutations",
            metavar="N",
            min=0,
            panel=_TEST,
            help="Of the test; by default 999, or as many more as that many columns need.",
        ),
    ] = None
    kernel: Annotated[
        Literal["median", "median-per-column"],
        option(
            "--kernel",
            metavar="NAME",
            panel=_TEST,
            help="Length scales of the Gaussian kernel: the median distance in each column, or "
            "with median one for all, for columns in the same unit.",
        ),
    ] = "median-per-column"
    removal: Annotated[
        Literal["marginal", "neutral"],
        option(
            "--removal",
            metavar="NAME",
            panel=_TEST,
            help="What an absent column is: averaged out, or with neutral the paper's factor 1.",
        ),
    ] = "marginal"
    estimator: Annotated[
        Literal["unbiased", "biased"],
        option("--estimator", metavar="NAME", panel=_TEST, help="Of the statistic."),
    ] = "unbiased"
    block_size: Annotated[
        int | None,
        option(
            "--block-size",
            metavar="ROWS",
            panel=_TEST,
            help="Average over random blocks of this many rows, of all rows of a long table.",
        ),
    ] = None
    sample: Annotated[
        str | None,
        option(
            "--sample",
            metavar="ROWS|all",
            panel=_TEST,
            help="Rows of a table to take at most, drawn evenly; 10000 by default, all with "
            "--block-size.",
        ),
    ] = None
    seed: Annotated[
        int,
        option(
            "--seed", metavar="N", min=0, panel=_TEST, help="Of permutations, blocks and samples."
        ),
    ] = 0
    drop_missing: DropMissing = False

    def test(self) -> Test:
        """Return what the statistics take."""
        from pkex.cli._statistics import Test
        from pkex.cli._tables import split_names

        return Test(
            columns=split_names(self.columns),
            groups=self.groups,
            kernel=self.kernel,
            removal=self.removal,
            estimator=self.estimator,
            permutations=self.permutations,
            block_size=self.block_size,
            seed=self.seed,
            n_jobs=self.jobs,
            drop_missing=self.drop_missing,
            sample=self.sample,
            interactions=self.interactions,
        )


def drift(
    reference: Annotated[
        Path, typer.Argument(metavar="REFERENCE", help="Table as it was: CSV or Parquet.")
    ],
    current: Annotated[Path, typer.Argument(metavar="CURRENT", help="Table as it is now.")],
    alpha: Annotated[
        float,
        option("--alpha", metavar="LEVEL", panel=_TEST, help="Significance level."),
    ] = 0.05,
    *,
    testing: Testing,
    reading: ReadOptions,
    output: Output,
) -> int:
    """Tell whether two tables differ, and which columns make the difference (MMD).

    The exit code is 0 without drift, 1 with drift, 2 after an error.

    pkex drift january.parquet february.parquet --alpha 0.01 --out drifted
    """
    from pkex.cli._statistics import drift as work

    session = output.session()
    return work(reference, current, alpha, testing.test(), reading.dialect(), session)


def depend(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Table: CSV or Parquet.")],
    target: Annotated[str, option("--target", metavar="COLUMN", help="What may depend on them.")],
    top: Annotated[
        str | None,
        option("--top", metavar="COUNT", help="How many columns to select: 20% or 5."),
    ] = None,
    *,
    testing: Testing,
    reading: ReadOptions,
    output: Output,
) -> int:
    """Rank the columns of a table by how much a target depends on them (HSIC).

    pkex depend patients.csv --target progression --top 20% --out ranked
    """
    from pkex.cli._statistics import depend as work

    return work(data, target, top, testing.test(), reading.dialect(), output.session())
