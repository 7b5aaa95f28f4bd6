"""The command line, ``pkex``: explanations from a model file and a table, without Python.

This module imports the standard library only, which keeps ``pkex --help`` fast. `pkex.cli._app` has
the commands, `pkex.cli._options` their options.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main"]

_EXTRA = ("pandas", "pyarrow", "rich", "skops", "tqdm", "typer")


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line with `args`, by default those of the process, and return its exit code.

    0 is success, 1 drift, 2 an error, with a message on stderr, 130 Ctrl-C.
    """
    missing = [name for name in _EXTRA if find_spec(name) is None]
    if missing:
        from pkex._util.extras import install_command

        command = install_command("pkex[cli]")
        print(f"Error: pkex needs {', '.join(missing)}: {command}.", file=sys.stderr)
        return 2
    try:
        from pkex.cli._app import run
        from pkex.cli._signals import leave_at_once

        if args is None:
            leave_at_once()
        return run(sys.argv[1:] if args is None else list(args))
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
