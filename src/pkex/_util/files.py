"""Files are written whole or not at all, in place of a regular file or of nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

__all__ = ["copy_mode", "file_kind", "write_atomically"]


def write_atomically(
    path: str | os.PathLike[str], write: Callable[[BinaryIO], object], example: str
) -> None:
    """Let `write` fill a file beside `path`, which then takes its name.

    Parameters
    ----------
    path : str or path
        An existing file is replaced, and its mode kept; behind a link, the file it points to.
    write : callable
        Gets the open file; when it raises, nothing is left behind.
    example : str
        Name of a file, for the sentence about a `path` that is a directory.

    Raises
    ------
    OSError
        With `path` as its file name, when the disk is full or the like.
    """
    kind = file_kind(path)
    if kind == "directory":
        raise ValueError(f"{path} is a directory; give the name of a file, e.g. {path}/{example}.")
    if kind not in (None, "file"):
        raise ValueError(
            f"{path} is a {kind}, which would be overwritten: give the name of a regular file."
        )
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {target.parent} to write in; create it.")
    if kind == "file" and not os.access(target, os.W_OK):
        raise PermissionError(f"there is no permission to write {path}.")
    beside = target.with_name(f".{uuid4().hex}.tmp")
    try:
        with beside.open("xb") as file:
            if kind == "file":
                copy_mode(beside, target)  # before there is anything to read in it
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except OSError as error:
        if error.errno is None:  # not of the system
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    finally:
        beside.unlink(missing_ok=True)


def file_kind(path: str | os.PathLike[str]) -> str | None:
    """Return what is at a path, behind links: "file", "directory", ...; None if nothing is.

    Examples
    --------
    >>> file_kind(os.curdir), file_kind(os.devnull)
    ('directory', 'device')
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:
        # nowhere, or a link to what is not there yet; links in a circle lead to a link again
        return "link that leads nowhere" if os.path.islink(os.path.realpath(path)) else None
    return _KINDS.get(stat.S_IFMT(mode), "special file")


_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


def copy_mode(new: Path, old: Path) -> None:
    """Give a file the permissions of the one that it replaces, and its owner where allowed."""
    status = old.stat()
    if hasattr(os, "chown"):
        with suppress(PermissionError):
            os.chown(new, status.st_uid, status.st_gid)
    os.chmod(new, stat.S_IMODE(status.st_mode) & 0o777)
