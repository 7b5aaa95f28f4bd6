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
    commands = [schema_of(command, named) for command in get_args(_summary.Summary)]
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
        found = schema_of(arguments[0], named)
        for said in kind.__metadata__:
            keyword, value = ("description", said) if isinstance(said, str) else said
            found[keyword] = value
        return found
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
