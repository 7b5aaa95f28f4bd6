"""What every command does with its result: a table, JSON, and a directory of files."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from logging import INFO, WARNING
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pkex
from pkex._util.terminal import print_text, wrap_lines
from pkex.cli import _folder
from pkex.cli._log import LOGGER, follow
from pkex.cli._options import Output
from pkex.cli._summary import FORMAT, VERSION, document
from pkex.output.terminal import show
from pkex.tables.column_notes import describe_table, note_line_breaks
from pkex.tables.files import FileTable

__all__ = ["Addition", "Session", "catch_warnings"]


class Addition(Protocol):
    """What an option such as ``--interactions`` adds to a command, under its name.

    It has a table in the terminal, two files, an entry of the summary and a place in the report.
    """

    name: ClassVar[str]

    @property
    def result(self) -> Any:
        """What the report shows and a file keeps."""

    def facts(self) -> Mapping[str, Any]:
        """Return the entry of the summary."""

    def grid(self) -> list[Any]:
        """Return the table for the terminal."""

    def frame(self) -> Any:
        """Return the lines of its file of values."""


@dataclass(frozen=True)
class Session(Output):
    """One run of a command: where its results go, in which format, and how much it prints.

    That the directory can be written is checked at once, before long work.
    """

    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        follow(self.talks, self.log)
        if self.out is not None:
            _folder.check(self.out, self.force)
            for name in _folder.unfinished_runs(self.out):
                self.say(
                    f"{self.out} holds {name}, of a run of pkex that is unfinished or was killed. "
                    "Delete it if no run is active."
                )

    @property
    def talks(self) -> bool:
        """Whether people read what is printed."""
        return not (self.quiet or self.as_json)

    @property
    def progress(self) -> bool:
        """Whether to show a progress bar."""
        return self.talks and sys.stderr.isatty()

    def note(self, *texts: str) -> None:
        """Say something about what is done, on stderr, and keep it for the summary."""
        for text in texts:
            if text not in self.notes:
                self.notes.append(text)
                self.say(text, WARNING if text.startswith("Warning: ") else INFO)

    def say(self, text: str, level: int = INFO) -> None:
        """Say something about this run only, on stderr: the summary is that of any like it."""
        LOGGER.log(level, "%s", text)

    def log_result(self, text: str, alarm: bool) -> None:
        """Log the result; on stderr it would say again what stands on stdout."""
        LOGGER.log(WARNING if alarm else INFO, "%s", text, extra={"result": True})

    @contextmanager
    def noting_warnings(self) -> Iterator[None]:
        """Turn warnings of the libraries into notes."""
        with catch_warnings() as notes:
            yield
        self.note(*notes)

    def describe(self, table: FileTable, **counts: Any) -> None:
        """Note what a table holds; see `pkex.tables.column_notes.describe_table`."""
        self.note(describe_table(table, **counts), *note_line_breaks(table))

    def finish(
        self,
        command: str,
        inputs: Mapping[str, Any],
        facts: Mapping[str, Any],
        values: Any,
        grid: Sequence[Any],
        result: Any,
        additions: Sequence[Addition] = (),
        **report: Any,
    ) -> None:
        """Write the files, then print the table or the summary.

        Parameters
        ----------
        command : str
        inputs, facts : typed dictionaries
            Of the summary; see `pkex.cli._summary`.
        values : pandas.DataFrame
            What goes into the file of values.
        grid : sequence of what rich prints
        result : Explanation, Attribution or Sensitivity
            What the report shows; `report` has options of `pkex.output.report.write`.
        additions : sequence of Addition
            What else is asked for.
        """
        facts, grid = dict(facts), list(grid)
        for added in additions:
            facts[added.name] = added.facts()
            grid += added.grid()
            report[added.name] = added.result
        head = {"format": FORMAT, "version": VERSION, "pkex": pkex.__version__, "command": command}
        text = document({**head, "inputs": inputs, "result": facts, "notes": self.notes})
        names = [f"values.{self.table_format}", "summary.json"]
        if self.out is not None:
            from pkex.output.report import write

            with _folder.stage_files(self.out, self.force) as folder:
                write_table(values, folder / names[0])
                (folder / names[1]).write_text(text + "\n", encoding="utf-8")
                write(result, folder / "report.html", **report)
                for added in additions:
                    names += [f"{added.name}.{self.table_format}", f"{added.name}.npz"]
                    write_table(added.frame(), folder / names[-2])
                    added.result.save(folder / names[-1])
        if self.as_json:
            print_text(text)
        elif not self.quiet:
            show(*grid)
            if self.out is not None:
                sentence = f"Wrote {', '.join(names)} and report.html to {self.out}"
                print_text(wrap_lines(sentence, sys.stdout))


def write_table(frame: Any, path: Path) -> None:
    """Write a frame in the format that the name of its file ends with."""
    write = frame.to_parquet if path.suffix == ".parquet" else frame.to_csv
    write(path, index=False)


@contextmanager
def catch_warnings() -> Iterator[list[str]]:
    """Catch the warnings of the libraries; afterwards the list has them as notes."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    for warning in caught:
        if not issubclass(warning.category, DeprecationWarning | FutureWarning):
            notes.append(f"Warning: {' '.join(str(warning.message).split())}")
