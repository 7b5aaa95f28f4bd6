"""What ``--influence`` adds to ``pkex explain``: training rows behind the predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pkex
from pkex.cli._summary import InfluenceFacts
from pkex.output.terminal import cell, draw
from pkex.output.view.influence import influence

__all__ = ["TrainingRows"]


@dataclass(frozen=True)
class TrainingRows:
    """The most influential training rows; an `Addition`."""

    name: ClassVar[str] = "influence"
    result: pkex.Influence

    def facts(self) -> InfluenceFacts:
        """Return the entry of the summary."""
        kind: Any = self.result.kind
        n_train, n_shown = self.result.n_train, self.result.values.shape[1]
        return InfluenceFacts(kind=kind, n_train=n_train, n_shown=n_shown)

    def grid(self) -> list[Any]:
        """Return those of the first rows, for the terminal."""
        view = influence(self.result)
        headline = f"training rows behind the predictions ({self.result.kind})"
        return [cell(""), *draw(replace(view, headline=headline))]

    def frame(self) -> Any:
        """Return a line for each row and training row."""
        return self.result.to_frame().reset_index()
