"""``pkex config``: how pkex was built, and the versions of what it runs on."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version

import pkex
from pkex._util.terminal import print_text
from pkex.cli._options import ConfigOptions

__all__ = ["config"]

_LIBRARIES = ("scipy", "scikit-learn", "joblib", "pandas", "pyarrow", "skops", "typer", "rich")


def config(options: ConfigOptions) -> int:
    """Print `pkex.show_config` and the versions of the libraries."""
    facts = pkex.show_config("dicts") | {name: _version(name) for name in _LIBRARIES}
    if options.as_json:
        print_text(json.dumps(facts, indent=2))
    else:
        for name, value in facts.items():
            print_text(f"{name:<24}{value}")
    return 0


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
