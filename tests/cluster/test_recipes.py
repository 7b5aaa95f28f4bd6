"""The recipes of docs/guide/scaling.md, each run once as it stands, in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.cluster

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "scaling.md"
RECIPES = dict(
    re.findall(
        r"^### (.+?)\n(?:(?!^### ).)*?```python\n((?!>>>).*?)```", PAGE.read_text(), re.M | re.S
    )
)

# what holds after each recipe
CHECKS = {
    "Dask through joblib": """
if __name__ == "__main__":
    same = pkex.Explainer(model, X[:100], n_jobs=1)(X)
    assert (explanation.values == same.values).all()
    again = pkex.mmd(X[:250], X[250:], n_permutations=99, n_jobs=1)
    assert drift.p_value is not None and drift.statistic == again.statistic
""",
    "Lazy collections of Dask": """
found = pd.read_parquet("values/").sort_index()
assert abs(found - explainer.explain_frame(X)[list(found.columns)]).max().max() < 1e-9
assert (importance > 0.0).all()
""",
    "Spark": """
expected = explainer.explain_frame(X).sort_values(list(X.columns)).to_numpy()
assert abs(collected.sort_values(list(X.columns)).to_numpy() - expected).max() < 1e-9
""",
    "Ray Data": """
frame = pkex.Explainer(SVR(C=50.0).fit(X, y)).explain_frame(X)
expected = frame.sort_values(list(X.columns)).to_numpy()
assert abs(collected.sort_values(list(X.columns)).to_numpy() - expected).max() < 1e-9
""",
}


def test_every_recipe_is_checked():
    assert set(RECIPES) == set(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_recipe(name, tmp_path):
    path = tmp_path / "recipe.py"
    path.write_text(RECIPES[name] + CHECKS[name], encoding="utf-8")
    own = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    subprocess.run(
        [sys.executable, path], cwd=tmp_path, check=True, timeout=240, env=os.environ | own
    )
