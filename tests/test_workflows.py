"""What is run for every commit: hooks, `.ci/run`, the workflows and the Makefile agree."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def made(source):
    """Return the targets that a script makes, without files."""
    return set(re.findall(r"\bmake ([a-z][a-z0-9-]*)(?![\w./-])", source))


def test_the_workflow_runs_what_the_script_runs():
    workflow = text(".github/workflows/ci.yml")
    [matrix] = re.findall(r"target:\n((?: +- [a-z0-9-]+\n)+)", workflow)
    code = "\n".join(line.partition("#")[0] for line in text(".ci/run").splitlines())
    assert made(code)
    assert made(code) <= made(workflow) | set(re.findall(r"- (\S+)", matrix))


def test_what_is_made_is_in_the_makefile_and_described():
    [phony] = re.findall(r"\.PHONY: ((?:.*\\\n)*.*)", text("Makefile"))
    targets = set(phony.replace("\\\n", " ").split())
    described = set(
        re.findall(r"^\| `make ([a-z0-9-]+)` \|", text("CONTRIBUTING.md"), re.MULTILINE)
    )
    assert described == targets
    [matrix] = re.findall(r"target:\n((?: +- [a-z0-9-]+\n)+)", text(".github/workflows/ci.yml"))
    assert set(re.findall(r"- (\S+)", matrix)) <= targets


def test_hooks_have_the_versions_of_the_other_checks():
    hooks = text(".pre-commit-config.yaml")
    extras = tomllib.loads(text("pyproject.toml"))["project"]["optional-dependencies"]
    [ruff] = [entry for entry in extras["dev"] if entry.startswith("ruff")]
    assert set(re.findall(r"ruff==[\d.]+", hooks)) == {ruff}
    [clang] = re.findall(r"clang-format==[\d.]+", text("scripts/check_native.sh"))
    assert set(re.findall(r"clang-format==[\d.]+", hooks)) == {clang}
    [actionlint] = re.findall(r"ACTIONLINT := (\S+)", text("Makefile"))
    assert re.findall(r'"(@\S+actionlint\S+)"', hooks) == [actionlint]
