"""The commands and options of ``pkex``; the work is done by modules that each command imports."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

import pkex
from pkex.cli._text import printable, wrapped

__all__ = ["run"]


class _Help:
    """A help that does not say of flags, such as ``--help`` itself, that they take a bool."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, also those that typer adds."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False) and param.metavar is None:
                param.metavar = ""
        return params


class _Command(_Help, TyperCommand):
    """One command."""


class _Group(_Help, TyperGroup):
    """All commands together."""


app = typer.Typer(
    name="pkex",
    cls=_Group,
    help="Exact Shapley values for kernel machines, for drift between tables, for dependence.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 success, 1 drift (of pkex drift), 2 error, 130 Ctrl-C.",
)

_OUTPUT, _READING, _TEST = "Output", "Reading files", "Statistic and test"


def _option(
    *names: str,
    help: str,  # noqa: A002
    panel: str | None = None,
    metavar: str = "",
    min: int | None = None,  # noqa: A002
    callback: Callable[[Any], object] | None = None,
    is_eager: bool = False,
) -> Any:
    """Return an option; its default is shown where `metavar` tells that it takes something."""
    return typer.Option(
        *names,
        help=help,
        rich_help_panel=panel,
        metavar=metavar,
        min=min,
        callback=callback,
        is_eager=is_eager,
    )


Out = Annotated[
    Path | None,
    _option(
        "--out", "-o", metavar="DIR", panel=_OUTPUT, help="Directory for values, summary, report."
    ),
]
Force = Annotated[
    bool, _option("--force", panel=_OUTPUT, help="Replace the results that DIR holds.")
]
Format = Annotated[
    Literal["csv", "parquet"],
    _option("--format", panel=_OUTPUT, metavar="csv|parquet", help="Format of the file of values."),
]
Quiet = Annotated[bool, _option("--quiet", "-q", panel=_OUTPUT, help="Print nothing but errors.")]
Json = Annotated[
    bool, _option("--json", panel=_OUTPUT, help="Print the summary as JSON, and nothing else.")
]
DropMissing = Annotated[
    bool, _option("--drop-missing", panel=_READING, help="Leave out rows with missing values.")
]
Categorical = Annotated[
    str | None,
    _option(
        "--categorical",
        metavar="NAMES",
        panel=_READING,
        help="Columns to take as categories although they hold numbers or dates, e.g. zip,year.",
    ),
]
Delimiter = Annotated[
    str | None,
    _option(
        "--delimiter",
        metavar="CHAR",
        panel=_READING,
        help="Of CSV; by default found in its first line.",
    ),
]
Decimal = Annotated[
    str, _option("--decimal", metavar="CHAR", panel=_READING, help="Decimal point of CSV.")
]
Encoding = Annotated[str, _option("--encoding", metavar="NAME", panel=_READING, help="Of CSV.")]
Groups = Annotated[
    Path | None,
    _option(
        "--groups",
        metavar="FILE",
        help='Columns that act as one: JSON {"group": ["column", ...]}, or CSV with the columns '
        "column and group.",
    ),
]


def _jobs(count: int) -> int:
    if count == 0:
        raise ValueError("--jobs must not be 0: give a number of threads, or -1 for all cores.")
    return count


