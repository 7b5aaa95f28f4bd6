"""summary.json is what docs/summary.schema.json says, and nothing besides."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Annotated, Literal, NotRequired, TypedDict

import pandas as pd
import pytest
import skops.io
from jsonschema import Draft202012Validator
from sklearn.svm import SVC

from pkex.cli import main
from pkex.cli._summary import document
from tests._support.unchecked import unchecked

pytestmark = pytest.mark.frontend

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = json.loads((DOCS / "summary.schema.json").read_text(encoding="utf-8"))


MAKER = runpy.run_path(str(DOCS.parent / "scripts" / "make_summary_schema.py"))


def closed(schema):
    """Return the schema with every object limited to the properties that it names."""
    if isinstance(schema, list):
        return [closed(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {key: closed(entry) for key, entry in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        strict.setdefault("additionalProperties", False)
    return strict


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "demo"
    assert main(["demo", "--out", str(folder)]) == 0
    table = pd.read_csv(folder / "diabetes.csv")
    labels = pd.cut(table.pop("progression"), 3, labels=["slow", "steady", "fast"]).astype(str)
    skops.io.dump(SVC().fit(table, labels), folder / "classes.skops")
    return folder


@pytest.mark.parametrize(
    "command",
    [
        "explain model.skops diabetes.csv --rows 0:5",
        "explain model.skops diabetes.csv --rows 0 --background older.csv --background-rows 0:9",
        "explain classes.skops diabetes.csv --rows 0:40",
        "explain classes.skops diabetes.csv --rows 7 --outputs ovo --id progression",
        "drift younger.csv older.csv --permutations 19",
        "drift younger.csv older.csv --permutations 19 --block-size 60",
        "dependence diabetes.csv --target progression --top 30% --permutations 9",
        "change model.skops younger.csv older.csv --permutations 19",
        "change classes.skops younger.csv older.csv --permutations 19 --background diabetes.csv",
        "dependence diabetes.csv --target sex --categorical sex --permutations 0",
    ],
)
def test_summaries_have_the_documented_schema(command, demo, monkeypatch, capsys):
    monkeypatch.chdir(demo)
    assert main([*command.split(), "--json"]) in (0, 1)
    summary = json.loads(capsys.readouterr().out)
    for schema in (SCHEMA, closed(SCHEMA)):
        Draft202012Validator.check_schema(schema)
        Draft202012Validator(schema).validate(summary)


def test_the_schema_is_derived_from_the_definition():
    found = (DOCS / "summary.schema.json").read_text(encoding="utf-8")
    assert found == MAKER["schema"](), "run scripts/make_summary_schema.py"


class Inner(TypedDict):
    """A dictionary in another."""

    count: Annotated[int, ("minimum", 0), "How many."]


class Outer(TypedDict):
    kind: Literal["a"]
    either: Literal["a", "b"]
    inner: Inner | None
    inners: NotRequired[Annotated[list[Inner], "Some."]]
    named: dict[str, bool]


def test_a_schema_says_what_a_type_does():
    named: dict[str, object] = {}
    assert MAKER["schema_of"](Outer, named) == {"$ref": "#/$defs/Outer"}
    inner = {"$ref": "#/$defs/Inner"}
    assert named == {
        "Inner": {
            "type": "object",
            "description": "A dictionary in another.",
            "required": ["count"],
            "properties": {"count": {"type": "integer", "minimum": 0, "description": "How many."}},
        },
        "Outer": {
            "type": "object",
            "required": ["kind", "either", "inner", "named"],
            "properties": {
                "kind": {"const": "a"},
                "either": {"enum": ["a", "b"]},
                "inner": {"anyOf": [inner, {"type": "null"}]},
                "inners": {"type": "array", "items": inner, "description": "Some."},
                "named": {"type": "object", "additionalProperties": {"type": "boolean"}},
            },
        },
    }
    with pytest.raises(TypeError, match="has no schema here"):
        MAKER["schema_of"](set[str], {})


def test_numbers_that_json_lacks_are_null():
    content = {"a": [1.5, float("nan")], "b": {"c": float("-inf"), "d": True, "e": "nan"}}
    text = document(unchecked(content))
    assert json.loads(text) == {"a": [1.5, None], "b": {"c": None, "d": True, "e": "nan"}}


def test_the_demo_shows_values_and_what_to_do_next(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    assert "pkex demo --out demo" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    assert main(["demo", "--out", "demo"]) == 0
    commands = [
        line.split()[1:] for line in capsys.readouterr().out.splitlines() if "  pkex " in line
    ]
    assert [main(command) for command in commands] == [0, 1, 0]
    for folder in ("explained", "drifted", "ranked"):
        names = {path.name for path in (tmp_path / folder).iterdir()}
        assert names == {"values.csv", "summary.json", "report.html"}
    assert main(["demo", "--out", "demo"]) == 2
    assert main(["demo", "--out", "demo", "--force"]) == 0
