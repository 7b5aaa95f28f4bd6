"""The commands of docs/howto/command_line.md are run, and print what stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from pkex.cli import main

pytestmark = pytest.mark.frontend

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "command_line.md"


def test_the_commands_of_the_page_print_what_stands_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    sessions = [entry for block in blocks for entry in re.split(r"^\$ ", block, flags=re.M)[1:]]
    assert len(sessions) > 8
    code = None
    for number, session in enumerate(sessions):
        command, _, shown = session.partition("\n")
        program, *args = shlex.split(command)
        if program == "pip":
            assert args == ["install", ".[cli]"]
        elif program == "echo":
            assert shown == f"{code}\n"
        else:
            assert program == "pkex"
            if "--out" in args and Path(args[-1]).exists():
                args.append("--force")  # the page takes a name twice
            code = main(args)
            printed = capsys.readouterr()
            assert code in (0, 1), printed.err
            if shown:
                assert printed.err + printed.out == shown, f"command {number}: {command}"
