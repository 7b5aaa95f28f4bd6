"""Files of results: an npz archive of arrays, one of which is a JSON header, and no pickle.

A file may be damaged, or made to do damage. Nothing in it is compressed, so that what is read is
never more than the file itself, and every array must fill its place exactly.
"""

from __future__ import annotations

import math
import os
import re
import zipfile
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

__all__ = ["Arrays", "read_arrays", "write_arrays"]

Arrays = dict[str, NDArray[Any]]

_NPY = re.compile(  # the start of an array as NumPy writes it: magic, version 1.0, length, header
    rb"\x93NUMPY\x01\x00(?P<length>[\x00-\xff]{2})"
    rb"\{'descr': '(?P<kind>[<>|][biuf][1248])', 'fortran_order': (?P<order>True|False), "
    rb"'shape': \((?P<shape>[0-9, ]{0,80})\), \} *\n"
)


def read_arrays(file: BinaryIO, expected: str) -> Arrays:
    """Return the arrays of a file; `expected` says in a message what is not compressed."""
    size = os.fstat(file.fileno()).st_size
    with zipfile.ZipFile(file) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError(f"its arrays are compressed, which {expected} are not")
        if sum(member.file_size for member in members) > size:
            raise ValueError("its arrays claim to be larger than the file")
        contents = {member.filename: archive.read(member) for member in members}
    return {name.removesuffix(".npy"): _array(data, size) for name, data in contents.items()}


def write_arrays(file: BinaryIO, arrays: Arrays) -> None:
    """Write arrays as `numpy.savez` does, and close the archive where a write fails.

    `savez` of NumPy 2.0 leaves it open, and Python complains when it is thrown away.
    """
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


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
