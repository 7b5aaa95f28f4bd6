"""What every command does with its result: a table, JSON, and a directory of files."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pkex._util.terminal import printable, put, wrapped
from pkex._util.words import counted, listed
from pkex.cli import _folder
from pkex.cli._column_notes import about_line_breaks
from pkex.cli._summary import Summary, document
from pkex.output.terminal import show
from pkex.tables.files import FileTable

__all__ = ["Session", "caught_warnings", "described"]


@dataclass
class Session:
    """One run of a command: where its results go, in which format, and how much it says.

    That the directory can be written is checked at once, before long work.
    """

    out: Path | None = None
    force: bool = False
    table_format: str = "csv"
    quiet: bool = False
    as_json: bool = False
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.out is not None:
            _folder.check(self.out, self.force)
            for name in _folder.unfinished(self.out):
                self.say(
                    f"{self.out} holds {name}, from a run of pkex that is not done or was killed; "
                    "it is left there: delete it if none is running."
                )

    @property
    def progress(self) -> bool:
        """Whether to show a progress bar."""
        return not (self.quiet or self.as_json) and sys.stderr.isatty()

    def note(self, text: str) -> None:
        """Say something about what is done, on stderr, and keep it for the summary."""
        if text not in self.notes:
            self.notes.append(text)
            self.say(text)

    def say(self, text: str) -> None:
        """Say something about this run alone, on stderr: the summary is that of any like it."""
        if not (self.quiet or self.as_json):
            print(wrapped(printable(text), sys.stderr), file=sys.stderr)

    def note_all(self, notes: Iterable[str]) -> None:
        """Say several things."""
        for text in notes:
            self.note(text)

    @contextmanager
    def noting_warnings(self) -> Iterator[None]:
        """Turn warnings of the libraries into notes."""
        with caught_warnings() as notes:
            yield
        self.note_all(notes)

    def describe(self, table: FileTable) -> None:
        """Say what is used of a table, and as what."""
        count = len(table.frame)
        share = f"{count} of " * (count < table.total)
        rows = f"{share}{counted(table.total, 'row')}"
        if table.dropped:
            rows += f" ({table.dropped} dropped for missing values)"
        levels = {name: table.frame[name].nunique() for name in table.of_kind("categorical")}
        self.note(described(table.path, rows, table.of_kind("numeric"), levels, table.ignored))
        self.note_all(about_line_breaks(table))

    def finish(
        self,
        summary: Summary,
        values: Any,
        grid: Sequence[Any],
        write_report: Callable[[Path], None],
        write_more: Callable[[Path], Sequence[str]] | None = None,
    ) -> None:
        """Write the files, then print the table or the summary.

        Parameters
        ----------
        summary : typed dictionary
            See `pkex.cli._summary`.
        values : pandas.DataFrame
            What goes into the file of values.
        grid : sequence of what rich prints
        write_report : callable
            Writes the report to a path.
        write_more : callable, optional
            Writes further files to a folder and returns their names.
        """
        text, more = document(summary), list[str]()
        if self.out is not None:
            with _folder.whole(self.out, self.force) as folder:
                if self.table_format == "parquet":
                    values.to_parquet(folder / "values.parquet", index=False)
                else:
                    values.to_csv(folder / "values.csv", index=False)
                (folder / "summary.json").write_text(text + "\n", encoding="utf-8")
                write_report(folder / "report.html")
                more += [] if write_more is None else write_more(folder)
        if self.as_json:
            put(text)
        elif not self.quiet:
            show(*grid)
            if self.out is not None:
                names = [f"values.{self.table_format}", "summary.json", *more]
                said = f"Wrote {', '.join(names)} and report.html to {self.out}"
                put(wrapped(said, sys.stdout))


@contextmanager
def caught_warnings() -> Iterator[list[str]]:
    """Catch the warnings of the libraries; afterwards the list has them as notes."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    for warning in caught:
        if not issubclass(warning.category, DeprecationWarning | FutureWarning):
            notes.append(f"Warning: {' '.join(str(warning.message).split())}")


def described(
    path: Path,
    rows: str,
    numeric: Sequence[str],
    levels: Mapping[str, int | None],
    ignored: Sequence[str],
) -> str:
    """Return what is used of a table; `levels` are the categorical columns, None for very many."""
    parts = [f"{path}: {rows}"]
    if numeric:
        parts.append(f"numeric: {listed(numeric)}")
    if levels:
        told = [
            f"{name} ({'very many values' if count is None else counted(count, 'value')})"
            for name, count in levels.items()
        ]
        parts.append(f"categorical: {listed(told)}")
    if ignored:
        parts.append(f"ignored: {listed(ignored)}")
    return "; ".join(parts) + "."
