"""The frame of an `Influence`: a line for each explained row and training row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.extras import import_optional

if TYPE_CHECKING:
    from pkex.results.influence import Influence

__all__ = ["influence_frame"]


def influence_frame(result: Influence, _totals: bool) -> Any:
    """Return a line for each explained row and training row, with the values that are known."""
    pandas = import_optional("pandas", "pandas")
    n_rows, n_shown = result.train_rows.shape
    lines = result.train_rows.ravel()
    labels = [
        np.arange(n_rows) if result.row_index is None else result.row_index,
        np.arange(result.n_train) if result.train_index is None else result.train_index,
    ]
    places = np.repeat(np.arange(n_rows), n_shown)
    of_rows, of_lines = _levels(labels[0], places, "row"), _levels(labels[1], lines, "train_row")
    of_lines = {f"train_{t}" if t in of_rows else t: level for t, level in of_lines.items()}
    keys, names = [*of_rows.values(), *of_lines.values()], [*of_rows, *of_lines]
    several = result.values.ndim == 3
    outputs = result.output_names if several else ("",)
    frames = []
    for k, output in enumerate(outputs):
        one = result.select_output(k, "to_frame") if several else result
        columns: dict[str, Any] = {"influence": one.values.ravel()}
        if one.variance is not None:
            columns["variance"] = one.variance.ravel()
        if one.train_targets is not None and one.train_targets.ndim == 1:
            columns["target"] = one.train_targets[lines]
        split = one.feature_values.reshape(len(lines), len(one.feature_names))
        columns |= {f"influence_{name}": split[:, j] for j, name in enumerate(one.feature_names)}
        if one.train_data is not None:
            table = one.train_data[lines]
            columns |= {f"train_{name}": table[:, j] for j, name in enumerate(one.column_names)}
        index = [*keys, [output] * len(lines)] if several else keys
        axis = pandas.MultiIndex.from_arrays(index, names=[*names, *["output"] * several])
        frames.append(pandas.DataFrame(columns, index=axis))
    return pandas.concat(frames) if several else frames[0]


def _levels(labels: Any, places: Any, name: str) -> dict[Any, Any]:
    """Return the labels at some places; those with several levels level by level."""
    chosen = labels[places]
    if not hasattr(labels, "levels"):
        return {name: chosen}
    titles = [f"{name}_{i}" if title is None else title for i, title in enumerate(labels.names)]
    return {title: chosen.get_level_values(i) for i, title in enumerate(titles)}
