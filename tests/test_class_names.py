"""Names of classes: no two are alike, so that one can be told without its module."""

import ast
from collections import Counter
from pathlib import Path

import pkex


def test_no_two_classes_have_one_name():
    modules = [
        ast.parse(path.read_text("utf-8")) for path in Path(pkex.__file__).parent.rglob("*.py")
    ]
    nodes = [node for module in modules for node in ast.walk(module)]
    names = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []
