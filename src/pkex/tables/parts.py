"""The parts of a table that is computed piece by piece; an interruption loses one part only.

They are in a separate folder, beside the directory of results or, if that exists already, in it.
Each part is a Parquet file of its values, with its sums as JSON in the file's metadata, and beside
it files that others write and read. The values are written last: a part whose values are there is
done. ``run.json`` says what the parts are of: they are used again only for the same model, tables,
options and version.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import file_digest
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np

from pkex._util.files import write_atomically
from pkex._util.words import join_names, pluralise

__all__ = ["PARTS", "JoinedValues", "Parts", "explain_write_error", "find_parts", "hash_file"]

PARTS = ".pkex-parts"  # inside of a directory of results that is there already
_SUFFIX = ".pkex-parts"  # after the name of one that is not
_KEY = b"pkex.part"
_README = """Parts of a table that `pkex explain` has not explained to the end.

The same command with --resume continues after the last part and joins all parts.
Without it, delete this folder, or start over with --force.
"""

Run = dict[str, Any]


def hash_file(path: Path | None) -> str | None:
    """Return what identifies the content of a file; None without one."""
    if path is None:
        return None
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def find_parts(out: Path) -> Path:
    """Return the folder of the parts of a directory of results: one that is there, or will be."""
    target = Path(os.path.realpath(out))
    beside = target.with_name(target.name + _SUFFIX)
    if beside.exists():
        return beside
    return target / PARTS if target.exists() else beside


def explain_write_error(error: OSError, advice: str) -> OSError:
    """Return the sentence about a file that could not be written, as on a full disk."""
    sentence = str(error).removesuffix(".")
    if error.filename is not None and error.strerror is not None:
        sentence = f"could not write {error.filename} ({error.strerror})"
    return OSError(f"{sentence}; {advice}")


class Parts:
    """The folder of the parts, in use by one process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    @contextmanager
    def open(cls, folder: Path, run: Run, *, resume: bool, force: bool) -> Iterator[Parts]:
        """Open the folder for a run: a new one, or with `resume` that of the same run before.

        Raises
        ------
        ValueError
            When parts are there that are not to be used, or cannot be: of another run.
        """
        if folder.exists() and not resume:
            if not force:
                raise ValueError(
                    f"{folder} holds parts of an interrupted run: continue with --resume, or start "
                    "over with --force."
                )
            with _lock(folder):
                shutil.rmtree(folder)
        if not folder.exists():
            _make(folder, {"README.txt": _README, "run.json": json.dumps(run, indent=2)})
        with _lock(folder):
            _check_same(folder, run)
            yield cls(folder)

    def is_done(self, number: int) -> bool:
        """Tell whether a part is there."""
        return self.path(number).exists()

    def write(
        self,
        number: int,
        frame: Any,
        facts: dict[str, Any],
        others: Mapping[str, Callable[[Path], object]],
    ) -> None:
        """Write a part: its values, its sums, and other files, by how their names end."""
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        table = table.replace_schema_metadata({_KEY: json.dumps(facts).encode()})
        path = self.path(number)
        try:
            for ending, write in others.items():
                write(self.path(number, ending))
            write_atomically(path, lambda file: pyarrow.parquet.write_table(table, file), path.name)
        except OSError:
            for other in self.folder.glob(f"{path.stem}.*"):
                other.unlink()
            raise

    def describe_kept(self) -> str:
        """Return what to do after an error, with the parts that are done."""
        count = len(list(self.folder.glob("part-*.parquet")))
        return (
            f"{pluralise(count, 'part')} {'is' if count == 1 else 'are'} done and kept in "
            f"{self.folder}: free space, then run the same command with --resume, which "
            "continues after them."
        )

    def facts(self, number: int) -> dict[str, Any]:
        """Return the sums of a part."""
        facts: dict[str, Any] = json.loads(self._schema(number).metadata[_KEY])
        return facts

    def join(self, numbers: Sequence[int]) -> JoinedValues:
        """Return the values of all parts, to be written as one file."""
        import pyarrow

        schemas = [self._schema(number).remove_metadata() for number in numbers]
        schema = pyarrow.unify_schemas(schemas, promote_options="permissive")
        return JoinedValues([self.path(number) for number in numbers], schema)

    def delete(self) -> None:
        """Delete the folder, after the results are in place."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, number: int, ending: str = "parquet") -> Path:
        """Return the file of a part whose name has this ending."""
        return self.folder / f"part-{number:06d}.{ending}"

    def _schema(self, number: int) -> Any:
        import pyarrow
        import pyarrow.parquet

        path = self.path(number)
        try:
            return pyarrow.parquet.read_schema(path)
        except (pyarrow.ArrowException, OSError) as error:
            raise ValueError(
                f"{path} is damaged ({error}): delete it, and --resume makes it again."
            ) from error


class JoinedValues:
    """The values of the parts in one file, which is written part by part."""

    def __init__(self, paths: Sequence[Path], schema: Any) -> None:
        self._paths, self._schema = paths, schema

    def tables(self) -> Iterator[Any]:
        """Yield the parts as tables with the same types."""
        import pyarrow.parquet

        for path in self._paths:
            yield pyarrow.parquet.read_table(path).replace_schema_metadata().cast(self._schema)

    def arrays(self, names: Sequence[str], n_outputs: int) -> Iterator[Any]:
        """Yield the values of the parts, shape (n_rows, n_features, n_outputs)."""
        for table in self.tables():
            columns = [table.column(name).to_numpy() for name in names]
            flat = np.stack(columns, axis=1).reshape(-1, n_outputs, len(names))
            yield np.moveaxis(flat, 1, 2)

    def to_csv(self, path: Path, index: bool) -> None:
        """Write them as `pandas.DataFrame.to_csv` does."""
        with path.open("w", encoding="utf-8", newline="") as file:
            for number, table in enumerate(self.tables()):
                table.to_pandas().to_csv(file, index=index, header=number == 0)

    def to_parquet(self, path: Path, index: bool) -> None:  # noqa: ARG002  # there is none
        """Write them as Parquet, a row group for each part."""
        import pyarrow.parquet

        with pyarrow.parquet.ParquetWriter(path, self._schema) as writer:
            for table in self.tables():
                if table.num_rows:
                    writer.write_table(table)


def _make(folder: Path, texts: dict[str, str]) -> None:
    """Make a folder with some files, or nothing."""
    try:
        folder.mkdir()
        for name, text in texts.items():
            write_atomically(folder / name, methodcaller("write", text.encode()), name)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        advice = "nothing was left: free space, then run the same command again."
        raise explain_write_error(error, advice) from error


def _check_same(folder: Path, run: Run) -> None:
    """Refuse the parts of another run, and say in what it differs."""
    try:
        before: Run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{folder} does not say what its parts are of ({error}), so --resume cannot use them: "
            "start over with --force."
        ) from error
    unlike = [name for name in run if json.loads(json.dumps(run[name])) != before.get(name)]
    if unlike:
        raise ValueError(
            f"the parts in {folder} are of another run, which differs in {join_names(unlike)}, so "
            "--resume cannot use them: repeat that run as it was, or start over with --force."
        )


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Refuse a folder that another process works in; where the system has such locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    lock = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"another run of pkex is at work in {folder}: wait for it.") from None
        yield
    finally:
        os.close(lock)
