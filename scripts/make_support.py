"""Write docs/support.md: which models, kernels and transformers pkex reads, which not, and why.

    python scripts/make_support.py [--out PATH]

Everything on the page is asked of the code: the registry of readers says which classes are read,
the cases of tests/_support/models/ are the models that are fitted, explained and compared with
brute force in the tests, and the sentences of the refusals are those that a user gets. A test
compares the page with what this script makes. What is said of GPyTorch, BoTorch
and optimisers comes from a list that `make_torch_list.py` makes where they are installed.
"""

import argparse
import json
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pkex
from pkex import readers
from pkex._util.files import write_whole

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "support.md"
TORCH = ROOT / "tests" / "_support" / "torch_models" / "listed.json"

# what a sentence is about, so that models of which the same is said share a line
_SUBJECT = re.compile(
    r"^(the kernel of .+?(?= does not)|KernelDensity with .+?(?= does not)|this \w+(?= cannot)"
    r"|\w+(?= is not a model)|the kernel .+?(?= has a linear part))"
)
_EXAMPLES = 6  # tests that a line names

HEAD = """\
# What pkex explains, and what it refuses

<!-- made by scripts/make_support.py -->

`pkex.Explainer(model)` takes a fitted model as it comes. What is not on the first list, or has a
kernel that is no sum of products, is refused with an `UnsupportedModelError`; there is no
model that is explained on a guess. Every model under "tested as" is fitted to real data in the
tests; its values are compared with brute force over all coalitions, computed from the model's own
attributes, and base value plus values with the model's own output.

A feature that is absent is averaged over the model's own data, its training points or support
vectors, or with a background, `pkex.Explainer(model, X_train[:100])`, has the values of its rows;
see [what it means that a feature is absent](removal.md). Support vectors lie near the boundary, so
pass training rows where you have them. Only neutral removal, the paper's, does not go with kernels
that have a linear part: sums over columns or powers of these, of which no factor could become 1.
Positive values of a classifier's output speak for the class that names it, those of an output named
"a vs b" for a.
"""

NOTES = """\
What cannot be additive is explained one step earlier. The scores of an `SVC` with
`decision_function_shape="ovr"` and of a `OneVsOneClassifier` count votes, and votes are steps, so
the functions that vote are explained: for each class their mean, or with `outputs="pairs"` [one by
one](howto/outputs.md). For a `GaussianProcessClassifier` it is the latent mean, not
the probability; for a `KernelDensity` the density, not its logarithm. Where the log-odds of
probabilities are affine in a decision function, as those of a calibrated classifier and of logistic
regression, they are [explained as such](howto/outputs.md).

A linear model keeps no data: pass a background. With a Nystroem step in front of it, the landmarks
are its data.

A model with `kernel="precomputed"` or a function as kernel does not tell its kernel. Give it:
`pkex.Explainer(pkex.as_expansion(model, kernel=pkex.kernels.RBF(0.5), points=X_train))`; the points
are needed for `"precomputed"` only. pkex kernels can be given to scikit-learn as functions, too:
`SVC(kernel=pkex.kernels.Laplacian(2.0))` needs nothing else.
"""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=PAGE)
    out, text = parser.parse_args().out, page()
    write_whole(out, lambda file: file.write(text.encode()), out.name)


