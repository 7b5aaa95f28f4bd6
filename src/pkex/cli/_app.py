"""``pkex`` as typer runs it: its commands, and how it ends.

The commands and their options stand in `_model_commands` and `_table_commands`; the work is done by
modules that each command imports when it is called.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

import pkex
from pkex._util.terminal import printable, wrapped
from pkex.cli._help import Command, Group
from pkex.cli._model_commands import explain, sensitivity
from pkex.cli._options import Force, Json, Out, expanded, option
from pkex.cli._table_commands import depend, drift

__all__ = ["run"]


app = typer.Typer(
    name="pkex",
    cls=Group,
    help="Exact Shapley values for kernel machines, for drift between tables, for dependence.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the help is of our own
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 success, 1 drift (of pkex drift), 2 error, 130 Ctrl-C.",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"pkex {pkex.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[  # done by its callback
        bool, option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


for _command in (explain, drift, depend, sensitivity):
    app.command(cls=Command)(expanded(_command))


@app.command(cls=Command)
def demo(out: Out = None, force: Force = False) -> int:
    """Explain a model of scikit-learn's diabetes data, and write files to try the others on."""
    from pkex.cli._demo import demo as work

    return work(out, force)


@app.command(cls=Command)
def config(as_json: Json = False) -> int:
    """Print how pkex was built and what it runs on."""
    from pkex.cli._config import config as work

    return work(as_json)


def run(args: Sequence[str]) -> int:
    """Run a command; whatever it raises becomes a sentence and an exit code."""
    try:
        code = app(list(args) or ["--help"], prog_name="pkex", standalone_mode=False)
    except typer.Abort:  # typer's word for Ctrl-C, in older versions
        code = 130
    except Exception as error:
        if os.environ.get("PKEX_DEBUG"):
            raise
        print(wrapped(f"Error: {_sentence(error)}", sys.stderr), file=sys.stderr)
        return 2
    if code == 130:
        raise KeyboardInterrupt
    return code or 0


def _sentence(error: Exception) -> str:
    """Return what happened, in one line."""
    if hasattr(error, "format_message"):  # of typer: a command or an option that is wrong
        text = f"{error.format_message().rstrip('.')}; see pkex --help."
    elif isinstance(error, OSError) and error.filename and error.strerror:
        text = f"{error.filename}: {error.strerror}."
    elif isinstance(error, MemoryError):
        text = "there is not enough memory; take fewer rows."
    else:
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return printable(" ".join(text.split()) or type(error).__name__)
