"""How figures and tables are written, and what methods are called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

PACKAGES = ("shap", "shapiq", "SALib", "sage-importance", "scikit-learn")


NAMES = {
    "pkex, default": "pkex by default (marginal removal), a call with one row",
    "pkex, default, a row of 100": "pkex by default, a row among 100",
    "pkex": "pkex, neutral removal, a call with one row",
    "pkex, a row of 100": "pkex, neutral removal, a row among 100",
    "pkex, NumPy": "pkex without a compiler (NumPy)",
    "prefix_suffix": "the paper's prefix-suffix algorithm, `pkex.reference.prefix_suffix`",
    "shapiq ProductKernel": "shapiq `ProductKernelExplainer`",
    "shap Permutation": "shap `PermutationExplainer`",
    "shap Sampling": "shap `SamplingExplainer`",
    "shap Kernel": "shap `KernelExplainer`",
    "shap Kernel, all features": "shap `KernelExplainer`, all features",
    "engine": "pkex",
    "NumPy backend": "pkex without a compiler (NumPy)",
    "newton": "the paper's algorithm with Newton's identities, `pkex.reference.newton`",
    "pkex interventional": "pkex, interventional",
    "pkex marginal": "pkex, marginal",
}


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table, all columns but the first aligned to the right."""
    rows = [list(head), ["---", *["---:"] * (len(head) - 1)], *map(list, lines)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def figure(number: float | None) -> str:
    """Return a number with two or three digits, or a dash."""
    if number is None:
        return "-"
    return f"{number:,.0f}" if number >= 10 else f"{number:#.2g}"


def difference(entry: dict[str, float]) -> str:
    """Return how far values are from the exact ones."""
    return f"{100.0 * entry['relative_difference']:.2g} %"


def versions(results: dict[str, Any]) -> str:
    """Return the versions of other packages, where they were stored."""
    config = results["config"]
    found = [f"{name} {config[name]}" for name in PACKAGES if name in config]
    return f"; {', '.join(found)}" if found else ""
