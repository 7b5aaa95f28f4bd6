"""The commands that take a model file, and their options: ``explain`` and ``sensitivity``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from pkex.cli._options import (
    OUTPUT,
    READING,
    DropMissing,
    Groups,
    Interactions,
    Jobs,
    Output,
    ReadOptions,
    option,
)

__all__ = ["explain", "sensitivity"]

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file: skops; joblib with --trust.")
]
Columns = Annotated[
    str | None,
    option(
        "--columns",
        metavar="NAMES",
        help="Columns in the order of the model, if it was fitted without names.",
    ),
]


@dataclass(frozen=True)
class Trust:
    """What a model file may hold."""

    trust: Annotated[
        bool, option("--trust", help="Read any model file, also pickles: they may run any code.")
    ] = False
    trust_type: Annotated[
        list[str] | None,
        option("--trust-type", metavar="TYPE", help="A type that a skops file may hold."),
    ] = None

    @property
    def types(self) -> tuple[str, ...]:
        """The types that it may hold."""
        return tuple(self.trust_type or ())


def explain(
    model: Model,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Rows to explain: CSV or Parquet.")],
    background: Annotated[
        Path | None,
        option(
            "--background",
            metavar="FILE",
            help="Rows that absent features take their values from, as in shap; by default they "
            "are averaged over the model's own data.",
        ),
    ] = None,
    background_rows: Annotated[
        str | None, option("--background-rows", metavar="ROWS", help="Which of them, e.g. 0:100.")
    ] = None,
    removal: Annotated[
        Literal["marginal", "interventional", "neutral"] | None,
        option(
            "--removal",
            metavar="NAME",
            help="Meaning of an absent feature: marginal (averaged over the model's own data, the "
            "default, or over the background), interventional (as in shap, the default with a "
            "background) or neutral (the paper's).",
        ),
    ] = None,
    rows: Annotated[
        str | None,
        option("--rows", metavar="ROWS", help="Rows to explain, counted from 0, e.g. 0:10,15."),
    ] = None,
    columns: Columns = None,
    groups: Groups = None,
    outputs: Annotated[
        Literal["classes", "pairs", "log-odds"] | None,
        option(
            "--outputs",
            metavar="classes|pairs|log-odds",
            help="Of an SVC with three classes or more: one for each class (the default), or one "
            "for each pair of classes. Of a classifier with probabilities: their log-odds.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        option("--output", metavar="NAME", help="One output of several, by name or number."),
    ] = None,
    row_id: Annotated[
        str | None,
        option(
            "--id",
            metavar="COLUMN",
            help="Column of DATA that names its rows; it is kept out of the model.",
        ),
    ] = None,
    tol: Annotated[
        float | None,
        option("--tol", metavar="ERROR", help="Accepted relative error, for speed."),
    ] = None,
    interactions: Interactions = False,
    jobs: Jobs = -1,
    drop_missing: DropMissing = False,
    keep_missing: Annotated[
        bool,
        option("--keep-missing", panel=READING, help="Leave missing values to the model."),
    ] = False,
    *,
    trusted: Trust,
    reading: ReadOptions,
    output_to: Output,
    resume: Annotated[
        bool,
        option("--resume", panel=OUTPUT, help="Go on with a long table that was interrupted."),
    ] = False,
    part_rows: Annotated[
        int | None,
        option(
            "--part-rows",
            metavar="N",
            min=1,
            panel=OUTPUT,
            help="Rows that a long table is read and explained by.",
        ),
    ] = None,
) -> int:
    """Explain a model's predictions: what each feature adds to each of them.

    pkex explain model.skops patients.csv --background train.csv --out explained
    """
    from pkex.cli._explain import ExplainRequest
    from pkex.cli._explain import explain as work
    from pkex.cli._tables import split_names

    request = ExplainRequest(
        model=model,
        data=data,
        background=background,
        background_rows=background_rows,
        removal=removal,
        rows=rows,
        columns=split_names(columns),
        groups=groups,
        outputs=outputs,
        output=output,
        id=row_id,
        tol=tol,
        n_jobs=jobs,
        drop_missing=drop_missing,
        keep_missing=keep_missing,
        trust=trusted.trust,
        trusted_types=trusted.types,
        resume=resume,
        part_rows=part_rows,
        interactions=interactions,
    )
    return work(request, reading.dialect(), output_to.session())


def sensitivity(
    model: Model,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE", help="Rows whose columns the inputs range over: CSV or Parquet."
        ),
    ],
    order: Annotated[
        int, option("--order", metavar="1|2", help="2 to have all pairs of inputs as well.")
    ] = 1,
    columns: Columns = None,
    groups: Groups = None,
    outputs: Annotated[
        Literal["classes", "pairs"] | None,
        option(
            "--outputs",
            metavar="classes|pairs",
            help="Of an SVC with three classes or more: one for each class (the default), or one "
            "for each pair of classes.",
        ),
    ] = None,
    jobs: Jobs = -1,
    drop_missing: DropMissing = False,
    *,
    trusted: Trust,
    reading: ReadOptions,
    output_to: Output,
) -> int:
    """Tell which inputs drive a model's output over their range (Sobol indices, Shapley effects).

    The columns of the table are taken as independent of each other.

    pkex sensitivity model.skops patients.csv --order 2 --out driven
    """
    from pkex.cli._sensitivity import SensitivityRequest
    from pkex.cli._sensitivity import sensitivity as work
    from pkex.cli._tables import split_names

    request = SensitivityRequest(
        model=model,
        data=data,
        order=order,
        columns=split_names(columns),
        groups=groups,
        outputs=outputs,
        n_jobs=jobs,
        drop_missing=drop_missing,
        trust=trusted.trust,
        trusted_types=trusted.types,
    )
    return work(request, reading.dialect(), output_to.session())
