"""Write docs/summary.schema.json: the JSON Schema of summary.json, which the command line writes.

    python scripts/make_summary_schema.py

The schema is derived from the types in pkex.cli._summary that the commands build their summaries
of. A test compares the file with what this script makes, so that it cannot be out of date.
"""

import json
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from pkex._util.files import write_atomically
from pkex.cli import _summary

FILE = Path(__file__).parent.parent / "docs" / "summary.schema.json"

Schema = dict[str, Any]

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def schema() -> str:
    """Return the content of the file."""
    named: dict[str, Schema] = {}
    commands = [schema_of(summary_of(command), named) for command in _summary.COMMANDS]
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{_summary.FORMAT}, version {_summary.VERSION}",
        "description": "Content of summary.json, which `pkex explain`, `pkex drift`, "
        "`pkex dependence`, `pkex sensitivity` and `pkex change` write to --out and print with "
        "--json.",
        "oneOf": commands,
        "$defs": dict(sorted(named.items())),
    }
    return json.dumps(whole, indent=2) + "\n"


def summary_of(command: str) -> Any:
    """Return the type of the summary of a command."""
    make: Any = TypedDict  # of fields that are not known before
    inputs, result = _summary.COMMANDS[command]
    fields = get_type_hints(_summary.Summary, include_extras=True)
    fields |= {"command": Literal[command], "inputs": inputs, "result": result}
    kind = make(f"{command.title()}Summary", fields)
    kind.__doc__ = f"The summary of `pkex {command}`."
    return kind


def schema_of(kind: Any, named: dict[str, Schema]) -> Schema:
    """Return the schema of a type; dictionaries with fields go to `named`, and are referred to."""
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if is_typeddict(kind):
        if kind.__name__ not in named:
            named[kind.__name__] = _of_fields(kind, named)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        described = schema_of(arguments[0], named)
        for note in kind.__metadata__:
            keyword, value = ("description", note) if isinstance(note, str) else note
            described[keyword] = value
        return described
    if origin is Literal:
        return {"const": arguments[0]} if len(arguments) == 1 else {"enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": schema_of(arguments[0], named)}
    if origin is dict and arguments[0] is str:
        return {"type": "object", "additionalProperties": schema_of(arguments[1], named)}
    if origin in (Union, UnionType):
        return {"anyOf": [schema_of(argument, named) for argument in arguments]}
    raise TypeError(f"{kind} has no schema here; add it to this script.")


def _of_fields(kind: Any, named: dict[str, Schema]) -> Schema:
    """Return the schema of a typed dictionary."""
    required, properties = [], {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        optional = get_origin(hint) is NotRequired
        properties[name] = schema_of(get_args(hint)[0] if optional else hint, named)
        if not optional:
            required.append(name)
    description = str(kind.__doc__).partition("\n")[0]
    head = {} if kind.__doc__ is None else {"description": description}
    return {"type": "object", **head, "required": required, "properties": properties}


if __name__ == "__main__":
    content = schema().encode()
    write_atomically(FILE, lambda file: file.write(content), FILE.name)
