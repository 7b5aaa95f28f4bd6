"""The help of a command, in plain lines that fit any terminal.

Options are listed under the headings of their panels, with their help beside the names or, in a
narrow terminal, below them; nothing is cut. Drawn frames would say no more,
and what draws them takes longer to import than everything else that ``pkex --help`` does.
"""

from __future__ import annotations

import inspect
import os
from shutil import get_terminal_size
from textwrap import fill
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

__all__ = ["Command", "Group"]

_WIDEST = 100  # lines longer than that are hard to read
_BESIDE = 60  # columns of a terminal from which on there is room beside names
_LONGEST = 22  # a longer name has a separate line

Rows = list[tuple[str, str]]


def _width() -> int:
    return min(get_terminal_size().columns, _WIDEST)


def _style(text: str, **style: Any) -> str:
    """Return text in a style, which typer removes where the output is not a terminal."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain else typer.style(text, **style)


def _fill(text: str, first: str, rest: str, spare: int = 0) -> str:
    """Return text in lines with some letters to spare; a default stays with its word."""
    return fill(
        text.replace("default: ", "default:\0"),
        _width() - spare,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ).replace("\0", " ")


def _table(rows: Rows) -> str:
    """Return names and what they mean."""
    beside = _width() >= _BESIDE
    names = [len(name) for name, _ in rows if len(name) <= _LONGEST]
    indent = " " * (max(names, default=0) + 4 if beside else 6)
    lines = []
    for name, text in rows:
        shown = f"  {_style(name, fg='cyan')}"
        if beside and len(name) + 4 <= len(indent):
            body = _fill(text, indent, indent).removeprefix(indent)
            lines.append(shown + " " * (len(indent) - len(name) - 2) + body)
        else:
            lines += [shown, *([_fill(text, indent, indent)] if text else [])]
    return "\n".join(lines)


def _paragraphs(text: str) -> list[str]:
    """Return the lines of a docstring; examples are indented and can be copied."""
    return [
        _fill(part, "  ", "    ", spare=2).replace("\n", " \\\n")
        if part.startswith("pkex ")
        else _fill(part, "", "")
        for part in inspect.cleandoc(text).split("\n\n")
    ]


class _Help:
    """What a command and all commands together have in common."""

    help: str | None
    epilog: str | None

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; of flags, ``--help`` among them, none takes a bool."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False) and param.metavar is None:
                param.metavar = ""
        return params

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of this command."""
        params = self.get_params(ctx)
        arguments = [param for param in params if param.param_type_name == "argument"]
        usage = [ctx.command_path, "[OPTIONS]", *(one.metavar for one in arguments)]
        parts = _paragraphs(self.help or "")
        panels: dict[str, Rows] = {}
        if arguments:
            panels["Arguments"] = [(one.metavar, one.help or "") for one in arguments]
        for param in params:
            record = param.get_help_record(ctx)
            if param not in arguments and record is not None:
                panels.setdefault(param.rich_help_panel or "Options", []).append(record)
        if isinstance(self, Group):
            usage.append("COMMAND [ARGUMENTS]")
            panels = {"Commands": self.commands_of(ctx), **panels}
        heading = _fill(" ".join(usage), "Usage: ", "  ").removeprefix("Usage:")
        parts.insert(0, _style("Usage:", bold=True) + heading)
        parts += [_style(f"{name}:", bold=True) + f"\n{_table(panels[name])}" for name in panels]
        parts += _paragraphs(self.epilog) if self.epilog else []
        formatter.write("\n\n".join(parts) + "\n")


class Command(_Help, TyperCommand):
    """One command."""


class Group(_Help, TyperGroup):
    """All commands together."""

    def commands_of(self, ctx: Any) -> Rows:
        """Return the commands, with the first paragraphs of their helps."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        return [
            (name, inspect.cleandoc(one.help or "").split("\n\n")[0])
            for name, one in commands
            if one is not None and not one.hidden
        ]