Interactions = Annotated[
    bool,
    _option("--interactions", help="Also tell which features act together: the pairs' values."),
]
Jobs = Annotated[
    int, _option("--jobs", metavar="N", callback=_jobs, help="Threads; -1 means all cores.")
]
Columns = Annotated[
    str | None,
    _option("--columns", metavar="NAMES", help="Columns to use, e.g. age,bmi."),
]
Kernel = Annotated[
    Literal["median", "median-per-column"],
    _option(
        "--kernel",
        metavar="NAME",
        panel=_TEST,
        help="Length scales of the Gaussian kernel: the median distance in each column, or with "
        "median one for all, for columns in the same unit.",
    ),
]
TestRemoval = Annotated[
    Literal["marginal", "neutral"],
    _option(
        "--removal",
        metavar="NAME",
        panel=_TEST,
        help="What an absent column is: averaged out, or with neutral the paper's factor 1.",
    ),
]
Estimator = Annotated[
    Literal["unbiased", "biased"],
    _option("--estimator", metavar="NAME", panel=_TEST, help="Of the statistic."),
]
Permutations = Annotated[
    int,
    _option("--permutations", metavar="N", min=0, panel=_TEST, help="Of the test."),
]
BlockSize = Annotated[
    int | None,
    _option(
        "--block-size",
        metavar="ROWS",
        panel=_TEST,
        help="Average over random blocks of this many rows, of all rows of a long table.",
    ),
]
Sample = Annotated[
    str | None,
    _option(
        "--sample",
        metavar="ROWS|all",
        panel=_TEST,
        help="Rows of a table to take at most, drawn evenly; 10000 by default, all with "
        "--block-size.",
    ),
]
Seed = Annotated[
    int,
    _option("--seed", metavar="N", min=0, panel=_TEST, help="Of permutations, blocks and samples."),
]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"pkex {pkex.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[  # done by its callback
        bool, _option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command(cls=_Command)
