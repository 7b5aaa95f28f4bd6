"""``pkex explain`` for a table of any length: read in chunks, explained part by part.

What is said of all rows is added up: means and their errors by running sums, with the update of
Chan, Golub and LeVeque (1983); ``centred``, the mean distance from the mean, in the pass that joins
the parts. The plots of the report have a sample of the rows, drawn before the first is read.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray

import pkex
from pkex._util.progress import row_bar
from pkex._util.words import pluralise
from pkex.cli._explain_result import values_frame
from pkex.cli._input_facts import table_facts
from pkex.cli._options import PartOptions
from pkex.cli._pairs import Pairs
from pkex.cli._part_pairs import PartPairs
from pkex.cli._session import catch_warnings
from pkex.cli._table_explainer import KEEP, TableExplainer
from pkex.games.backend import game_class
from pkex.output.report._explanation import MAX_ROWS
from pkex.results.totals import Totals
from pkex.tables import selection
from pkex.tables.files import FileTable
from pkex.tables.groups import is_correlation
from pkex.tables.parts import JoinedValues, Parts, explain_write_error, find_parts, hash_file
from pkex.tables.streams import FileStream

__all__ = ["explain", "is_long"]

_CELLS = 2**18  # values of a part
_LEAST = 256  # rows of a part
# what a result does not depend on, or is known by the content of files
_FREE = {"model", "data", "background", "groups", "hierarchy", "n_jobs", "trust", "trust_type"}
_NOT_KEPT = (
    "nothing was left: free space, or name another folder in TMPDIR. With --out DIR parts are "
    "kept, and --resume continues after them."
)


def is_long(stream: FileStream, explainer: TableExplainer, options: PartOptions) -> bool:
    """Tell whether there are more rows to explain than one part has."""
    rows = explainer.options.rows
    count = stream.total if rows is None else len(selection.parse_row_numbers(stream, rows))
    header, _ = explainer.ready(stream.header())
    return count > (options.part_rows or _part_rows(header, explainer))


def explain(stream: FileStream, explainer: TableExplainer, options: PartOptions) -> int:
    """Explain the rows of a long table, write and print the result, and return the exit code."""
    asked, session = explainer.options, explainer.session
    header, _ = explainer.ready(stream.header())
    if asked.missing == "refuse":
        missing = {name: stream.missing[name] for name in header.names}
        rows = f"among its {pluralise(stream.total, 'row')}"
        selection.refuse_missing(stream.path, rows, missing, KEEP)
    chosen = selection.mask_rows(stream, asked.rows)
    chosen_rows = np.flatnonzero(chosen)
    session.describe(header, n_rows=len(chosen_rows), levels=stream.levels)
    with session.noting_warnings():
        explainer.explainer(header)  # also where all parts are done: it knows the background
    size = options.part_rows or _part_rows(header, explainer)
    n_drawn = min(MAX_ROWS, len(chosen_rows))  # rows that plots show
    drawn = np.sort(np.random.default_rng(0).choice(chosen_rows, n_drawn, replace=False))
    with _open_parts(explainer, size, options.resume) as parts:
        numbers = range(-(-stream.total // size))
        done = set(filter(parts.is_done, numbers))
        if done:
            session.say(f"{len(done)} of {len(numbers)} parts were done before.")
        elif session.out is not None:
            session.say(f"Parts go to {parts.folder}; after an interruption, add --resume.")
        initial = min(stream.total, len(done) * size)
        disable = not session.progress
        with row_bar(stream.total, initial=initial, unit_scale=True, disable=disable) as bar:
            for number, chunk in enumerate(stream.chunks(size)):
                if number in done:
                    continue
                part = replace(chunk, frame=chunk.frame[chosen[chunk.frame.index]])
                _explain_part(parts, number, part, drawn, explainer)
                bar.update(len(chunk.frame))
        _finish(parts, numbers, header, explainer)
        parts.delete()
    return 0


def _part_rows(header: FileTable, explainer: TableExplainer) -> int:
    """Return how many rows a part has, so that its values take little memory."""
    n_outputs = explainer.explainer(header).expansion.n_outputs
    return max(_LEAST, _CELLS // (max(1, len(header.names)) * n_outputs))


def _hash_hierarchy(path: Path | None) -> str | None:
    """Return what a hierarchy is known by: its file, or its name."""
    return str(path) if is_correlation(path) else hash_file(path)


@contextmanager
def _open_parts(explainer: TableExplainer, size: int, resume: bool) -> Iterator[Parts]:
    """Open the folder of the parts; without a directory of results, one that is temporary."""
    asked, out, force = explainer.options, explainer.session.out, explainer.session.force
    run: dict[str, Any] = {
        "version": pkex.__version__,
        "backend": game_class().__name__,
        "model": hash_file(asked.model),
        "table": hash_file(asked.data),
        "background": hash_file(asked.background),
        "groups": hash_file(asked.groups),
        "hierarchy": _hash_hierarchy(asked.hierarchy),
    }
    options = {name: value for name, value in vars(asked).items() if name not in _FREE}
    options |= asdict(explainer.dialect) | {"part_rows": size}
    run |= {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    with ExitStack() as stack:
        if out is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()), "parts")
        else:
            folder = find_parts(out)
        parts = stack.enter_context(Parts.open(folder, run, resume=resume, force=force))
        try:
            yield parts
        except OSError as error:
            raise explain_write_error(error, parts.describe_kept() if out else _NOT_KEPT) from error


def _explain_part(
    parts: Parts, number: int, chunk: FileTable, drawn: NDArray[np.intp], explainer: TableExplainer
) -> None:
    """Explain the rows of a chunk, and write them as a part."""
    table, labels = explainer.ready(chunk)
    if explainer.options.missing != "keep":  # refused before, unless they are to be dropped
        bad = table.frame.isna().any(axis=1)
        table = replace(table, frame=table.frame[~bad], dropped=int(bad.sum()))
    if not len(table.frame):
        parts.write(number, pandas.DataFrame(), asdict(_PartFacts(dropped=table.dropped)), {})
        return
    rows = table.frame.index.to_numpy()
    pairs: dict[str, Callable[[Path], object]] = {}
    with catch_warnings() as notes:
        explanation = explainer.explain(table, labels)
        if explainer.options.interactions:
            pairs = PartPairs.of(explainer, table, explanation, drawn).files()
    inside = np.flatnonzero(np.isin(rows, drawn))
    facts = _PartFacts.of(explanation, table.dropped, len(inside), notes)
    # at least one row, for what it knows of the part besides its values
    sample = explanation[inside if inside.size else [0]]
    others = {"npz": sample.save, **pairs}
    parts.write(number, values_frame(explanation, rows), asdict(facts), others)


@dataclass(frozen=True, eq=False)
class _PartFacts:
    """The sums of a part, or of several.

    Attributes
    ----------
    rows, dropped, drawn : int
        Rows that were explained, that were left out, and that plots show.
    sizes, squares : nested lists of shape (n_features[, n_outputs])
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
    def of(
        cls, explanation: pkex.Explanation, dropped: int, drawn: int, notes: list[str]
    ) -> _PartFacts:
        """Return the sums of a part."""
        sizes, totals = np.abs(explanation.values), explanation.totals()
        assert totals.error is not None  # it was just computed
        return cls(
            rows=len(explanation),
            dropped=dropped,
            drawn=drawn,
            sizes=sizes.mean(axis=0).tolist(),
            squares=((sizes - sizes.mean(axis=0)) ** 2).sum(axis=0).tolist(),
            means=explanation.values.mean(axis=0).tolist(),
            error=totals.error,
            predicted=totals.predicted,
            apart=totals.apart,
            notes=notes,
        )

    def plus(self, other: _PartFacts) -> _PartFacts:
        """Return the sums of both: with means m, n over a, b rows and c = a + b, the mean is
        m + (n - m) b / c, and the squares gain (n - m)^2 a b / c.
        """
        counted = ("rows", "dropped", "drawn", "apart", "notes")
        sums: dict[str, Any] = {
            name: getattr(self, name) + getattr(other, name) for name in counted
        }
        share = other.rows / max(1, sums["rows"])
        gap = np.subtract(other.sizes, self.sizes)
        predicted = Counter(self.predicted or {})
        predicted.update(other.predicted or {})
        return _PartFacts(
            **sums,
            sizes=np.add(self.sizes, gap * share),
            squares=np.add(self.squares, other.squares) + gap**2 * self.rows * share,
            means=np.add(self.means, np.subtract(other.means, self.means) * share),
            error=max(self.error, other.error),
            predicted=dict(predicted) or None,
        )


