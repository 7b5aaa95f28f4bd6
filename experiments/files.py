"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

__all__ = ["whole"]


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give a file beside `path` to write to, which takes its place when all went well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{uuid4().hex}{path.suffix}")
    try:
        yield beside
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
