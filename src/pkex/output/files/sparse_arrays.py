"""The piece of a codec that writes sparse values, and where the tokens of texts are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pkex.output.files import header as entry
from pkex.output.files.codec import Content
from pkex.tables.token_spans import Located

__all__ = ["SparseArrays"]


@dataclass(frozen=True)
class SparseArrays:
    """The fields `values`, `data` and `spans` of a `SparseExplanation`.

    A CSR array is three arrays. The values of several outputs have the places of the first. The
    places of tokens are found when the file is written, as a vectorizer cannot be stored without
    running its code.
    """

    def pack(self, result: Any, content: Content) -> None:
        """Write them."""
        values, _ = result.with_output_axis
        content.header["several"] = isinstance(result.values, tuple)
        content.arrays.update(
            values=np.stack([one.data for one in values], axis=1),
            starts=values[0].indptr.astype(np.int64),
            stored=values[0].indices.astype(np.int64),
            data=result.data.data,
            data_starts=result.data.indptr.astype(np.int64),
            data_stored=result.data.indices.astype(np.int64),
        )
        if result.texts is not None and result.spans is not None:
            spans = [
                (row, *span)
                for row, text in enumerate(result.texts)
                for span in result.spans.of(row, text)
            ]
            content.arrays["spans"] = np.array(spans, dtype=np.int64).reshape(-1, 4)

    def unpack(self, content: Content, fields: dict[str, Any]) -> None:
        """Read them, where they fit together."""
        arrays, several = content.arrays, entry.as_flag(content.header["several"])
        n_features, n_columns = len(fields["feature_names"]), len(fields["column_names"])
        table, stored, starts = (arrays[name] for name in ("values", "stored", "starts"))
        n_rows, texts = len(starts) - 1, fields["texts"]
        n_sets, shape = table.shape[-1] if several else 1, (n_rows, n_features)
        _check_shape("values", table.shape, (len(stored), n_sets))
        _check_shape("rest", fields["rest"].shape, (n_rows, n_sets) if several else (n_rows,))
        _check_shape("texts", (n_rows if texts is None else len(texts),), (n_rows,))
        outputs = table.T.astype(np.float64, order="C")
        values = tuple(_csr(output, stored, starts, shape) for output in outputs)
        places = arrays["data_stored"], arrays["data_starts"]
        fields["values"] = values if several else values[0]
        fields["data"] = _csr(arrays["data"].astype(np.float64), *places, (n_rows, n_columns))
        if "spans" in arrays:
            fields["spans"] = _locate(arrays["spans"], texts, n_columns)


def _csr(entries: Any, stored: Any, starts: Any, shape: tuple[int, int]) -> Any:
    """Return a CSR array, or raise where its parts do not make one."""
    from scipy.sparse import csr_array

    if starts.dtype.kind != "i" or stored.dtype.kind != "i":
        raise ValueError("the positions of entries are not integers")
    if starts[0] != 0 or starts[-1] != len(stored) or (np.diff(starts) < 0).any():
        raise ValueError("the entries of its rows do not follow each other")
    table = csr_array((entries, stored, starts), shape=shape)  # which refuses other shapes
    outside = len(stored) and not 0 <= stored.min() <= stored.max() < shape[1]
    if outside or not table.has_canonical_format:
        raise ValueError("the columns of a row do not ascend, or are out of range")
    if not np.isfinite(entries).all():
        raise ValueError("it holds an entry that is not a number")
    return table


def _locate(spans: Any, texts: tuple[str, ...] | None, n_columns: int) -> Located:
    """Return the places of tokens, each of them inside its text."""
    _check_shape("spans", spans.shape[1:], (4,))
    if texts is None or spans.dtype.kind != "i":
        raise ValueError("positions of tokens without documents")
    for row, start, stop, column in spans.tolist():
        if not (0 <= row < len(texts) and 0 <= start < stop <= len(texts[row])):
            raise ValueError("a token lies outside its document")
        if not 0 <= column < n_columns:
            raise ValueError("the column of a token is out of range")
    return Located(spans.astype(np.int64))


def _check_shape(name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Refuse an array of another shape."""
    if shape != expected:
        raise ValueError(f"{name} has the shape {shape}, not {expected}")
