"""Files that are damaged or made to harm: whatever is wrong is a ValueError."""

import io
import json
import os
import random
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from pkex.results.explanation import Explanation
from tests._support.stored import (
    FILES,
    INDEXES,
    classified,
    content,
    example,
    loads,
    mutated,
    written,
)

pytestmark = pytest.mark.frontend


def test_a_small_archive_that_unpacks_to_a_large_one_is_refused(tmp_path):
    header, arrays = content(example()[:, :, "a"])
    n_rows = 2_000_000
    header.update(complete=False)
    arrays.update({name: np.zeros(n_rows) for name in ("base_values", "predictions")})
    arrays.update(values=np.zeros((n_rows, 2)), data=np.zeros((n_rows, 3)))
    path = written(tmp_path / "a.npz", header, arrays, np.savez_compressed)
    del arrays
    assert path.stat().st_size < 2**18
    tracemalloc.start()
    with pytest.raises(ValueError, match="compressed, which those of"):
        Explanation.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**21


def npy(shape, body=b"", kind="<f8"):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


@pytest.mark.parametrize(
    ("name", "member"),
    [
        ("values", npy((10**15, 2))),
        ("values", npy((10**15, 0))),
        ("values", npy((2**64, 2**64))),
        ("values", npy((0, 2, 10**9))),
        ("values", npy("(" * 200)),
        ("values", npy("9" * 60)),
        ("values", npy((1,), b"12345678", "|O")),
        ("values", b""),
        ("header", npy((10**12,), b"{}", "|u1")),
    ],
)
def test_arrays_that_claim_any_size(name, member, tmp_path):
    path = tmp_path / "a.npz"
    header, arrays = content()
    header["output_names"] = None
    written(tmp_path / "whole.npz", header, arrays)
    with zipfile.ZipFile(tmp_path / "whole.npz") as whole, zipfile.ZipFile(path, "w") as archive:
        for entry in whole.namelist():
            archive.writestr(entry, member if entry == f"{name}.npy" else whole.read(entry))
        if name == "values":
            empty = npy((0, 10**9)) if b"1000000000" in member else whole.read("base_values.npy")
            with pytest.warns(UserWarning, match="Duplicate name"):
                archive.writestr("base_values.npy", empty)
    with pytest.raises(ValueError, match=r"a\.npz is damaged"):
        Explanation.load(path)


def test_a_table_of_empty_rows_is_not_made(tmp_path):
    """A header of a few megabytes must not make a table of rows times columns."""
    header, arrays = content()
    del arrays["data"]
    header.update(column_names=["x"] * 200_000, data=[[]] * 200_000)
    with pytest.raises(ValueError, match="row 0 has 0 cells for 200000 columns"):
        Explanation.load(written(tmp_path / "a.npz", header, arrays))


def changed_member(path, offset, value):
    """Return the file with two bytes of the first member's entries changed, in both headers."""
    data = bytearray(path.read_bytes())
    for signature, place in ((b"PK\x03\x04", offset), (b"PK\x01\x02", offset + 2)):
        start = data.index(signature)
        data[start + place : start + place + 2] = struct.pack("<H", value)
    return bytes(data)


@pytest.mark.parametrize(
    ("offset", "value"),
    [(8, 1), (8, 9), (8, 12), (8, 14), (8, 99), (6, 1), (6, 32), (6, 64), (4, 99)],
    ids=str,
)
def test_compressions_and_flags_of_other_archives(offset, value, tmp_path):
    path = tmp_path / "a.npz"
    written(path, *content())
    path.write_bytes(changed_member(path, offset, value))
    with pytest.raises(ValueError, match=r"a\.npz is damaged"):
        Explanation.load(path)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null"])
def test_a_device_is_refused(path):
    with pytest.raises(ValueError, match="device or pipe, not a file saved by"):
        Explanation.load(path)


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="device or pipe, not a file saved by"):
        Explanation.load(tmp_path / "pipe")


@pytest.mark.parametrize("seed", range(8))
def test_any_bytes_may_change(seed, tmp_path):
    rng = random.Random(seed)
    source = FILES / ("explanation_v1_text.npz" if seed % 2 else "explanation_v1.npz")
    whole = source.read_bytes()
    directory = whole.index(b"PK\x01\x02")
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(rng.choice([1, 1, 2, 8])):
            start = directory if rng.random() < 0.4 else 0  # where damage is not found by a sum
            place = rng.randrange(start, len(data))
            if rng.random() < 0.8:
                data[place] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
            else:
                data[place : place + rng.randrange(20)] = rng.randbytes(rng.randrange(20))
        loads(tmp_path / "a.npz", bytes(data))


@pytest.mark.parametrize("seed", range(8))
def test_any_part_of_the_header_may_change(seed, tmp_path):
    rng = random.Random(seed)
    name = "explanation_v1_text.npz" if seed % 2 else "explanation_v1.npz"
    start = classified(INDEXES["several"]) if seed % 4 == 3 else Explanation.load(FILES / name)
    header, arrays = content(start)
    accepted = 0
    for _ in range(150):
        buffer, changed = io.BytesIO(), header
        for _ in range(rng.choice([1, 1, 2, 4])):
            changed = mutated(changed, rng)
            changed = changed if isinstance(changed, dict) else header
        document = json.dumps(changed).encode()
        np.savez(buffer, header=np.frombuffer(document, dtype=np.uint8), **arrays)
        accepted += loads(tmp_path / "a.npz", buffer.getvalue())
    assert accepted < 100  # most changes are found


@pytest.mark.parametrize("seed", range(4))
def test_any_array_may_change(seed, tmp_path):
    rng = np.random.default_rng(seed)
    header, arrays = content()
    for _ in range(100):
        changed = dict(arrays)
        name = str(rng.choice(list(arrays)))
        array = changed[name]
        changed[name] = [
            array[..., np.newaxis],
            array[:0],
            array.ravel(),
            array.astype(np.float32),
            array.astype(np.int8),
            array.astype(bool),
            array.astype(">f8"),
            np.asfortranarray(array)[::-1],
            np.array(3.0),
            np.full_like(array, rng.choice([np.nan, np.inf, 1e308, 5e-324])),
            np.zeros(rng.integers(0, 5, size=rng.integers(0, 6))),
        ][rng.integers(11)]
        buffer = io.BytesIO()
        document = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        np.savez(buffer, header=document, **changed)
        loads(tmp_path / "a.npz", buffer.getvalue())
