"""``pkex explain`` for a table of any length: read in chunks, explained part by part.

What is said of all rows is added up: means and their errors by running sums, with the update of
Chan, Golub and LeVeque (1983); ``centred``, the mean distance from the mean, in the pass that joins
the parts. The pictures of the report have a sample of the rows, drawn before the first is read.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pkex
from pkex._util.progress import row_bar
from pkex._util.words import class_name, counted
from pkex.cli import _tables
from pkex.cli._column_notes import about_line_breaks
from pkex.cli._explain import KEEP, Work
from pkex.cli._explain_result import result_facts, values_frame
from pkex.cli._part_pairs import PartPairs
from pkex.cli._parts import JoinedValues, Parts, cannot_write, digest, parts_of
from pkex.cli._session import caught_warnings, described
from pkex.cli._summary import (
    FORMAT,
    VERSION,
    ExplainInputs,
    ExplainSummary,
    TableFacts,
    table_facts,
)
from pkex.games.backend import game_class
from pkex.output.report._explanation import MAX_ROWS
from pkex.results.totals import Totals, class_counts, count_apart
from pkex.tables.files import FileTable
from pkex.tables.streams import FileStream

__all__ = ["explain", "is_long"]

_CELLS = 2**18  # values of a part
_LEAST = 256  # rows of a part
# what a result does not depend on, or is known by the content of files
_FREE = {"model", "data", "background", "groups", "n_jobs", "trust", "trusted_types", "resume"}
_NOT_KEPT = (
    "nothing was left: free space, or name another folder in TMPDIR. With --out DIR parts are "
    "kept, and --resume goes on after them."
)


def is_long(stream: FileStream, work: Work) -> bool:
    """Tell whether there are more rows to explain than one part has."""
    rows = work.request.rows
    count = stream.total if rows is None else len(_tables.row_numbers(stream, rows))
    return count > (work.request.part_rows or _part_rows(_header(stream, work), work))


def explain(stream: FileStream, work: Work) -> int:
    """Explain the rows of a long table, write and print the result, and return the exit code."""
    request, session = work.request, work.session
    header = _header(stream, work)
    if not (request.drop_missing or request.keep_missing):
        missing = {name: stream.missing[name] for name in header.names}
        _tables.refuse_missing(stream.path, stream.total, missing, KEEP)
    chosen = _chosen(stream, request.rows)
    count = stream.total if chosen is None else int(chosen.sum())
    rows = f"{count} of " * (count < stream.total) + counted(stream.total, "row")
    levels = {name: stream.levels[name] for name in header.of_kind("categorical")}
    session.note(described(stream.path, rows, header.of_kind("numeric"), levels, header.ignored))
    session.note_all(about_line_breaks(stream))
    with session.noting_warnings():
        work.explainer(header)  # also where all parts are done: it knows the background
    size = request.part_rows or _part_rows(header, work)
    drawn = _drawn(stream, chosen)
    with _opened(work, size) as parts:
        numbers = range(-(-stream.total // size))
        done = sum(parts.is_done(number) for number in numbers)
        if done:
            session.say(f"{done} of {len(numbers)} parts were done before.")
        elif session.out is not None:
            session.say(f"Parts go to {parts.folder}; after an interruption, add --resume.")
        for number, chunk in _chunks(stream, size, parts, session.progress):
            if chosen is not None:
                chunk = replace(chunk, frame=chunk.frame[chosen[chunk.frame.index]])
            _explain_part(parts, number, chunk, drawn, work)
        _finish(parts, numbers, header, work)
        parts.delete()
    return 0


def _header(stream: FileStream, work: Work) -> FileTable:
    """Return the table that the model is given, without rows."""
    import pandas

    frame = pandas.DataFrame(columns=list(stream.names))
    table = FileTable(stream.path, frame, stream.kinds, stream.total, stream.ignored)
    return work.ready(table)[0]


def _part_rows(header: FileTable, work: Work) -> int:
    """Return how many rows a part has, so that its values take little memory."""
    n_outputs = work.explainer(header).expansion.n_outputs
    return max(_LEAST, _CELLS // (max(1, len(header.names)) * n_outputs))


def _chosen(stream: FileStream, rows: str | None) -> NDArray[np.bool_] | None:
    """Return which rows of the file are to be explained; None for all."""
    if rows is None:
        return None
    numbers = np.array(_tables.row_numbers(stream, rows))
    if (np.diff(numbers) < 0).any():
        raise ValueError(
            f"--rows {rows} names {len(numbers)} rows, so many that they are read in the order of "
            "the file: name them in that order."
        )
    chosen = np.zeros(stream.total, dtype=bool)
    chosen[numbers] = True
    return chosen


def _drawn(stream: FileStream, chosen: NDArray[np.bool_] | None) -> NDArray[np.intp]:
    """Return the numbers of the rows that pictures show, drawn evenly."""
    rows = np.arange(stream.total) if chosen is None else np.flatnonzero(chosen)
    rng = np.random.default_rng(0)
    return np.sort(rng.choice(rows, min(MAX_ROWS, len(rows)), replace=False))


@contextmanager
def _opened(work: Work, size: int) -> Iterator[Parts]:
    """Open the folder of the parts; without a directory of results, one that is temporary."""
    request, out = work.request, work.session.out
    run: dict[str, Any] = {
        "version": pkex.__version__,
        "backend": game_class().__name__,
        "model": digest(request.model),
        "table": digest(request.data),
        "background": digest(request.background),
        "groups": digest(request.groups),
    }
    options = {name: value for name, value in asdict(request).items() if name not in _FREE}
    options |= asdict(work.dialect) | {"part_rows": size}
    run |= {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    if out is None:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "parts")
            with Parts.of(place, run, resume=False, force=False) as parts:
                try:
                    yield parts
                except OSError as error:
                    raise cannot_write(error, _NOT_KEPT) from error
        return
    with Parts.of(parts_of(out), run, resume=request.resume, force=work.session.force) as parts:
        try:
            yield parts
        except OSError as error:
            raise cannot_write(error, parts.kept()) from error


def _chunks(
    stream: FileStream, size: int, parts: Parts, progress: bool
) -> Iterator[tuple[int, FileTable]]:
    """Yield the chunks that are not done, with their numbers; a bar counts the rows."""
    done = sum(parts.is_done(number) for number in range(-(-stream.total // size)))
    initial = min(stream.total, done * size)
    with row_bar(stream.total, initial=initial, unit_scale=True, disable=not progress) as bar:
        for number, chunk in enumerate(stream.chunks(size)):
            if not parts.is_done(number):
                yield number, chunk
                bar.update(len(chunk.frame))


def _explain_part(
    parts: Parts, number: int, chunk: FileTable, drawn: NDArray[np.intp], work: Work
) -> None:
    """Explain the rows of a chunk, and write them as a part."""
    import pandas

    table, labels = work.ready(chunk)
    if not work.request.keep_missing:  # refused before, unless they are to be dropped
        bad = table.frame.isna().any(axis=1)
        table = replace(table, frame=table.frame[~bad], dropped=int(bad.sum()))
    if not len(table.frame):
        parts.write(number, pandas.DataFrame(), asdict(_PartFacts(dropped=table.dropped)), None)
        return
    rows, pairs = table.frame.index.to_numpy(), None
    with caught_warnings() as notes:
        explanation = work.explained(table, labels)
        if work.request.interactions:
            pairs = PartPairs.of(work, table, explanation, drawn)
    inside = np.flatnonzero(np.isin(rows, drawn))
    facts = replace(_PartFacts.of(explanation, table.dropped, len(inside)), notes=notes)
    # at least one row, for what it knows of the part besides its values
    sample = explanation[inside if inside.size else [0]]
    parts.write(number, values_frame(explanation, rows), asdict(facts), sample, pairs)


@dataclass(frozen=True, eq=False)
class _PartFacts:
    """The sums of a part, or of several.

    Attributes
    ----------
    rows, dropped, drawn : int
        Rows that were explained, that were left out, and that pictures show.
    sizes, squares : nested lists of shape (n_players[, n_outputs])
        Means of the absolute values, and sums of squared distances from these means.
    means : nested list of the same shape
        Means of the values.
    error : float
    predicted : dict of str to int, or None
    apart : int
    notes : list of str
        Warnings.
    """

    rows: int = 0
    dropped: int = 0
    drawn: int = 0
    sizes: Any = 0.0
    squares: Any = 0.0
    means: Any = 0.0
    error: float = 0.0
    predicted: dict[str, int] | None = None
    apart: int = 0
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, explanation: pkex.Explanation, dropped: int, drawn: int) -> _PartFacts:
        """Return the sums of a part."""
        sizes = np.abs(explanation.values)
        error = explanation.error
        return cls(
            len(explanation),
            dropped,
            drawn,
            sizes.mean(axis=0).tolist(),
            ((sizes - sizes.mean(axis=0)) ** 2).sum(axis=0).tolist(),
            explanation.values.mean(axis=0).tolist(),
            0.0 if error is None else float(error.max(initial=0.0)),
            class_counts(explanation),
            count_apart(explanation),
        )

    def plus(self, other: _PartFacts) -> _PartFacts:
        """Return the sums of both: with means m, n over a, b rows and c = a + b, the mean is
        m + (n - m) b / c, and the squares gain (n - m)^2 a b / c.
        """
        rows = self.rows + other.rows
        share = other.rows / max(1, rows)
        gap = np.subtract(other.sizes, self.sizes)
        counts = self.predicted
        if other.predicted is not None:
            names = dict.fromkeys((*(counts or ()), *other.predicted))
            counts = {n: (counts or {}).get(n, 0) + other.predicted.get(n, 0) for n in names}
        return _PartFacts(
            rows,
            self.dropped + other.dropped,
            self.drawn + other.drawn,
            np.add(self.sizes, gap * share),
            np.add(self.squares, other.squares) + gap**2 * self.rows * share,
            np.add(self.means, np.subtract(other.means, self.means) * share),
            max(self.error, other.error),
            counts,
            self.apart + other.apart,
            self.notes + other.notes,
        )


def _finish(parts: Parts, numbers: Sequence[int], header: FileTable, work: Work) -> None:
    """Put the parts together, write and print the result."""
    session, request = work.session, work.request
    facts = {number: _PartFacts(**parts.facts(number)) for number in numbers}
    filled = [number for number in numbers if facts[number].rows]
    if not filled:
        raise ValueError(f"every row of {header.path} has missing values, so none is left.")
    total = _PartFacts()
    for number in numbers:
        total = total.plus(facts[number])
    session.note_all(total.notes)
    if total.dropped:
        session.note(f"{counted(total.dropped, 'row')} dropped for missing values.")
    values = parts.joined(filled)
    shown = _shown(parts, filled, facts)
    totals = Totals(
        total.rows,
        _importance(total, values, shown),
        None if shown.error is None else total.error,
        total.predicted,
        total.apart,
    )
    together = None
    if request.interactions:
        pairs = PartPairs.joined(map(parts.pairs, filled))
        together, totals = pairs.sample, replace(totals, pairs=pairs.totals)
        if session.out is not None and len(together) < total.rows:
            session.note(
                f"interactions.npz has the pairs of {counted(len(together), 'row')}, drawn evenly; "
                f"interactions.{session.table_format} has the means over all {total.rows}."
            )
    background = work.background
    summary = ExplainSummary(
        format=FORMAT,
        version=VERSION,
        pkex=pkex.__version__,
        command="explain",
        inputs=ExplainInputs(
            model={"path": str(request.model), "class": class_name(work.model)},
            data=TableFacts(
                path=str(header.path),
                rows=total.rows,
                rows_in_file=header.total,
                rows_dropped=total.dropped,
                columns={name: header.kinds[name] for name in header.names},
                ignored=list(header.ignored),
            ),
            background=None if background is None else table_facts(background),
        ),
        result=result_facts(shown, totals),
        notes=session.notes,
    )
    work.finish(summary, values, shown, totals, together)


def _shown(parts: Parts, filled: Sequence[int], facts: dict[int, _PartFacts]) -> pkex.Explanation:
    """Return the explanation of the rows that pictures show, with what is known of all parts."""
    found = [sample for sample in map(parts.sample, filled) if sample is not None]
    whole = pkex.Explanation.concat(found)
    drawn = [
        np.full(len(sample), facts[number].drawn > 0)
        for number, sample in zip(filled, found, strict=True)
    ]
    rows = np.concatenate(drawn)
    return whole[np.flatnonzero(rows) if rows.any() else [0]]


def _importance(
    total: _PartFacts, values: JoinedValues, shown: pkex.Explanation
) -> pkex.Importance:
    """Return the importance over all rows; the parts are gone through for the centred means."""
    shape = shown.values.shape[1:]
    means = np.reshape(total.means, (shape[0], -1))
    gaps = np.zeros_like(means)
    for array in values.arrays(shown.feature_names, means.shape[1]):
        gaps += np.abs(array - means).sum(axis=0)
    variance = np.divide(total.squares, max(1, total.rows - 1))
    errors = np.sqrt(variance / total.rows) if total.rows > 1 else np.full(shape, np.nan)
    centred = (gaps / total.rows).reshape(shape)
    sizes = np.asarray(total.sizes)
    return pkex.Importance(shown.about, sizes, errors, centred, total.rows)
