"""``pkex explain``: Shapley values of the rows of a table, for a model from a file."""

from __future__ import annotations

from dataclasses import replace

from pkex.cli import _stream
from pkex.cli._explain_result import values_frame
from pkex.cli._influence import TrainingRows
from pkex.cli._input_facts import table_facts
from pkex.cli._options import ExplainOptions, FileOptions, Output, PartOptions
from pkex.cli._pairs import Pairs
from pkex.cli._session import Addition, Session
from pkex.cli._table_explainer import TableExplainer
from pkex.tables import selection

__all__ = ["explain"]


def explain(
    options: ExplainOptions, reading: FileOptions, output: Output, parts: PartOptions
) -> int:
    """Explain the rows, write and print the result, and return the exit code."""
    dialect, session = reading.dialect(), Session(**vars(output))
    if options.removal == "interventional" and options.background is None:
        raise ValueError("--removal interventional needs a background: pass --background FILE.")
    if parts.resume and session.out is None:
        raise ValueError("--resume needs the --out DIR of the interrupted run.")
    with session.noting_warnings():
        explainer = TableExplainer(options, dialect, session)
        stream = selection.open_long_table(options.data, dialect, options.id, parts.part_rows)
    if stream is not None:
        with session.noting_warnings():
            is_long = _stream.is_long(stream, explainer, parts)
        if is_long and options.influence is not None:
            raise ValueError(
                f"{options.data} is explained in parts, and --influence is for rows that are "
                "explained in one piece: choose some with --rows, e.g. --rows 0:100."
            )
        if is_long:
            return _stream.explain(stream, explainer, parts)
    with session.noting_warnings():
        table = stream or selection.read_table(options.data, dialect, options.id)
        data, labels = explainer.ready(selection.choose_rows(table, options.rows))
        data = explainer.complete(data)
        session.describe(data)
        explanation = explainer.explain(data, labels, session.progress)
        totals = explanation.totals()
        additions: list[Addition] = []
        if options.interactions:
            interactions = explainer.interactions(data, explanation, session.progress)
            pairs = Pairs(interactions, interactions.totals())
            totals = replace(totals, pairs=pairs.totals)
            additions.append(pairs)
        if options.influence is not None:
            influence = explainer.influence(data, explanation, options.influence)
            additions.append(TrainingRows(influence))
    if parts.resume:
        session.say(f"{options.data} is explained in one piece: there is nothing to resume.")
    values = values_frame(explanation, data.frame.index.to_numpy())
    explainer.finish(table_facts(data), values, explanation, totals, additions)
    return 0
