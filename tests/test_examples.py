"""The examples run, agree with the models they explain, and write their pictures."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.frontend

EXAMPLES = sorted(Path(__file__).parents[1].joinpath("examples").glob("*.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_example(script, tmp_path):
    target = tmp_path / "demo.png" if script.stem == "demo" else tmp_path
    result = subprocess.run(
        [sys.executable, str(script), str(target)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    gaps = re.findall(r"difference.*?(\d\.\de[-+]\d+)", result.stdout)
    assert gaps
    assert max(map(float, gaps)) < 1e-9
    pictures = list(tmp_path.glob("*.png"))
    assert [picture.stem for picture in pictures] == [script.stem]
    assert pictures[0].stat().st_size > 10_000