def explain(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model file: skops; joblib with --trust.")
    ],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Rows to explain: CSV or Parquet.")],
    background: Annotated[
        Path | None,
        _option(
            "--background",
            metavar="FILE",
            help="Rows that absent features take their values from, as in shap; by default they "
            "are averaged over the model's own data.",
        ),
    ] = None,
    background_rows: Annotated[
        str | None, _option("--background-rows", metavar="ROWS", help="Which of them, e.g. 0:100.")
    ] = None,
    removal: Annotated[
        Literal["marginal", "interventional", "neutral"] | None,
        _option(
            "--removal",
            metavar="NAME",
            help="Meaning of an absent feature: marginal (averaged over the model's own data, the "
            "default, or over the background), interventional (as in shap, the default with a "
            "background) or neutral (the paper's).",
        ),
    ] = None,
    rows: Annotated[
        str | None,
        _option("--rows", metavar="ROWS", help="Rows to explain, counted from 0, e.g. 0:10,15."),
    ] = None,
    columns: Annotated[
        str | None,
        _option(
            "--columns",
            metavar="NAMES",
            help="Columns in the order of the model, if it was fitted without names.",
        ),
    ] = None,
    groups: Groups = None,
    outputs: Annotated[
        Literal["classes", "pairs", "log-odds"] | None,
        _option(
            "--outputs",
            metavar="classes|pairs|log-odds",
            help="Of an SVC with three classes or more: one for each class (the default), or one "
            "for each pair of classes. Of a classifier with probabilities: their log-odds.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        _option("--output", metavar="NAME", help="One output of several, by name or number."),
    ] = None,
    row_id: Annotated[
        str | None,
        _option(
            "--id",
            metavar="COLUMN",
            help="Column of DATA that names its rows; it is kept out of the model.",
        ),
    ] = None,
    tol: Annotated[
        float | None,
        _option("--tol", metavar="ERROR", help="Accepted relative error, for speed."),
    ] = None,
    interactions: Interactions = False,
    jobs: Jobs = -1,
    trust: Annotated[
        bool, _option("--trust", help="Read any model file, also pickles: they may run any code.")
    ] = False,
    trust_type: Annotated[
        list[str] | None,
        _option("--trust-type", metavar="TYPE", help="A type that a skops file may hold."),
    ] = None,
    drop_missing: DropMissing = False,
    keep_missing: Annotated[
        bool,
        _option("--keep-missing", panel=_READING, help="Leave missing values to the model."),
    ] = False,
    categorical: Categorical = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    out: Out = None,
    table_format: Format = "csv",
    force: Force = False,
    resume: Annotated[
        bool,
        _option("--resume", panel=_OUTPUT, help="Go on with a long table that was interrupted."),
    ] = False,
    part_rows: Annotated[
        int | None,
        _option(
            "--part-rows",
            metavar="N",
            min=1,
            panel=_OUTPUT,
            help="Rows that a long table is read and explained by.",
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Explain a model's predictions: what each feature adds to each of them.

    pkex explain model.skops patients.csv --background train.csv --out explained
    """
    from pkex.cli._explain import Request
    from pkex.cli._explain import explain as work
    from pkex.cli._session import Session
    from pkex.cli._tables import split_names
    from pkex.tables.files import Dialect

    request = Request(
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
        trust=trust,
        trusted_types=tuple(trust_type or ()),
        resume=resume,
        part_rows=part_rows,
        interactions=interactions,
    )
    return work(
        request,
        Dialect(
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
            categorical=split_names(categorical),
        ),
        Session(out=out, force=force, table_format=table_format, quiet=quiet, as_json=as_json),
    )


@app.command(cls=_Command)
def drift(
    reference: Annotated[
        Path, typer.Argument(metavar="REFERENCE", help="Table as it was: CSV or Parquet.")
    ],
    current: Annotated[Path, typer.Argument(metavar="CURRENT", help="Table as it is now.")],
    columns: Columns = None,
    groups: Groups = None,
    interactions: Interactions = False,
    jobs: Jobs = -1,
    alpha: Annotated[
        float,
        _option("--alpha", metavar="LEVEL", panel=_TEST, help="Level of the test."),
    ] = 0.05,
    permutations: Permutations = 999,
    kernel: Kernel = "median-per-column",
    removal: TestRemoval = "marginal",
    estimator: Estimator = "unbiased",
    block_size: BlockSize = None,
    sample: Sample = None,
    seed: Seed = 0,
    drop_missing: DropMissing = False,
    categorical: Categorical = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    out: Out = None,
    table_format: Format = "csv",
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Tell whether two tables differ, and which columns make the difference (MMD).

    The exit code is 0 without drift, 1 with drift, 2 after an error.

    pkex drift january.parquet february.parquet --alpha 0.01 --out drifted
    """
    from pkex.cli._session import Session
    from pkex.cli._statistics import Test
    from pkex.cli._statistics import drift as work
    from pkex.cli._tables import split_names
    from pkex.tables.files import Dialect

    return work(
        reference,
        current,
        alpha,
        Test(
            columns=split_names(columns),
            groups=groups,
            kernel=kernel,
            removal=removal,
            estimator=estimator,
            permutations=permutations,
            block_size=block_size,
            seed=seed,
            n_jobs=jobs,
            drop_missing=drop_missing,
            sample=sample,
            interactions=interactions,
        ),
        Dialect(
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
            categorical=split_names(categorical),
        ),
        Session(out=out, force=force, table_format=table_format, quiet=quiet, as_json=as_json),
    )


@app.command(cls=_Command)
def depend(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Table: CSV or Parquet.")],
    target: Annotated[str, _option("--target", metavar="COLUMN", help="What may depend on them.")],
    top: Annotated[
        str | None,
        _option("--top", metavar="COUNT", help="How many columns to select: 20% or 5."),
    ] = None,
    columns: Columns = None,
    groups: Groups = None,
    interactions: Interactions = False,
    jobs: Jobs = -1,
    permutations: Permutations = 999,
    kernel: Kernel = "median-per-column",
    removal: TestRemoval = "marginal",
    estimator: Estimator = "unbiased",
    block_size: BlockSize = None,
    sample: Sample = None,
    seed: Seed = 0,
    drop_missing: DropMissing = False,
    categorical: Categorical = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    out: Out = None,
    table_format: Format = "csv",
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Rank the columns of a table by how much a target depends on them (HSIC).

    pkex depend patients.csv --target progression --top 20% --out ranked
    """
    from pkex.cli._session import Session
    from pkex.cli._statistics import Test
    from pkex.cli._statistics import depend as work
    from pkex.cli._tables import split_names
    from pkex.tables.files import Dialect

    return work(
        data,
        target,
        top,
        Test(
            columns=split_names(columns),
            groups=groups,
            kernel=kernel,
            removal=removal,
            estimator=estimator,
            permutations=permutations,
            block_size=block_size,
            seed=seed,
            n_jobs=jobs,
            drop_missing=drop_missing,
            sample=sample,
            interactions=interactions,
        ),
        Dialect(
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
            categorical=split_names(categorical),
        ),
        Session(out=out, force=force, table_format=table_format, quiet=quiet, as_json=as_json),
    )


@app.command(cls=_Command)
def sensitivity(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model file: skops; joblib with --trust.")
    ],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE", help="Rows whose columns the inputs range over: CSV or Parquet."
        ),
    ],
    order: Annotated[
        int, _option("--order", metavar="1|2", help="2 to have all pairs of inputs as well.")
    ] = 1,
    columns: Annotated[
        str | None,
        _option(
            "--columns",
            metavar="NAMES",
            help="Columns in the order of the model, if it was fitted without names.",
        ),
    ] = None,
    groups: Groups = None,
    outputs: Annotated[
        Literal["classes", "pairs"] | None,
        _option(
            "--outputs",
            metavar="classes|pairs",
            help="Of an SVC with three classes or more: one for each class (the default), or one "
            "for each pair of classes.",
        ),
    ] = None,
    jobs: Jobs = -1,
    trust: Annotated[
        bool, _option("--trust", help="Read any model file, also pickles: they may run any code.")
    ] = False,
    trust_type: Annotated[
        list[str] | None,
        _option("--trust-type", metavar="TYPE", help="A type that a skops file may hold."),
    ] = None,
    drop_missing: DropMissing = False,
    categorical: Categorical = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    out: Out = None,
    table_format: Format = "csv",
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Tell which inputs drive a model's output over their range (Sobol indices, Shapley effects).

    The columns of the table are taken as independent of each other.

    pkex sensitivity model.skops patients.csv --order 2 --out driven
    """
    from pkex.cli._sensitivity import Request
    from pkex.cli._sensitivity import sensitivity as work
    from pkex.cli._session import Session
    from pkex.cli._tables import split_names
    from pkex.tables.files import Dialect

    request = Request(
        model=model,
        data=data,
        order=order,
        columns=split_names(columns),
        groups=groups,
        outputs=outputs,
        n_jobs=jobs,
        drop_missing=drop_missing,
        trust=trust,
        trusted_types=tuple(trust_type or ()),
    )
    return work(
        request,
        Dialect(
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
            categorical=split_names(categorical),
        ),
        Session(out=out, force=force, table_format=table_format, quiet=quiet, as_json=as_json),
    )


@app.command(cls=_Command)
def demo(out: Out = None, force: Force = False) -> int:
    """Explain a model of scikit-learn's diabetes data, and write files to try the others on."""
    from pkex.cli._demo import demo as work

    return work(out, force)


@app.command(cls=_Command)
def config(as_json: Json = False) -> int:
    """Print how pkex was built and what it runs on."""
    from pkex.cli._config import config as work

    return work(as_json)


def run(args: Sequence[str]) -> int:
    """Run a command; whatever it raises becomes a sentence and an exit code."""
    try:
        code = app(list(args) or ["--help"], prog_name="pkex", standalone_mode=False)
    except typer.Abort:  # typer's word for Ctrl-C, in older versions
        code = 130
    except Exception as error:
        if os.environ.get("PKEX_DEBUG"):
            raise
        print(wrapped(f"Error: {_sentence(error)}", sys.stderr), file=sys.stderr)
        return 2
    if code == 130:
        raise KeyboardInterrupt
    return code or 0


def _sentence(error: Exception) -> str:
    """Return what happened, in one line."""
    if hasattr(error, "format_message"):  # of typer: a command or an option that is wrong
        text = f"{error.format_message().rstrip('.')}; see pkex --help."
    elif isinstance(error, OSError) and error.filename and error.strerror:
        text = f"{error.filename}: {error.strerror}."
    elif isinstance(error, MemoryError):
        text = "there is not enough memory; take fewer rows."
    else:
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return printable(" ".join(text.split()) or type(error).__name__)
