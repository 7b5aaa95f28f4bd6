"""Which backend runs, and what is said about it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pkex
from pkex import backend, twin


def test_the_twin_can_be_forced(monkeypatch):
    monkeypatch.setenv("PKEX_BACKEND", "numpy")
    assert backend.game_class() is twin.Game
    assert pkex.show_config("dicts")["backend"] == "numpy"


def test_an_unknown_backend_is_refused(monkeypatch):
    monkeypatch.setenv("PKEX_BACKEND", "gpu")
    with pytest.raises(ValueError, match="PKEX_BACKEND is 'gpu'"):
        backend.game_class()


def test_a_missing_native_kernel_is_told_only_when_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "pkex.native", None)  # as if it had not been compiled
    monkeypatch.setenv("PKEX_BACKEND", "native")
    with pytest.raises(ImportError, match=r"installed without it.*C\+\+17"):
        backend.game_class()
    monkeypatch.setenv("PKEX_BACKEND", "auto")
    assert backend.game_class() is twin.Game


def test_the_configuration_is_printed(capsys):
    assert pkex.show_config() is None
    printed = capsys.readouterr().out
    for name in ("pkex", "backend", "compiler", "instruction set", "numpy"):
        assert name in printed
    with pytest.raises(ValueError, match="mode must be"):
        pkex.show_config("yaml")


def test_importing_pkex_imports_nothing_optional():
    """Heavy and optional packages are imported when used."""
    code = (
        "import sys, pkex; heavy = {'matplotlib', 'pandas', 'shap', 'shapiq', 'torch', 'sklearn.svm'}"
        "; print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
