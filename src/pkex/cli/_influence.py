"""What ``--influence`` adds to ``pkex explain``: a table, and an entry of the summary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pkex
from pkex.cli._summary import InfluenceFacts
from pkex.output.terminal import cell, draw
from pkex.output.view.influence import influence

__all__ = ["influence_facts", "influence_grid"]


def influence_facts(result: pkex.Influence) -> InfluenceFacts:
    """Return the entry of the summary."""
    kind: Any = result.kind
    return InfluenceFacts(kind=kind, n_train=result.n_train, n_shown=result.values.shape[1])


def influence_grid(result: pkex.Influence) -> list[Any]:
    """Return the most influential training rows of the first rows, for the terminal."""
    view = influence(result)
    headline = f"training rows behind the predictions ({result.kind})"
    remarks = [*view.notes, *view.remarks]
    return [cell(""), *draw(replace(view, headline=headline, notes=(), remarks=remarks))]
