"""Files are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

__all__ = ["write_whole"]


def write_whole(
    path: str | os.PathLike[str], write: Callable[[BinaryIO], object], example: str
) -> None:
    """Let `write` fill a file beside `path`, which then takes its name.

    Parameters
    ----------
    path : str or path
        An existing file is replaced; behind a link, the file it points to.
    write : callable
        Gets the open file; when it raises, nothing is left behind.
    example : str
        Name of a file, for the sentence about a `path` that is a directory.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise ValueError(f"{path} is a directory; give the name of a file, e.g. {path}/{example}.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {target.parent} to write in; create it.")
    beside = target.with_name(f".{uuid4().hex}.tmp")
    try:
        with beside.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)
