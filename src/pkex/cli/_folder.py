"""The directory of results: it is there whole, or as it was before.

Files are written into a temporary directory first. One that another run is writing, or that a run
left behind which was killed, is not touched and not in the way.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from pkex._util.files import copy_mode
from pkex.cli._signals import clean_up_first
from pkex.tables.parts import PARTS

__all__ = ["check", "stage_files", "unfinished_runs"]

_OURS = {"values.csv", "values.parquet", "summary.json", "report.html"}
_OURS |= {"interactions.csv", "interactions.parquet", "interactions.npz"}
_OURS |= {"influence.csv", "influence.parquet", "influence.npz"}
_OURS |= {"model.skops", "diabetes.csv", "younger.csv", "older.csv"}  # of the demo
_STAGE = re.compile(r"\.pkex-[0-9a-f]{32}\.tmp")


def check(path: Path, force: bool) -> Path:
    """Return the real path of the directory, or raise where results cannot go there."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise ValueError(f"there is no directory {target.parent} to make {target.name} in.")
    if target.exists() and not target.is_dir():
        kind = "a file" if target.is_file() else "not a directory"
        raise ValueError(f"{path} is {kind}, but --out takes the name of a directory.")
    names = _results(target) if target.exists() else []
    if names and not force:
        raise ValueError(
            f"the directory {path} is not empty: choose another, or replace it with --force."
        )
    foreign = [name for name in names if name not in _OURS]
    if foreign:
        raise ValueError(
            f"{path} holds {foreign[0]!r}, which pkex did not write, so --force does not "
            "replace it: choose another directory."
        )
    other = [
        name for name in names if (target / name).is_symlink() or not (target / name).is_file()
    ]
    if other:
        raise ValueError(
            f"{other[0]!r} in {path} is not a regular file, so --force does not replace it: "
            "choose another directory."
        )
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise ValueError(f"there is no permission to write {path}.")
    return target


def unfinished_runs(path: Path) -> list[str]:
    """Return the temporary directories in the directory: of runs that go on or were killed."""
    return sorted(filter(_STAGE.fullmatch, os.listdir(path))) if path.is_dir() else []


def _results(target: Path) -> list[str]:
    names = os.listdir(target)
    return sorted(name for name in names if name != PARTS and not _STAGE.fullmatch(name))


@contextmanager
def stage_files(path: Path, force: bool) -> Iterator[Path]:
    """Give a directory to write into, whose files become those of `path` if all goes well.

    A directory that is not there is renamed into place. One that is there keeps its place (it may
    be a mounted volume): its files are set aside, and come back when something fails. A file that
    is replaced by one of the same name keeps its mode.
    """
    target = check(path, force)
    there = target.exists()
    stage = (target if there else target.parent) / f".pkex-{uuid4().hex}.tmp"
    with clean_up_first():
        try:
            stage.mkdir(0o700 if there else 0o777)  # the latter becomes the directory of results
            yield stage
            check(path, force)  # again, as another run may have been faster
            if target.exists():
                _replace(target, stage)
            else:
                os.rename(stage, target)
        except OSError as error:
            reason = error.strerror or error
            raise OSError(f"could not write {path} ({reason}); nothing was left there.") from error
        finally:
            shutil.rmtree(stage, ignore_errors=True)


def _replace(target: Path, stage: Path) -> None:
    """Move the files of `stage` into `target` in place of those that are there, or none."""
    new, old = os.listdir(stage), _results(target)
    for name in set(new).intersection(old):
        copy_mode(stage / name, target / name)
    aside = stage / "aside"
    aside.mkdir()
    try:
        for name in old:
            os.rename(target / name, aside / name)
        for name in new:
            os.rename(stage / name, target / name)
    except BaseException:
        for name in new:
            if not (stage / name).exists():
                (target / name).unlink()
        for name in os.listdir(aside):
            os.rename(aside / name, target / name)
        raise