def _finish(
    parts: Parts, numbers: Sequence[int], header: FileTable, explainer: TableExplainer
) -> None:
    """Put the parts together, write and print the result."""
    session = explainer.session
    facts = {number: _PartFacts(**parts.facts(number)) for number in numbers}
    filled = [number for number in numbers if facts[number].rows]
    if not filled:
        raise ValueError(f"every row of {header.path} has missing values, so none is left.")
    total = reduce(_PartFacts.plus, facts.values(), _PartFacts())
    session.note(*total.notes)
    if total.dropped:
        session.note(f"{pluralise(total.dropped, 'row')} dropped for missing values.")
    values = parts.join(filled)
    sample = _sample(parts, filled, facts)
    importance = _importance(total, values, sample)
    totals = Totals(total.rows, importance, total.error, total.predicted, total.apart)
    additions = []
    if explainer.options.interactions:
        pairs = PartPairs.join(PartPairs.load(parts, number) for number in filled)
        totals = replace(totals, pairs=pairs.totals)
        additions.append(Pairs(pairs.sample, pairs.totals))
        if session.out is not None and len(pairs.sample) < total.rows:
            session.note(
                f"interactions.npz has a random sample of {pluralise(len(pairs.sample), 'row')}; "
                f"interactions.{session.table_format} has the means over all {total.rows} rows."
            )
    data = table_facts(replace(header, dropped=total.dropped), total.rows)
    explainer.finish(data, values, sample, totals, additions)


def _sample(parts: Parts, filled: Sequence[int], facts: dict[int, _PartFacts]) -> pkex.Explanation:
    """Return the explanation of the rows that plots show, with what is known of all parts."""
    samples = {number: pkex.Explanation.load(parts.path(number, "npz")) for number in filled}
    drawn = [np.full(len(sample), facts[n].drawn > 0) for n, sample in samples.items()]
    rows = np.flatnonzero(np.concatenate(drawn))
    return pkex.Explanation.concat(samples.values())[rows if rows.size else [0]]


def _importance(
    total: _PartFacts, values: JoinedValues, sample: pkex.Explanation
) -> pkex.Importance:
    """Return the importance over all rows; the parts are gone through for the centred means."""
    shape = sample.values.shape[1:]
    means = np.reshape(total.means, (shape[0], -1))
    gaps = np.zeros_like(means)
    for array in values.arrays(sample.feature_names, means.shape[1]):
        gaps += np.abs(array - means).sum(axis=0)
    variance = np.divide(total.squares, max(1, total.rows - 1))
    errors = np.sqrt(variance / total.rows) if total.rows > 1 else np.full(shape, np.nan)
    centred = (gaps / total.rows).reshape(shape)
    sizes = np.asarray(total.sizes)
    return pkex.Importance(sample.about, sizes, errors, centred, total.rows)
