"""How ``pkex`` starts: quickly, and without the extra with a sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

import pkex
from pkex._util.extras import install_command
from pkex.cli import main
from tests._support.unchecked import unchecked

pytestmark = pytest.mark.frontend

HEAVY = (
    *("joblib", "matplotlib", "numpy", "pandas", "pyarrow", "scipy", "shap", "shapiq"),
    *("skops", "sklearn", "tqdm"),
)


def python(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("args", [["--help"], ["explain", "--help"], ["--version"], ["nothing"]])
def test_nothing_heavy_is_imported_before_a_command_runs(args):
    code = f"import sys; from pkex.cli import main; main({args!r}); print(*sys.modules)"
    done = python("-c", code)
    assert not {*HEAVY, "rich"} & set(done.stdout.splitlines()[-1].split()), done.stderr


def test_import_pkex_imports_nothing_heavy():
    done = python("-c", "import pkex, sys; print(*sys.modules)")
    assert not {*HEAVY, "typer", "rich"} & set(done.stdout.split())


def test_every_public_name_is_there():
    assert set(pkex._HOMES) <= set(pkex.__all__) <= set(dir(pkex))
    for name in pkex.__all__:
        value = getattr(pkex, name)
        if name in pkex._HOMES:
            assert value is getattr(import_module(f"pkex.{pkex._HOMES[name]}"), name)
        else:
            assert isinstance(value, ModuleType)
    with pytest.raises(AttributeError, match="module 'pkex' has no attribute 'nothing'"):
        _ = unchecked(pkex).nothing


@pytest.mark.parametrize("module", ["typer", "rich", "skops", "pandas", "pyarrow", "tqdm"])
def test_without_the_extra_a_sentence_says_what_to_install(module, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, module, None)
    assert main(["--help"]) == 2
    said = capsys.readouterr().err
    assert said == f"Error: pkex needs {module}: {install_command('pkex[cli]')}.\n"


def test_version_config_and_help(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"pkex {pkex.__version__}\n"
    assert main(["config", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert pkex.show_config("dicts").items() <= facts.items()
    assert {"pandas", "pyarrow", "skops"} <= set(facts)
    assert main(["config"]) == 0
    assert f"pkex                    {pkex.__version__}" in capsys.readouterr().out
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("explain", "drift", "dependence", "demo", "config"))
    assert main(["drift", "--help"]) == 0
    assert "Random seed of permutations, blocks and samples." in capsys.readouterr().out


def test_module_is_the_command_line():
    done = python("-m", "pkex", "--version")
    assert (done.returncode, done.stdout) == (0, f"pkex {pkex.__version__}\n")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nothing"], "No such command 'nothing'; see pkex --help."),
        (["--nothing"], "No such option: --nothing"),
        (["explain", "model.skops"], "Missing argument 'DATA'"),
        (["dependence", "data.csv"], "Missing option '--target'"),
        (["drift", "a", "b", "--permutations", "many"], "'--permutations'"),
        (["explain", "a", "b", "--removal", "sideways"], "--removal"),
    ],
)
def test_usage_errors_are_one_sentence(args, words, capsys):
    assert main(args) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    assert line.startswith("Error: ")
    assert words in line


def test_debugging_shows_the_traceback(monkeypatch):
    monkeypatch.setenv("PKEX_DEBUG", "1")
    with pytest.raises(ValueError, match=r"there is no file nothing\.csv"):
        main(["dependence", "nothing.csv", "--target", "a"])


@pytest.mark.parametrize("command", ["", "explain", "drift", "dependence", "demo", "config"])
def test_help_does_not_say_that_flags_take_something(command, capsys):
    assert main([*command.split(), "--help"]) == 0
    said = capsys.readouterr().out
    assert "--help" in said
    assert "bool" not in said.lower()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("pkex d", {"drift", "dependence", "demo"}),
        ("pkex explain --rem", {"--removal"}),
        (
            "pkex explain --removal ",
            {"product-of-marginals", "interventional", "conditional", "neutral"},
        ),
    ],
)
def test_a_shell_completes(words, expected):
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    result = subprocess.run(
        [sys.executable, "-c", "from pkex.cli import main; main()"],
        env=os.environ | asked | {"_PKEX_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(result.stdout.split()) == expected
