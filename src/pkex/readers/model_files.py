"""Model files: skops, which runs no code when it is read, or pickles of those who are trusted."""

from __future__ import annotations

import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

__all__ = ["load_model"]

_COMPRESSED = (  # beginnings of what joblib.dump(..., compress=) writes
    *(b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x5d\x00", b"\x04\x22\x4d\x18"),
    *(b"x\x01", b"x\x5e", b"x\x9c", b"x\xda"),
)


def load_model(path: Path, trust: bool = False, types: Collection[str] = ()) -> Any:
    """Return the model in the file `path`.

    Parameters
    ----------
    path : Path
    trust : bool
        Whether to read pickles and any type, which may run any code.
    types : collection of str
        Types that a skops file may hold besides those known to be safe.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a directory, not a model file.")
    if not path.exists():
        raise ValueError(f"there is no file {path}.")
    with path.open("rb") as file:
        head = file.read(6)
    if head[:4] == b"PK\x03\x04" and _is_skops(path):
        return _skops(path, trust, types)
    # the pickles of protocols 0 and 1, which nobody writes any more, are not recognised
    if head[:1] != b"\x80" and not head.startswith(_COMPRESSED):
        raise ValueError(
            f"{path} is not a model: save one with skops.io.dump(model, 'model.skops') or with "
            "joblib.dump."
        )
    if not trust:
        raise ValueError(
            f"{path} is a pickle, and reading one may run any code: pass --trust if you know where "
            "it comes from, or save the model with skops.io.dump(model, 'model.skops')."
        )
    import joblib

    return _read_safely(path, lambda: joblib.load(path))


def _plain() -> set[str]:
    """Return the types of kernel models that skops does not know.

    Each is put together from its stored attributes, without running what a file could choose.
    """
    import sklearn.gaussian_process.kernels as processes

    from pkex import kernels

    classes = {
        cls
        for module, base in ((kernels, kernels.Kernel), (processes, processes.Kernel))
        for cls in vars(module).values()
        if isinstance(cls, type) and issubclass(cls, base)
    }
    return {
        *(f"{cls.__module__}.{cls.__qualname__}" for cls in classes),
        "numpy.dtype",
        "scipy.sparse._csr.csr_matrix",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.calibration._TemperatureScaling",
        "sklearn.compose._column_transformer._RemainderColsList",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.model_selection._search_successive_halving.HalvingGridSearchCV",
        "sklearn.model_selection._search_successive_halving.HalvingRandomSearchCV",
        "sklearn.model_selection._split.KFold",
        "sklearn.model_selection._split.StratifiedKFold",
        "sklearn.utils._metadata_requests.MetadataRequest",
        "sklearn.utils._metadata_requests.MethodMetadataRequest",
    }


def _is_skops(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return "schema.json" in archive.namelist()
    except zipfile.BadZipFile:
        return False


def _skops(path: Path, trust: bool, types: Collection[str]) -> Any:
    import skops.io

    unknown = _read_safely(path, lambda: skops.io.get_untrusted_types(file=path))
    refused = sorted({*unknown} - _plain() - {*types})
    if refused and not trust:
        raise ValueError(
            f"{path} holds types that may run code when they are read, {', '.join(refused)}: if "
            f"you know them to be harmless, pass "
            f"{' '.join(f'--trust-type {name}' for name in refused)}, or --trust for all."
        )
    return _read_safely(path, lambda: skops.io.load(path, trusted=unknown))


def _read_safely(path: Path, read: Any) -> Any:
    """Return what `read` returns; whatever a damaged or foreign file raises becomes a sentence."""
    try:
        return read()
    except ModuleNotFoundError as error:
        raise ValueError(
            f"the model in {path} needs {error.name}, which is not installed here."
        ) from error
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read as a model ({type(error).__name__}: {error})."
        ) from error
