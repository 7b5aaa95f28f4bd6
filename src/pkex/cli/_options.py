"""Options that several commands have, and bundles of them.

A command that has a parameter `reading: ReadOptions` has all options of that bundle, in its place;
see `expanded`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

if TYPE_CHECKING:
    from pkex.cli._session import Session
    from pkex.tables.files import Dialect

__all__ = [
    "OUTPUT",
    "READING",
    "DropMissing",
    "Force",
    "Groups",
    "Interactions",
    "Jobs",
    "Json",
    "Out",
    "Output",
    "ReadOptions",
    "expanded",
    "option",
]

OUTPUT, READING = "Output", "Reading files"  # panels of the help


def option(
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


def _jobs(count: int) -> int:
    if count == 0:
        raise ValueError("--jobs must not be 0: give a number of threads, or -1 for all cores.")
    return count


Groups = Annotated[
    Path | None,
    option(
        "--groups",
        metavar="FILE",
        help='Columns that act as one: JSON {"group": ["column", ...]}, or CSV with the columns '
        "column and group.",
    ),
]
Interactions = Annotated[
    bool,
    option("--interactions", help="Also tell which features act together: the pairs' values."),
]
Jobs = Annotated[
    int, option("--jobs", metavar="N", callback=_jobs, help="Threads; -1 means all cores.")
]
DropMissing = Annotated[
    bool, option("--drop-missing", panel=READING, help="Leave out rows with missing values.")
]
Categorical = Annotated[
    str | None,
    option(
        "--categorical",
        metavar="NAMES",
        panel=READING,
        help="Columns to take as categories although they hold numbers or dates, e.g. zip,year.",
    ),
]
Delimiter = Annotated[
    str | None,
    option(
        "--delimiter",
        metavar="CHAR",
        panel=READING,
        help="Of CSV; by default found in its first line.",
    ),
]
Decimal = Annotated[
    str, option("--decimal", metavar="CHAR", panel=READING, help="Decimal point of CSV.")
]
Encoding = Annotated[str, option("--encoding", metavar="NAME", panel=READING, help="Of CSV.")]
Out = Annotated[
    Path | None,
    option(
        "--out", "-o", metavar="DIR", panel=OUTPUT, help="Directory for values, summary, report."
    ),
]
Format = Annotated[
    Literal["csv", "parquet"],
    option("--format", panel=OUTPUT, metavar="csv|parquet", help="Format of the file of values."),
]
Force = Annotated[bool, option("--force", panel=OUTPUT, help="Replace the results that DIR holds.")]
Quiet = Annotated[bool, option("--quiet", "-q", panel=OUTPUT, help="Print nothing but errors.")]
Json = Annotated[
    bool, option("--json", panel=OUTPUT, help="Print the summary as JSON, and nothing else.")
]


@dataclass(frozen=True)
class ReadOptions:
    """How files are read."""

    categorical: Categorical = None
    delimiter: Delimiter = None
    decimal: Decimal = "."
    encoding: Encoding = "utf-8"

    def dialect(self) -> Dialect:
        """Return what the modules that read files take."""
        from pkex.cli._tables import split_names
        from pkex.tables.files import Dialect

        return Dialect(
            delimiter=self.delimiter,
            decimal=self.decimal,
            encoding=self.encoding,
            categorical=split_names(self.categorical),
        )


@dataclass(frozen=True)
class Output:
    """Where results go, and how much is said."""

    out: Out = None
    table_format: Format = "csv"
    force: Force = False
    quiet: Quiet = False
    as_json: Json = False

    def session(self) -> Session:
        """Return the run of the command."""
        from pkex.cli._session import Session

        return Session(
            out=self.out,
            force=self.force,
            table_format=self.table_format,
            quiet=self.quiet,
            as_json=self.as_json,
        )


def expanded(command: Callable[..., int]) -> Callable[..., int]:
    """Return a command in whose signature bundles are replaced by their options, for typer.

    Examples
    --------
    >>> def count(path: str, output: Output) -> int:
    ...     return len(path) if output.quiet else -1
    >>> flat = expanded(count)
    >>> list(inspect.signature(flat).parameters)
    ['path', 'out', 'table_format', 'force', 'quiet', 'as_json']
    >>> flat(path="a", out=None, table_format="csv", force=False, quiet=True, as_json=False)
    1
    """
    types = get_type_hints(command, include_extras=True)
    bundles: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        kind = types[name]
        if not is_dataclass(kind):
            parameters.append(_keyword(name, parameter.default, kind))
            continue
        bundles[name] = kind
        own = get_type_hints(kind, include_extras=True)
        parameters += [_keyword(f.name, f.default, own[f.name]) for f in fields(kind)]

    @wraps(command)
    def flat(**given: Any) -> int:
        for name, kind in bundles.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        return command(**given)

    vars(flat)["__signature__"] = inspect.Signature(parameters)
    flat.__annotations__ = {one.name: one.annotation for one in parameters}
    return flat


def _keyword(name: str, default: Any, kind: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
