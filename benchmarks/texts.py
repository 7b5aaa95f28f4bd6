"""What a row of TF-IDF costs: 20 000 columns, 2000 support vectors, made texts, one thread.

    python -m benchmarks.texts

Words are drawn by a law of Zipf, those of two classes with slightly different shares. The sparse
values are compared with those of dense rows and points, of one row, as these take gigabytes.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import pkex
from benchmarks.record import config, store
from benchmarks.timing import resident

__all__ = ["main"]

NAME = "texts"
COLUMNS, TEXTS, WORDS = 20_000, 2_110, 150


def texts(seed: int, count: int) -> tuple[list[str], Any]:
    """Return made texts, and the class of each."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{i}" for i in range(COLUMNS)])
    shares = np.arange(1.0, COLUMNS + 1.0) ** -0.9
    labels = rng.integers(0, 2, count)
    found = []
    for label in labels:
        own = shares.copy()
        own[label::2] *= 1.3
        found.append(" ".join(words[rng.choice(COLUMNS, WORDS, p=own / own.sum())]))
    return found, labels


def measured(
    explainer: pkex.Explainer, rows: list[str], repeats: int
) -> tuple[float, float, pkex.SparseExplanation]:
    """Return seconds a row, by the clock and of the processor, and the explanation."""
    taken, worked = [], []
    for _ in range(repeats):
        start, begun = time.perf_counter(), time.process_time()
        found: Any = explainer(rows)
        taken.append(time.perf_counter() - start)
        worked.append(time.process_time() - begun)
    return min(taken) / len(rows), min(worked) / len(rows), found


def main() -> None:
    """Measure the three removals, then compare with dense rows."""
    training, labels = texts(0, TEXTS)
    rows, _ = texts(1, 20)
    vectorizer = TfidfVectorizer(vocabulary=[f"w{i}" for i in range(COLUMNS)])
    model = make_pipeline(vectorizer, SVC()).fit(training, labels)
    machine, entries = model[-1], []
    for removal, background, count, repeats in (
        ("neutral", None, 20, 7),
        ("product-of-marginals", None, 20, 7),
        ("interventional", training[:20], 2, 3),
    ):
        start = time.perf_counter()
        explainer = pkex.Explainer(model, background, removal=removal, n_jobs=1)
        built = time.perf_counter() - start
        explainer(rows[:1])  # what is made once
        seconds, worked, found = measured(explainer, rows[:count], repeats)
        entry = {"removal": removal, "rows": count, "background": 20 if background else 0}
        entry |= {"seconds": seconds, "processor": worked, "built": built}
        entry |= {"stored": found.values.nnz / count, "additivity_error": found.additivity_error}
        entries.append(entry | {"error": float(np.max(np.asarray(found.error_bound)))})
    memory = resident()
    one = model[0].transform(rows[:1])
    explainer = pkex.Explainer(machine, removal="neutral", n_jobs=1)
    sparse, dense = explainer(one), explainer(one.toarray())
    gap = np.abs(sparse.values.toarray() - np.where(one.toarray() != 0.0, dense.values, 0.0)).max()
    others = dense.values[one.toarray() == 0.0].sum()
    results = {
        "columns": COLUMNS,
        "points": int(machine.support_vectors_.shape[0]),
        "stored": machine.support_vectors_.nnz / machine.support_vectors_.shape[0],
        "removals": entries,
        "memory": memory,
        "gap": max(float(gap), abs(float(sparse.rest[0] - others))),
        "largest": float(np.abs(dense.values).max()),
        "config": config(),
    }
    store(NAME, results)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
