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


def test_what_make_test_leaves_out_is_run_by_a_target_of_its_own():
    makefile = text("Makefile")
    options = tomllib.loads(text("pyproject.toml"))["tool"]["pytest"]["ini_options"]["addopts"]
    [left_out] = re.findall(r"OWN_TARGETS := (.+)", makefile)
    assert f"-m '{left_out}'" in options
    for marker in left_out.removeprefix("not ").split(" and not "):
        [lines] = re.findall(rf"^{marker}: .*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
        assert re.search(rf" -m {marker}\b", lines)
    assert "run: make nightly\n" in text(".github/workflows/nightly.yml")


def run_by_marker():
    """Yield markers with the folders in which a command looks for tests that have them."""
    for path in ("Makefile", "scripts/sanitize.sh", "pyproject.toml"):
        for chosen, paths in re.findall(
            r"pytest .*?-m ([a-z]\w+|\\?\"native[^\"]+\") (.+)", text(path)
        ):
            marker = re.findall(r"\w+", chosen)[0]
            yield marker, set(re.findall(r"\btests(?:/\w+)*(?:\.py)?", paths))


def test_what_has_a_marker_is_run_by_the_commands_that_choose_it():
    """Otherwise a test in another folder would run nowhere."""
    commands = list(run_by_marker())
    chosen = {marker for marker, _ in commands}
    assert chosen == {"nightly", "e2e", "browser", "notebook", "cluster", "torch", "native"}
    assert [marker for marker, _ in commands].count("native") == 2  # sanitizers, wheels
    for path in ROOT.joinpath("tests").rglob("*.py"):
        for marker in set(re.findall(r"\bmark\.(\w+)", path.read_text(encoding="utf-8"))):
            for asked, folders in commands:
                reached = any(path.is_relative_to(ROOT / folder) for folder in folders)
                assert marker != asked or reached, f"{path} is not run by the command for {marker}"


def test_types_of_tests_are_checked_and_no_module_is_left_out():
    mypy = tomllib.loads(text("pyproject.toml"))["tool"]["mypy"]
    assert {"src/pkex", "tests"} <= set(mypy["files"])
    assert not any("ignore_errors" in part for part in (mypy, *mypy["overrides"]))
    for path in ROOT.joinpath("tests").rglob("*.py"):
        head = path.read_text(encoding="utf-8").partition("\nimport ")[0]
        assert "# mypy:" not in head
        assert "\n# type: ignore" not in head


def test_other_systems_run_all_but_torch_and_clusters():
    makefile, workflow = text("Makefile"), text(".github/workflows/ci.yml")
    needs = {
        need
        for target in ("test", "docs", "browser", "notebook")
        for need in re.findall(rf"NEEDS_{target} := (.+)", makefile)[0].split()
    }
    [installed] = re.findall(r'--editable "\.\[(.+)\]"', workflow)
    assert set(installed.split(",")) == needs
    assert ' -m "not torch and not cluster and not nightly"\n' in workflow


def test_hooks_have_the_versions_of_the_other_checks():
    hooks = text(".pre-commit-config.yaml")
    extras = tomllib.loads(text("pyproject.toml"))["project"]["optional-dependencies"]
    [ruff] = [entry for entry in extras["dev"] if entry.startswith("ruff")]
    assert set(re.findall(r"ruff==[\d.]+", hooks)) == {ruff}
    [clang] = re.findall(r"clang-format==[\d.]+", text("scripts/check_native.sh"))
    assert set(re.findall(r"clang-format==[\d.]+", hooks)) == {clang}
    [actionlint] = re.findall(r"ACTIONLINT := (\S+)", text("Makefile"))
    assert re.findall(r'"(@\S+actionlint\S+)"', hooks) == [actionlint]
