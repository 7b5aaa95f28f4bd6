"""``--config FILE``: options of a command from a TOML file.

The file has a table for each command, with options as the command line spells them::

    [drift]
    alpha = 0.01
    exclude = ["id", "day"]
    history = "runs.jsonl"

Options of the command line count more. Names of files are relative to the folder of the TOML file,
so that a scheduled job does not depend on where it is started.
"""

from __future__ import annotations

import csv
import tomllib
from io import StringIO
from pathlib import Path
from typing import Any

import typer

from pkex._util.words import join_names

__all__ = ["use_config"]


def use_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the options of a file the defaults of a command; typer calls it before all others."""
    if path is not None:
        context.default_map = _options(path, context.command)
    return path


def _options(path: Path, command: Any) -> dict[str, Any]:
    """Return the values of options by the names of parameters."""
    params = {
        name.removeprefix("--"): param
        for param in command.params
        if param.param_type_name == "option" and param.name not in ("config", "help")
        for name in param.opts
        if name.startswith("--")
    }
    values = {}
    for key, value in _table(path, command.name).items():
        param = params.get(key.replace("_", "-"))
        if param is None:
            arguments = [p.name for p in command.params if p.param_type_name == "argument"]
            if key in arguments:
                raise ValueError(
                    f"{path}: {key} in [{command.name}] is an argument: pass it on the command "
                    "line."
                )
            raise ValueError(
                f"{path}: pkex {command.name} has no option {key!r}; it has "
                f"{', '.join(sorted(params))}."
            )
        values[param.name] = _value(path, key, value, param)
    return values


def _table(path: Path, command: str) -> dict[str, Any]:
    """Return the table of a command in a TOML file; none is an empty one."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}, which --config names.")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}.") from error
    commands = ("explain", "drift", "dependence", "sensitivity", "change", "effects")
    other = [key for key in content if key not in commands or not isinstance(content[key], dict)]
    if other:
        raise ValueError(
            f"{path} has {join_names(other)} outside the table of a command: options stand below "
            f"one of [{'], ['.join(commands)}]."
        )
    table: dict[str, Any] = content.get(command, {})
    return table


def _value(path: Path, key: str, value: Any, param: Any) -> Any:
    """Return what typer takes as the value of an option; wrong numbers and words it refuses."""
    plain = value if isinstance(value, list) else [value]
    if param.is_flag:
        if not isinstance(value, bool):
            raise ValueError(f"{path}: {key} must be true or false, got {value!r}.")
        return value
    if any(isinstance(one, bool) or not isinstance(one, str | int | float) for one in plain):
        raise ValueError(f"{path}: {key} must be text or a number, got {value!r}.")
    if param.multiple:
        return list(map(str, plain))
    if isinstance(value, list):
        if param.metavar != "NAMES":
            raise ValueError(f"{path}: {key} takes one value, got a list.")
        line = StringIO()
        csv.writer(line, lineterminator="").writerow(value)
        return line.getvalue()
    if param.metavar in ("FILE", "DIR"):
        return str(path.parent / str(value))
    return str(value)
