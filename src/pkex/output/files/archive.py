"""Files of results: an npz archive with a JSON header, and no pickle.

Arrays are stored as such. The header holds names and other small things; it names the format and
its version, so that a newer file is recognised as one. `pkex.output.files` says what is in which.

A file may be damaged, or made to do damage. Nothing in it is compressed, so that what is read is
never more than the file itself; every array must fill its place exactly; every entry of the header
has one type. Whatever is wrong with a file is a ValueError.
"""

from __future__ import annotations

import json
import math
import os
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from pkex._util.files import write_whole
from pkex._util.validation import brief
from pkex.output.files.header import as_count, typed

__all__ = ["Arrays", "Format", "Header", "write_arrays"]

Arrays = dict[str, NDArray[Any]]
Header = dict[str, Any]
Result = TypeVar("Result")

_NPY = re.compile(  # the start of an array as NumPy writes it: magic, version 1.0, length, header
    rb"\x93NUMPY\x01\x00(?P<length>[\x00-\xff]{2})"
    rb"\{'descr': '(?P<kind>[<>|][biuf][1248])', 'fortran_order': (?P<order>True|False), "
    rb"'shape': \((?P<shape>[0-9, ]{0,80})\), \} *\n"
)


@dataclass(frozen=True)
class Format:
    """The files of one class of results.

    Attributes
    ----------
    name : str
        The class, e.g. "Explanation".
    version : int
        The newest format that is known, which is written.
    """

    name: str
    version: int

    def packed(self, header: Header, arrays: Arrays) -> Arrays:
        """Return the arrays of a file, the first of which is the header."""
        full = {"format": f"pkex.{self.name}", "version": self.version, **header}
        document = json.dumps(full, allow_nan=False).encode()
        return {"header": np.frombuffer(document, dtype=np.uint8), **arrays}

    def save(self, path: str | os.PathLike[str], packed: Arrays) -> None:
        """Write the arrays to `path`, whole or not at all."""
        write_whole(path, lambda file: write_arrays(file, packed), "name.npz")

    def load(
        self, path: str | os.PathLike[str], unpack: Callable[[Header, Arrays], Result]
    ) -> Result:
        """Return what `unpack` makes of the header and the arrays in `path`."""
        found = Path(path)
        if found.exists() and not found.is_file():
            what = "directory" if found.is_dir() else "device or pipe"
            raise ValueError(f"{path} is a {what}, not a file saved by {self.name}.save.")
        with found.open("rb") as file:
            try:
                header, arrays = self._read(file)
            except Exception as error:  # zipfile and json raise many kinds
                raise ValueError(
                    f"{path} is damaged or was not written by {self.name}.save ({_reason(error)})."
                ) from error
        if header["version"] > self.version:
            raise ValueError(
                f"{path} has format version {brief(header['version'])}, but this pkex reads up to "
                f"{self.version}; update pkex to read it."
            )
        try:
            return unpack(header, arrays)
        except Exception as error:
            raise ValueError(
                f"{path} is damaged: its parts do not fit together ({_reason(error)})."
            ) from error

    def _read(self, file: BinaryIO) -> tuple[Header, Arrays]:
        """Return the header and the arrays of a file."""
        size = os.fstat(file.fileno()).st_size
        with zipfile.ZipFile(file) as archive:
            members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
            if any(member.compress_type != zipfile.ZIP_STORED for member in members):
                raise ValueError(
                    f"its arrays are compressed, which those of {self.name}.save are not"
                )
            if sum(member.file_size for member in members) > size:
                raise ValueError("its arrays claim to be larger than the file")
            contents = {member.filename: archive.read(member) for member in members}
        arrays = {name.removesuffix(".npy"): _array(data, size) for name, data in contents.items()}
        header = typed(json.loads(arrays.pop("header").tobytes()), dict, "the header")
        name = header["format"]
        if name != f"pkex.{self.name}" or as_count(header["version"]) < 1:
            raise ValueError(f"its format is {brief(name)}")
        return header, arrays


def write_arrays(file: BinaryIO, arrays: Arrays) -> None:
    """Write arrays as `numpy.savez` does, and close the archive where a write fails.

    `savez` of NumPy 2.0 leaves it open, and Python complains when it is thrown away.
    """
    archive = zipfile.ZipFile(file, "w")
    try:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
    finally:
        archive.close()


def _array(content: bytes, limit: int) -> NDArray[Any]:
    """Return the array of an npy file; NumPy's own reader would evaluate the header."""
    start = _NPY.match(content)
    if start is None or start.end() != 10 + int.from_bytes(start["length"], "little"):
        raise ValueError("one of its arrays is not of numbers")
    kind = np.dtype(start["kind"].decode())
    shape = tuple(int(part) for part in start["shape"].split(b",") if part.strip())
    filled = math.prod(shape) * kind.itemsize == len(content) - start.end()
    if not filled or max(shape, default=0) > limit:  # one without entries may claim any size
        raise ValueError(f"an array of shape {shape} does not fill its place")
    flipped = start["order"] == b"True"  # the first index runs fastest
    place = shape[::-1] if flipped else shape
    stored = np.ndarray(place, kind, buffer=content, offset=start.end())
    return np.array(stored.T if flipped else stored, dtype=kind.newbyteorder("="))


def _reason(error: Exception) -> str:
    """Return in a few words what is wrong."""
    if isinstance(error, KeyError):
        return f"it lacks {brief(error.args[0]) if error.args else 'a part'}"
    return str(error) or type(error).__name__