def page() -> str:
    """Return the page as text."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    models = import_module("tests._support.models")
    cases = [case for case in models.MODELS if case.listed]
    refusals = models.REFUSALS
    sections = [HEAD, *_models(cases), NOTES, *_kernels(cases, refusals), *_transformers(cases)]
    return "\n".join([*sections, *_refusals(refusals)])


def _models(cases: Iterable[Any]) -> Iterator[str]:
    yield "## Models\n"
    yield "| class | what is explained | names of outputs | tested as |"
    yield "|---|---|---|---|"
    torch = _torch()
    for name in readers.supported():
        if name in torch["readers"]:
            told, tested = torch["readers"][name], torch["cases"][name]
            yield _row((f"`{name}`", told, "", _listed([_Named(each) for each in tested])))
            continue
        mine = [case for case in cases if name in _readers_of(case.model())]
        outputs = dict.fromkeys(output for case in mine for output in case.outputs or ())
        shown = [f"`{output}`" for output in list(outputs)[:4]]
        cells = (_title(name, mine), _summary(name), ", ".join(shown), _listed(mine))
        yield _row(cells)
    yield ""


@dataclass(frozen=True)
class _Named:
    name: str


def _torch() -> dict[str, Any]:
    """Return what `scripts/make_torch_list.py` found, in an environment that has torch."""
    found: dict[str, Any] = json.loads(TORCH.read_text(encoding="utf-8"))
    return found


def _title(name: str, cases: Iterable[Any]) -> str:
    """Return the name of a class; for one that others derive from, with those in the tests."""
    title = f"`{name.removeprefix('sklearn.')}`"
    inside = [part for case in cases for part in _inside(case.model())]
    found = {type(part).__name__ for part in inside if _reader(part) == name}
    found -= {name.rpartition(".")[2]}
    return f"{title}: {', '.join(sorted(found))}, ..." if found else title


def _kernels(cases: Iterable[Any], refusals: Iterable[Any]) -> Iterator[str]:
    yield "## Kernels of Gaussian processes\n"
    yield "| kernel | explained in | refused in |"
    yield "|---|---|---|"
    explained: dict[str, list[Any]] = {}
    refused: dict[str, list[Any]] = {}
    for found, group in ((explained, cases), (refused, refusals)):
        for case in group:
            model = case.model() if found is explained else case.make()
            for kind in dict.fromkeys(_nodes(model)):
                found.setdefault(kind, []).append(case)
    for kind in sorted({*explained, *refused}):
        yield _row((f"`{kind}`", _listed(explained.get(kind, [])), _listed(refused.get(kind, []))))
    yield "\nA kernel with a `DotProduct` in it has no neutral removal.\n"
    yield (
        "Kernels of GPyTorch and BoTorch, and what BoTorch does to rows and outcomes; the"
        " `HammingKernel`\nis scikit-optimize's, whose others are those of scikit-learn:\n"
    )
    yield "| kernel or transform | explained in | refused in |"
    yield "|---|---|---|"
    for kind, both in _torch()["modules"].items():
        lists = [_listed([_Named(name) for name in names]) for names in both]
        yield _row((f"`{kind}`", *lists))
    yield ""


def _transformers(cases: Iterable[Any]) -> Iterator[str]:
    yield "## Steps of a pipeline\n"
    yield (
        "Columns that are made from one column of the input are one player, under its name. After a"
        " step that mixes\ncolumns its outputs are explained, and a warning says so; a step that is"
        " not on this list is taken to mix columns.\n"
    )
    yield "| step | columns | tested in |"
    yield "|---|---|---|"
    found: dict[tuple[str, str], list[Any]] = {}
    for case in cases:
        for kind in dict.fromkeys(_steps(case.model())):
            mixes = case.warns is not None and case.warns.startswith(kind)
            how = "mixed: its outputs are explained" if mixes else "each from one column"
            if kind == "Nystroem":
                how = "a part of the linear model behind it: the columns in front are explained"
            if mixes or case.warns is None:
                found.setdefault((kind, how), []).append(case)
    for (kind, how), group in sorted(found.items()):
        yield _row((f"`{kind}`", how, _listed(group)))
    yield ""


def _refusals(refusals: Iterable[Any]) -> Iterator[str]:
    yield "## Refused\n"
    yield "| model | what pkex says |"
    yield "|---|---|"
    alike: dict[str, list[Any]] = {}
    for refusal in refusals:
        alike.setdefault(_SUBJECT.sub("...", _sentence(refusal.make())), []).append(refusal)
    for sentence, group in alike.items():
        yield _row(("; ".join(refusal.name for refusal in group), sentence))
    for name, sentence in _torch()["refusals"].items():
        yield _row((name, sentence))
    yield ""


def _sentence(model: Any) -> str:
    """Return what a user is told about a model that is refused."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* mixes columns")
        try:
            pkex.Explainer(model)
        except pkex.UnsupportedModelError as error:
            return re.sub(r" at 0x[0-9a-f]+", "", str(error))
    raise RuntimeError(f"{model!r} is among the refusals of the tests, but it is explained.")


def _reader_of(model: Any) -> str:
    """Return the dotted name under which the reader of a model is registered."""
    names = (readers._public_name(cls) for cls in type(model).__mro__)
    return next(name for name in names if name in readers.supported())


def _readers_of(model: Any) -> set[str]:
    """Return the names of the reader of a model, and of those of linear models inside it."""
    inside = {_reader(part) for part in _inside(model)}
    linear = {name for name in inside if name and name.startswith("sklearn.linear_model.")}
    return linear | {_reader_of(model)}


def _summary(name: str) -> str:
    """Return the first line of the reader's docstring."""
    reader = readers._readers[name].load()
    line = (reader.__doc__ or "").split("\n")[0].replace("`", "")
    subject, _, what = line.partition(": ")
    return line if "refused" in subject else what or line


def _inside(model: Any) -> Iterator[Any]:
    """Yield the model and the estimators that it wraps."""
    yield model
    parts = [getattr(model, name, None) for name in ("best_estimator_", "regressor_", "estimator")]
    base = getattr(model, "base_estimator_", None)
    parts += [base, *getattr(model, "estimators_", []), *getattr(base, "estimators_", [])]
    parts += [step for _, step in getattr(model, "steps", [])]
    parts += [each.estimator for each in getattr(model, "calibrated_classifiers_", [])]
    parts += [getattr(model, "estimator_", None)]
    for part in parts:
        if hasattr(part, "get_params") and not isinstance(part, type):
            yield from _inside(part)


def _nodes(model: Any) -> Iterator[str]:
    """Yield the classes of the kernel trees inside a model."""
    for part in _inside(model):
        pending = [getattr(part, "kernel_", None)]
        while pending:
            node = pending.pop()
            if node is not None and hasattr(node, "theta"):
                if type(node).__name__ != "CompoundKernel":  # the kernels of several machines
                    yield type(node).__name__
                pending += [getattr(node, name, None) for name in ("k1", "k2", "kernel")]


def _steps(model: Any) -> Iterator[str]:
    """Yield the classes of the transformers inside a model."""
    parts = [*_inside(model)]
    titles = [type(part).__name__ for part in parts]
    if "Nystroem" in titles:  # what stands behind it is a part of the linear model
        parts = parts[: titles.index("Nystroem") + 1]
    for part in parts:
        nested = [step for _, step in getattr(part, "transformer_list", [])]
        nested += [step for _, step, _ in getattr(part, "transformers_", [])]
        for step in nested:
            if hasattr(step, "transform"):
                yield from _steps(step)
        if hasattr(part, "transform") and _reader(part) is None:
            yield type(part).__name__


def _reader(model: Any) -> str | None:
    try:
        return _reader_of(model)
    except StopIteration:
        return None


def _listed(cases: Sequence[Any]) -> str:
    more = f"; {len(cases) - _EXAMPLES} more" if len(cases) > _EXAMPLES else ""
    return "; ".join(case.name for case in cases[:_EXAMPLES]) + more


def _row(cells: Iterable[str]) -> str:
    escaped = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(escaped)} |"


if __name__ == "__main__":
    main()
