"""Files of `MMDDrift`: its parameters and its reference data, without pickle.

Numbers are an array, categories their texts: two categories are the same when they read the same,
so nothing that a comparison uses is lost.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from pkex._util.cells import is_missing
from pkex._util.validation import brief, is_index
from pkex.games.players import parse_groups
from pkex.kernels import Kernel
from pkex.kernels.data import from_data, to_data
from pkex.output.files import header
from pkex.output.files.codec import Codec, Content
from pkex.output.files.header import each, optional, with_default
from pkex.tables.frames import Table, read_category

__all__ = ["load_reference", "save_reference"]

_TEXTS = ("removal", "estimator", "missing")
_COUNTS = ("n_permutations", "block_size", "max_reference", "random_state")


class _Parameters:
    """The parameters of the estimator."""

    def pack(self, result: tuple[Any, Table], content: Content) -> None:
        """Write them; a random state is a seed or none."""
        drift, table = result
        if drift.random_state is not None and not is_index(drift.random_state):
            raise ValueError(
                f"random_state is {brief(drift.random_state)}, which cannot be saved; set it to an "
                "integer or None first."
            )
        kernel = drift.kernel
        content.header["kernel"] = to_data(kernel) if isinstance(kernel, Kernel) else None
        content.header["heuristic"] = None if isinstance(kernel, Kernel) else kernel
        groups, names = parse_groups(drift.groups, table.names)
        chosen = [(names[k], list(g)) for k, g in enumerate(groups) if drift.groups is not None]
        content.header["groups"] = header.to_json([columns for _, columns in chosen])
        content.header["group_names"] = [name for name, _ in chosen]
        for name in (*_TEXTS, *_COUNTS, "n_jobs"):
            value = getattr(drift, name)
            content.header[name] = int(value) if is_index(value) else value

    def unpack(self, content: Content, fields: dict[str, Any]) -> None:
        """Read them."""
        readers = {
            "kernel": optional(from_data),
            "heuristic": optional(header.as_text),
            "group_names": header.as_names,
            "groups": header.as_players,
            **dict.fromkeys(_TEXTS, header.as_text),
            **dict.fromkeys(_COUNTS, optional(header.as_count)),
            "n_jobs": optional(_as_integer),
        }
        known = header.read_entries(content.header, readers)
        heuristic, names = known.pop("heuristic"), known.pop("group_names")
        known["kernel"] = heuristic if known["kernel"] is None else known["kernel"]
        known["groups"] = dict(zip(names, known["groups"], strict=True)) or None
        fields["parameters"] = known


class _Reference:
    """The reference data."""

    def pack(self, result: tuple[Any, Table], content: Content) -> None:
        """Write numbers as an array, categories as codes and texts."""
        _, table = result
        flags = np.array(table.categorical)
        content.arrays["numbers"] = table.cells[:, ~flags].astype(np.float64)
        codes = np.full((len(table), int(flags.sum())), -1, dtype=np.int64)
        levels = []
        for k, column in enumerate(np.flatnonzero(flags)):
            cells = table.cells[:, column]
            texts = [None if is_missing(cell) else read_category(cell) for cell in cells]
            levels.append(sorted({text for text in texts if text is not None}))
            places = {text: place for place, text in enumerate(levels[-1])}
            codes[:, k] = [-1 if text is None else places[text] for text in texts]
        content.arrays["codes"] = codes
        labels = table.labels
        if labels is not None and not all(isinstance(t, str) or is_index(t) for t in labels):
            raise ValueError(
                f"columns are called {brief(labels)}; texts and integers can be saved."
            )
        content.header["levels"] = levels
        content.header["names"] = list(table.names)
        content.header["labels"] = header.to_json(labels)
        content.header["categorical"] = list(table.categorical)
        content.header["units"] = list(table.units)

    def unpack(self, content: Content, fields: dict[str, Any]) -> None:
        """Read them, and check that they fit together."""
        readers = {
            "levels": each(header.as_names),
            "names": header.as_names,
            "labels": optional(header.as_cells),
            "categorical": each(header.as_flag),
            "units": with_default(each(optional(header.as_text)), ()),
        }
        known = header.read_entries(content.header, readers)
        flags = np.array(known["categorical"])
        numbers, codes = content.arrays["numbers"], content.arrays["codes"]
        cells = np.empty((len(numbers), len(flags)), dtype=object if flags.any() else np.float64)
        cells[:, ~flags] = numbers
        for k, column in enumerate(np.flatnonzero(flags)):
            texts = np.array([*known["levels"][k], None], dtype=object)
            if codes[:, k].min(initial=0) < -1 or codes[:, k].max(initial=0) >= len(texts) - 1:
                raise ValueError("codes of categories that are not there")
            cells[:, column] = texts[codes[:, k]]
        if len(known["names"]) != len(flags) or np.isinf(numbers).any() or len(cells) < 2:
            raise ValueError("the table is not one of reference data")
        fields["table"] = Table(
            cells, known["names"], known["categorical"], known["labels"], known["units"]
        )


def _as_integer(value: Any) -> int:
    return int(header.require_type(value, int, "an integer"))


_CODEC = Codec("MMDDrift", 1, (_Parameters(), _Reference()))


def save_reference(drift: Any, table: Table, path: str | os.PathLike[str]) -> None:
    """Write an estimator with its reference data to a file, whole or not at all."""
    _CODEC.save((drift, table), path)


def load_reference(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Table]:
    """Return the parameters and the reference data of a file."""
    return _CODEC.load(path, lambda fields: (fields["parameters"], fields["table"]))
