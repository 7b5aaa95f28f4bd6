"""Write the list of what is explained and refused of GPyTorch, BoTorch and optimisers.

    build/torch/bin/python scripts/make_torch_list.py

The page of support is made where there is no torch, and no optimiser. What it says of GPyTorch,
BoTorch, scikit-optimize, bayes_opt, BayBE and Ax is asked of the code here, where they are, and a
test of `make torch` compares the list with what this script makes.
"""

import json
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pkex
from pkex import readers
from pkex._util.files import write_atomically

ROOT = Path(__file__).parent.parent
LIST = ROOT / "tests" / "_support" / "torch_models" / "listed.json"

_LIBRARIES = ("gpytorch.", "botorch.", "skopt.", "bayes_opt.", "baybe.", "ax.")
_PACKAGES = ("gpytorch.kernels", "botorch.models.kernels", "botorch.models.transforms")


def main() -> None:
    """Write the list."""
    text = made()
    write_atomically(LIST, lambda file: file.write(text.encode()), LIST.name)


def made() -> str:
    """Return the list as text."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    folders = ("torch_models", "optimiser_models", "search_space_models")
    lists = [import_module(f"tests._support.{folder}") for folder in folders]
    names = [name for name in readers.supported() if name.startswith(_LIBRARIES)]
    cases: dict[str, list[str]] = {name: [] for name in names}
    modules: dict[str, tuple[list[str], list[str]]] = {}
    for case in (case for models in lists for case in models.MODELS):
        reader = _reader_of(case.model())
        if reader in names:  # not the process of scikit-learn that an optimiser holds
            cases[reader].append(case.name)
        for kind in _modules(case.model()):
            modules.setdefault(kind, ([], []))[0].append(case.name)
    refusals: dict[str, str] = {}
    for refusal in (refusal for models in lists for refusal in models.REFUSALS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = refusal.make()
            refusals[refusal.name] = _sentence(model)
        for kind in _modules(model):
            if kind in refusals[refusal.name]:
                modules.setdefault(kind, ([], []))[1].append(refusal.name)
    found = {
        "readers": {name: _summary(name) for name in names},
        "cases": cases,
        "modules": dict(sorted(modules.items())),
        "refusals": refusals,
    }
    return json.dumps(found, indent=1) + "\n"


def _reader_of(model: Any) -> str:
    every = (readers._public_name(cls) for cls in type(model).__mro__)
    return next(name for name in every if name in readers.supported())


def _modules(model: Any) -> Iterator[str]:
    """Yield the classes of the kernels and transforms of a model, each once.

    Of scikit-optimize's kernels that is the one that scikit-learn does not have.
    """
    if not hasattr(model, "modules"):
        if "HammingKernel" in repr(getattr(model, "kernel", None)):
            yield "HammingKernel"
        return
    found = [type(module) for module in model.modules()]
    ours = [cls.__name__ for cls in found if cls.__module__.startswith(_PACKAGES)]
    yield from dict.fromkeys(name for name in ours if not name.startswith("_"))


def _summary(name: str) -> str:
    line = (readers._readers[name].load().__doc__ or "").split("\n")[0].replace("`", "")
    subject, _, what = line.partition(": ")
    return line if "refused" in subject else what or line


def _sentence(model: Any) -> str:
    try:
        pkex.Explainer(model)
    except pkex.UnsupportedModelError as error:
        return str(error)
    raise RuntimeError(f"{type(model).__name__} is among the refusals, but it is explained.")


if __name__ == "__main__":
    main()
