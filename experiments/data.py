"""The data sets of the paper, read from a folder of CSV files.

The folder is an argument or the environment variable PKEX_DATA. Every file is gzip CSV with one
header line, the target in the last column, raw units. Diabetes and Wisconsin come with
scikit-learn and need no file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes

__all__ = ["SOURCES", "DataSet", "MissingDataError", "Source", "diabetes_by_sex", "load"]

Floats = NDArray[np.float64]


class MissingDataError(FileNotFoundError):
    """A file of data is not there; the message says where it can be had."""


@dataclass(frozen=True)
class Source:
    """Where a data set can be had, and what is known about it."""

    rows: int
    columns: int
    task: str  # "classification" or "regression"
    uci: int
    title: str
    identifiers: tuple[str, ...] = ()  # columns that name a row or a subject
    groups: str | None = None  # the column that says which rows belong together


SOURCES = {
    "sonar": Source(208, 60, "classification", 151, "Connectionist Bench (Sonar, Mines vs. Rocks)"),
    "wisconsin": Source(569, 30, "classification", 17, "Breast Cancer Wisconsin (Diagnostic)"),
    "ionosphere": Source(351, 34, "classification", 52, "Ionosphere"),
    "breastcancer": Source(
        194, 33, "regression", 16, "Breast Cancer Wisconsin (Prognostic)", ("ID_number",)
    ),
    "skillcraft": Source(
        3338, 19, "regression", 272, "SkillCraft1 Master Table Dataset", ("GameID",)
    ),
    "sml": Source(4137, 26, "regression", 274, "SML2010"),
    "parkinsons": Source(
        5875, 20, "regression", 189, "Parkinsons Telemonitoring", ("subject#",), "subject#"
    ),
}


@dataclass(frozen=True)
class DataSet:
    """A table with its target: labels as text for classification, numbers for regression."""

    name: str
    X: pd.DataFrame
    y: NDArray[np.generic]
    source: Source

    @property
    def is_classification(self) -> bool:
        """Whether the target is a label."""
        return self.source.task == "classification"

    def thinned(self, rows: int | None) -> DataSet:
        """Return that many rows, evenly spaced; all for None."""
        if rows is None:
            return self
        kept = np.linspace(0, len(self.y) - 1, rows).astype(np.intp)
        return replace(self, X=self.X.iloc[kept], y=self.y[kept])


def load(name: str, folder: Path | None = None) -> DataSet:
    """Return a data set of the table on feature selection.

    Raises
    ------
    KeyError
        When the name is not known.
    MissingDataError
        When the file is not there; the message says where it can be had.
    ValueError
        When the file has other rows or columns than the paper's.
    """
    if name not in SOURCES:
        raise KeyError(f"there is no data set {name!r}; known are {', '.join(SOURCES)}.")
    source = SOURCES[name]
    if name == "wisconsin":
        bunch = load_breast_cancer(as_frame=True)
        return DataSet(name, bunch.data, bunch.target_names[bunch.target].astype(str), source)
    path = _folder(folder) / f"{name}.csv.gz"
    if not path.is_file():
        raise MissingDataError(
            f"there is no file {path}. The data set is UCI {source.uci}, {source.title!r} "
            f"(https://archive.ics.uci.edu/dataset/{source.uci}, CC BY 4.0): save it there as gzip "
            "CSV with a header and the target last, or name another folder with --data or "
            "PKEX_DATA."
        )
    frame = pd.read_csv(path)
    expected, found = (source.rows, source.columns + 1), frame.shape
    if found != expected:
        raise ValueError(
            f"{path} has {found[0]} rows and {found[1]} columns, but {name} has {expected[0]} and "
            f"{expected[1]}, the target included."
        )
    if frame.isna().to_numpy().any():
        raise ValueError(f"{path} has missing values; the paper's version has none.")
    target = frame.iloc[:, -1]
    kind = str if source.task == "classification" else np.float64
    return DataSet(name, frame.iloc[:, :-1].astype(np.float64), target.to_numpy(kind), source)


def diabetes_by_sex() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the two sexes of scikit-learn's scaled diabetes data, nine columns each."""
    frame = load_diabetes(as_frame=True).data
    second = frame["sex"] > 0.0
    columns = frame.drop(columns="sex")
    return columns[~second], columns[second]


def _folder(folder: Path | None) -> Path:
    return folder or Path(os.environ.get("PKEX_DATA", "data"))
