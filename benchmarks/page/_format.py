"""How figures and tables are written, what methods are called, and where they were measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.record import load

PACKAGES = ("shap", "shapiq", "SALib", "sage-importance", "scikit-learn")


NAMES = {
    "pkex, default": "a call with one row",
    "pkex, default, a row of 100": "a row among 100",
    "pkex": "pkex, a call with one row",
    "pkex, a row of 100": "pkex, a row among 100",
    "pkex, NumPy": "pkex without a compiler (NumPy)",
    "prefix_suffix": "the paper's prefix-suffix algorithm, `pkex.reference.prefix_suffix`",
    "shapiq ProductKernel": "shapiq `ProductKernelExplainer`",
    "shap Permutation": "shap `PermutationExplainer`",
    "shap Sampling": "shap `SamplingExplainer`",
    "shap Kernel": "shap `KernelExplainer`",
    "shap Kernel, all features": "shap `KernelExplainer`, all features",
    "shapiq Tabular": "shapiq `TabularExplainer`",
    "engine": "pkex",
    "NumPy backend": "pkex without a compiler (NumPy)",
    "newton": "the paper's algorithm with Newton's identities, `pkex.reference.newton`",
    "pkex interventional": "pkex",
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


def difference(error: float) -> str:
    """Return how far values are from the exact ones, relative to the largest of them."""
    return f"{100.0 * error:.2g} %"


def versions(results: dict[str, Any]) -> str:
    """Return the versions of other packages, where they were stored."""
    config = results["config"]
    found = [f"{name} {config[name]}" for name in PACKAGES if name in config]
    return f"; {', '.join(found)}" if found else ""


def software(results: dict[str, Any]) -> str:
    """Return what the results were measured with."""
    return "pkex {pkex}, Python {python}, NumPy {numpy}, {compiler}".format(**results["config"])


def machine(results: dict[str, Any]) -> str:
    """Return what the results were measured on, as far as that was recorded."""
    config = results["config"]
    built = f"{config['machine']} with instruction set {config['instruction set']}"
    if "processor" not in config:
        return f"{built}, processor not recorded"
    return f"{config['processor']}, {config['cores']} cores, {built}"


def on_machine(parts: list[str], names: Sequence[str], machines: Sequence[str]) -> list[str]:
    """Return a section that says which machine the result files of its tables come from.

    Where the files of a page come from several machines, the heading has the letter of its own.
    """
    title, _, text = parts[0].partition("\n")
    used = distinct(machine(load(name)) for name in names)
    letters = [chr(ord("A") + machines.index(each)) for each in used]
    if len(machines) > 1:
        title += f" (machine {' and '.join(letters)})"
        used = [f"machine {letter}: {each}" for letter, each in zip(letters, used, strict=True)]
    dates = distinct(load(name)["config"].get("date", "") for name in names)
    when = f", on {' and '.join(dates)}" if all(dates) else ""
    return [f"{title}\n\nMeasured on {'; '.join(used)}{when}.\n{text}", *parts[1:]]


def distinct(values: Iterable[str]) -> list[str]:
    """Return what differs, in the order in which it is met."""
    return list(dict.fromkeys(values))
