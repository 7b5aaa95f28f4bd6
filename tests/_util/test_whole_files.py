"""Files that are replaced: whole, with the same mode, behind links, and only regular ones."""

import os
import socket
import stat

import numpy as np
import pytest

import pkex
from pkex._util.files import write_atomically

pytestmark = pytest.mark.frontend

TEXT = b"new"


def write(path):
    write_atomically(path, lambda file: file.write(TEXT), "name.txt")


def explanation():
    f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF())
    return pkex.Explainer(f, removal="neutral")([[0.0, 1.0]])


def attribution():
    rng = np.random.default_rng(0)
    return pkex.mmd(rng.normal(size=(9, 2)), rng.normal(size=(9, 2)))


WRITERS = {
    "whole": write,
    "save": lambda path: explanation().save(path),
    "report": lambda path: explanation().report(path),
    "report of an attribution": lambda path: attribution().report(path),
}
every_writer = pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS.keys())


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@every_writer
@pytest.mark.parametrize("bits", [0o600, 0o640, 0o666, 0o755])
def test_the_mode_of_what_is_replaced_is_kept(writer, bits, tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(bits)
    writer(path)
    assert path.read_bytes() != b"old"
    assert mode(path) == bits


def test_a_new_file_has_the_usual_mode(tmp_path):
    old = os.umask(0o027)
    try:
        write(tmp_path / "a")
    finally:
        os.umask(old)
    assert mode(tmp_path / "a") == 0o640


def test_nothing_can_be_read_before_the_mode_is_kept(tmp_path):
    path = tmp_path / "a"
    seen: list[int] = []
    path.write_text("old")
    path.chmod(0o600)

    def look(file):
        seen.extend(mode(entry) for entry in tmp_path.iterdir())

    write_atomically(path, look, "a")
    assert seen == [0o600, 0o600]


@every_writer
def test_a_link_stays_and_its_target_is_replaced(writer, tmp_path):
    target, link, chain = tmp_path / "folder" / "target", tmp_path / "link", tmp_path / "chain"
    target.parent.mkdir()
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to("folder/target")
    chain.symlink_to(link)
    writer(chain)
    assert chain.is_symlink()
    assert link.is_symlink()
    assert not target.is_symlink()
    assert target.read_bytes() != b"old"
    assert mode(target) == 0o600
    assert sorted(os.listdir(tmp_path)) == ["chain", "folder", "link"]
    assert os.listdir(target.parent) == ["target"]


def test_a_link_to_a_file_that_is_not_there_makes_it(tmp_path):
    (tmp_path / "link").symlink_to("target")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == TEXT


def _pipe(path):
    os.mkfifo(path)


def _socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))  # as names of sockets are short


def _link_to_pipe(path):
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def _circle(path):
    path.symlink_to(path.with_name("b"))
    path.with_name("b").symlink_to(path)


@every_writer
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_pipe, "is a pipe, which would be overwritten: give the name of a regular file"),
        (_socket, "is a socket, which"),
        (_link_to_pipe, "is a pipe, which"),
        (lambda path: path.symlink_to(os.devnull), "is a device, which"),
        (_circle, "is a link that leads nowhere"),
        (lambda path: path.mkdir(), "is a directory; give the name of a file, e.g. "),
    ],
)
def test_what_is_no_file_is_refused_and_left(writer, make, words, tmp_path):
    path = tmp_path / "a"
    make(path)
    before = sorted(os.listdir(tmp_path)), path.lstat().st_mode
    with pytest.raises(ValueError, match=words):
        writer(path)
    assert (sorted(os.listdir(tmp_path)), path.lstat().st_mode) == before


def test_the_device_of_nothing_stays_one():
    """Written to as root, it used to become a file that filled up."""
    with pytest.raises(ValueError, match="/dev/null is a device"):
        explanation().save(os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_file_without_permission_to_write_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda path, how: False)  # as root may do anything
    with pytest.raises(PermissionError, match="no permission to write"):
        write(path)
    assert path.read_text() == "old"
