"""What commands print in terminals of several widths, with and without colour, piped, in ASCII.

Each runs in a terminal of its own (a pty), as a person sees it; what it printed becomes a page.
A line that is wider than its terminal is an error.
"""

from __future__ import annotations

import fcntl
import html
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pandas as pd
import skops.io
from cases import long_model, mixed_model
from rich.ansi import AnsiDecoder
from rich.cells import cell_len
from rich.console import Console
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

__all__ = ["COMMANDS", "in_pipe", "in_terminal", "take"]

WIDTHS = (40, 60, 80, 120)
COMMANDS = {
    "help": "--help",
    "help-explain": "explain --help",
    "demo": "demo",
    "explain": "explain mixed.skops mixed.csv",
    "explain-background": "explain mixed.skops mixed.csv --rows 0:3 --background mixed.csv "
    "--background-rows 0:40",
    "explain-pairs": "explain digits.skops digits.csv --outputs ovo",
    "explain-names": "explain long.skops long.csv",
    "interactions": "explain mixed.skops mixed.csv --interactions --rows 0:20",
    "drift": "drift mixed.csv late.csv",
    "dependence": "dependence mixed_y.csv --target target",
    "sensitivity": "sensitivity mixed.skops mixed.csv --order 2",
    "error": "explain mixed.skops digits.csv",
}
LOOKS = {
    "no-color": {"NO_COLOR": "1"},
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "c-locale": {"LANG": "C", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    "dumb": {"TERM": "dumb"},
}


def files(folder: Path) -> None:
    """Write the models and tables that the commands read."""
    X, y = load_digits(return_X_y=True, as_frame=True)
    digits = make_pipeline(StandardScaler(), SVC()).fit(X[:300], y[:300])
    mixed, table, target = mixed_model()
    wide, rows = long_model()
    for name, model in (("digits", digits), ("mixed", mixed), ("long", wide)):
        skops.io.dump(model, folder / f"{name}.skops")
    late = table.assign(
        tails=table["tails"] + 1.0, town=table["town"].replace("Linz", "Eisenstadt")
    )
    tables = {"digits": X[300:330], "mixed": table, "long": rows, "late": late}
    tables["mixed_y"] = table.assign(target=target)
    for name, frame in tables.items():
        pd.DataFrame(frame).to_csv(folder / f"{name}.csv", index=False)


def environment(changes: dict[str, str] | None = None) -> dict[str, str]:
    """Return the variables of a usual terminal, and those of this look."""
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "LINES")}
    return (
        kept
        | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        | (changes or {})
    )


def in_terminal(
    command: str, folder: Path, width: int, changes: dict[str, str] | None = None, rows: int = 40
) -> str:
    """Return what a command prints in a terminal of this size."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, width, 0, 0))
    words = [sys.executable, "-m", "pkex", *command.split()]
    running = subprocess.Popen(
        words, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(changes)
    )
    os.close(theirs)
    taken = b""
    while True:
        ready, _, _ = select.select([ours], [], [], 300.0)
        try:
            part = os.read(ours, 65536) if ready else b""
        except OSError:  # as Linux says that the other end is closed
            part = b""
        if not part:
            break
        taken += part
    running.wait()
    os.close(ours)
    return taken.decode("utf-8", "replace").replace("\r\n", "\n")


def in_pipe(command: str, folder: Path) -> str:
    """Return what a command prints into a pipe."""
    words = [sys.executable, "-m", "pkex", *command.split()]
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, env=environment(), check=False
    )
    return done.stdout + done.stderr


def final(text: str) -> str:
    """Return what stays on the screen: a carriage return or an erased line starts it again."""
    kept: list[str] = []
    for line in text.split("\n"):
        for move in re.findall(r"\x1b\[(\d*)A", line):
            del kept[len(kept) - int(move or 1) :]
        kept.append(re.split(r"\r|\x1b\[2K", line)[-1])
    return re.sub(r"\x1b\[\?25[lh]|\x1b\[\d*[AK]", "", "\n".join(kept))


def widest(text: str) -> int:
    """Return the letters of the longest line."""
    return max(cell_len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in text.split("\n"))


def page(texts: dict[str, str]) -> str:
    """Return a page with what several terminals show, below each other."""
    parts = []
    for title, text in texts.items():
        width = max(20, widest(text))
        console = Console(record=True, width=width, file=open(os.devnull, "w"))  # noqa: SIM115
        for line in AnsiDecoder().decode(text):
            console.print(line, no_wrap=True)
        coloured = console.export_html(inline_styles=True, code_format="{code}")
        parts.append(f"<h2>{html.escape(title)}</h2><pre>{coloured}</pre>")
    look = (
        "body{font:14px monospace}pre{outline:1px solid #888;width:fit-content}h2{font-size:13px}"
    )
    return f"<!doctype html><meta charset='utf-8'><style>{look}</style>{''.join(parts)}"


def take(folder: Path, out: Path, wanted: str = "") -> list[str]:
    """Write a page for each command; return what is wrong."""
    files(folder)
    wrong = []
    for name, command in COMMANDS.items():
        if wanted not in name:
            continue
        seen = {}
        for width in WIDTHS:
            text = final(in_terminal(command, folder, width))
            seen[f"{name}, {width} columns"] = text
            if widest(text) > width:
                wrong.append(f"{name}: a line of {widest(text)} letters at {width} columns")
        for look, changes in LOOKS.items() if name in ("explain", "drift", "help") else ():
            seen[f"{name}, {look}"] = text = final(in_terminal(command, folder, 80, changes))
            if widest(text) > 80:
                wrong.append(f"{name}, {look}: a line of {widest(text)} letters at 80 columns")
        seen[f"{name}, no size"] = final(in_terminal(command, folder, 0, rows=0))
        seen[f"{name}, pipe"] = in_pipe(command, folder)
        (out / f"terminal-{name}.html").write_text(page(seen), encoding="utf-8")
    return wrong
