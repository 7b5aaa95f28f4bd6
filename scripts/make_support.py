"""Write docs/support.md, the models that pkex explains, and docs/support_details.md, all classes.

    python scripts/make_support.py [--out FOLDER]

Both are asked of the code: the registry of readers says which classes are read, each of a family,
and the cases of tests/_support/models/ which models the tests compare with brute force. A test has
both pages made again. What needs torch comes from a list that `make_torch_list.py` makes.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from io import BytesIO
from pathlib import Path
from shutil import copyfileobj
from typing import Any

import pkex
from pkex import readers
from pkex._util.files import write_atomically

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "support.md"
DETAILS = ROOT / "docs" / "support_details.md"
TORCH = ROOT / "tests" / "_support" / "torch_models" / "listed.json"

_EXAMPLES = 6  # tests that a line names

HEAD = """\
# Supported models

<!-- made by scripts/make_support.py -->

`pkex.Explainer(model)` takes a fitted model as it is. A model that it cannot explain exactly raises
`UnsupportedModelError`, with what to do instead.

| model family | what is explained | uncertainty | notes |
|---|---|---|---|
"""

TAIL = """\

Uncertainty means `return_std=True` and `explain_variance`, see [the guide](guide/uncertainty.md).
Kernels: RBF, Laplacian, Matern, rational quadratic, chi-squared, periodic, linear, polynomial and
custom ones; multiples, sums and products of these. All classes, kernels and pipeline steps that the
tests compare with brute force are in the [details](support_details.md).

## Not supported

| not supported | what to do instead |
|---|---|
"""


INSTEAD = {  # what is not supported, and what to do
    "trees, forests, boosting, neural networks": (
        "`shap.TreeExplainer`, `shap.DeepExplainer`: see [Which tool to use](comparison.md)"
    ),
    "probabilities": (
        "explain the decision function or the log-odds: see [Classifiers](guide/classifiers.md)"
    ),
    "ensembles of calibrated classifiers, isotonic calibration": (
        '`CalibratedClassifierCV(ensemble=False, method="sigmoid")`'
    ),
    "the sigmoid and cosine kernels": "train with an RBF kernel",
    "a product of two Matern or rational quadratic kernels": "one of them, times RBF kernels",
    '`kernel="precomputed"`, or a function as kernel': (
        "`pkex.as_expansion(model, kernel=pkex.kernels.RBF(0.5), points=X_train)`"
    ),
    "a subclass that overrides `predict`": (
        "explain the parent class, or [register a converter](howto/custom_model.md)"
    ),
    "a target transformed by a function that is not affine, such as a logarithm": (
        "explain the regressor inside, in its units"
    ),
    "BoTorch `SaasFullyBayesianMultiTaskGP`": (
        "a `MultiTaskGP`, or a `ModelListGP` with one sampled model for each task"
    ),
    "another kernel model": "[pass a `KernelExpansion`](howto/custom_model.md)",
}


@dataclass(frozen=True)
class _Family:
    """Models of which the same is said, by the names under which their readers are registered.

    `uncertain` is for wrappers and models that need torch; of others the tests' cases are asked.
    """

    title: str
    readers: tuple[str, ...]
    explained: str
    notes: str
    uncertain: str | None = None


FAMILIES = (
    _Family(
        "`SVR`, `NuSVR`, `KernelRidge`",
        ("sklearn.svm.SVR", "sklearn.svm.NuSVR", "sklearn.kernel_ridge.KernelRidge"),
        "`predict`",
        "one or several targets",
    ),
    _Family(
        "`SVC`, `NuSVC`",
        ("sklearn.svm.SVC", "sklearn.svm.NuSVC"),
        "decision function; for several classes the mean over its pairs",
        'pairs one by one: `outputs="ovo"`',
    ),
    _Family(
        "`OneClassSVM`",
        ("sklearn.svm.OneClassSVM", "sklearn.linear_model.SGDOneClassSVM"),
        "`decision_function`, positive for inliers",
        "pass training rows as background",
    ),
    _Family(
        "`GaussianProcessRegressor`, also of scikit-optimize and bayes_opt",
        (
            "sklearn.gaussian_process.GaussianProcessRegressor",
            "skopt.learning.gaussian_process.gpr.GaussianProcessRegressor",
            "bayes_opt.bayesian_optimization.BayesianOptimization",
        ),
        "mean, in the units of the target",
        "[bayes_opt and scikit-optimize](howto/optimisers.md)",
    ),
    _Family(
        "`GaussianProcessClassifier`",
        ("sklearn.gaussian_process.GaussianProcessClassifier",),
        "latent mean, not the probability",
        "several classes as the model has them",
        uncertain="yes",
    ),
    _Family(
        "exact processes of GPyTorch and BoTorch",
        (
            "gpytorch.models.exact_gp.ExactGP",
            "gpytorch.models.model_list.IndependentModelList",
            "botorch.models.gp_regression.SingleTaskGP",
        ),
        "posterior mean",
        "with input and outcome transforms",
        uncertain="yes",
    ),
    _Family(
        "`MultiTaskGP`, `KroneckerMultiTaskGP`, `PairwiseGP` of BoTorch",
        (
            "botorch.models.multitask.MultiTaskGP",
            "botorch.models.multitask.KroneckerMultiTaskGP",
            "botorch.models.pairwise_gp.PairwiseGP",
        ),
        "posterior mean; of preferences the latent utility",
        "the task is a feature, or fixed by `task=`",
        uncertain="yes",
    ),
    _Family(
        "campaigns and Gaussian processes of BayBE, clients and adapters of Ax",
        (
            "baybe.campaign.Campaign",
            "baybe.surrogates.gaussian_process.core.GaussianProcessSurrogate",
            "baybe.surrogates.composite.CompositeSurrogate",
            "ax.api.client.Client",
            "ax.adapter.torch.TorchAdapter",
        ),
        "posterior mean of every objective",
        "[parameters of the search space](howto/optimisers.md)",
        uncertain="yes",
    ),
    _Family(
        "variational, fully Bayesian and ensemble processes of GPyTorch and BoTorch",
        (
            "gpytorch.models.approximate_gp.ApproximateGP",
            "botorch.models.approximate_gp.SingleTaskVariationalGP",
            "botorch.models.fully_bayesian.AbstractFullyBayesianSingleTaskGP",
            "botorch.models.map_saas.EnsembleMapSaasSingleTaskGP",
        ),
        "mean of the latent process, or over the samples",
        "`ApproximateGP` needs a background",
        uncertain="yes",
    ),
    _Family(
        "`KernelPCA`, `KernelDensity`",
        ("sklearn.decomposition.KernelPCA", "sklearn.neighbors.KernelDensity"),
        "each component; the density, not its logarithm",
        "",
    ),
    _Family(
        "linear models: `Ridge`, `LogisticRegression`, `LinearSVC`, ...",
        (
            "sklearn.linear_model.LinearModel",
            "sklearn.linear_model.LinearClassifierMixin",
            "sklearn.linear_model.BaseSGDRegressor",
            "sklearn.linear_model.RANSACRegressor",
            "sklearn.linear_model.RidgeClassifier",
            "sklearn.linear_model.RidgeClassifierCV",
        ),
        "`predict`, decision function or log-odds",
        "need a background; not after `Nystroem`, whose landmarks serve as one",
    ),
    _Family(
        "`CalibratedClassifierCV`",
        ("sklearn.calibration.CalibratedClassifierCV",),
        "log-odds",
        "`ensemble=False`, sigmoid or temperature",
    ),
    _Family(
        "`OneVsRestClassifier`, `OneVsOneClassifier`, `MultiOutputRegressor`",
        (
            "sklearn.multiclass.OneVsRestClassifier",
            "sklearn.multiclass.OneVsOneClassifier",
            "sklearn.multioutput.MultiOutputRegressor",
        ),
        "one output for each class or target",
        "",
    ),
    _Family(
        "`Pipeline`, searches, `FrozenEstimator`, `TransformedTargetRegressor`",
        (
            "sklearn.pipeline.Pipeline",
            "sklearn.model_selection.BaseSearchCV",
            "sklearn.frozen.FrozenEstimator",
            "sklearn.compose.TransformedTargetRegressor",
        ),
        "the model inside, in the columns of the input",
        "after a step that combines columns, such as PCA, its outputs",
        uncertain="as the model inside",
    ),
)
UNSUPPORTED = {  # registered for their message
    "ax.adapter.base.Adapter",
    "baybe.surrogates.base.Surrogate",
}

DETAILS_HEAD = """\
# Supported models: details

<!-- made by scripts/make_support.py -->

[Supported models](support.md) is the short list. Here are all classes, kernels and pipeline steps.
Every model under "tested as" is fitted to real data in the tests. Its values are compared with
brute force over all coalitions, and base value plus values with the model's output.
"""


def main() -> None:
    """Write the pages."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=PAGE.parent, help="folder of the pages")
    folder = parser.parse_args().out
    for path, text in ((PAGE, page()), (DETAILS, details())):
        content = BytesIO(text.encode())
        write_atomically(folder / path.name, partial(copyfileobj, content), path.name)


def _cases() -> list[Any]:
    """Return the models that the tests fit, explain and compare."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return [case for case in import_module("tests._support.models").MODELS if case.listed]


def page() -> str:
    """Return the page of families as text."""
    listed = {name for family in FAMILIES for name in family.readers}
    if listed | UNSUPPORTED != set(readers.supported()):
        raise RuntimeError(f"not in a family: {set(readers.supported()) ^ listed ^ UNSUPPORTED}")
    uncertain = {_reader(case.model()) for case in _cases() if _has_posterior(case)}
    rows = []
    for family in FAMILIES:
        has = family.uncertain or ("yes" if uncertain & {*family.readers} else "no")
        rows.append(_row((family.title, family.explained, has, family.notes)))
    instead = [_row(cells) for cells in INSTEAD.items()]
    return HEAD + "\n".join(rows) + "\n" + TAIL + "\n".join(instead) + "\n"


def _has_posterior(case: Any) -> bool:
    """Return whether a model that is not a wrapper has standard deviations."""
    with warnings.catch_warnings(action="ignore"):
        expansion = pkex.as_expansion(case.model(), **case.given)
    return getattr(expansion, "posterior", None) is not None and len([*_inside(case.model())]) == 1


def details() -> str:
    """Return the page of classes, kernels and pipeline steps as text."""
    cases = _cases()
    refusals = import_module("tests._support.models").REFUSALS
    lines = [*_models(cases), *_kernels(cases, refusals), *_transformers(cases)]
    return "\n".join([DETAILS_HEAD, *lines])


def _models(cases: Iterable[Any]) -> Iterator[str]:
    yield "## Models\n"
    yield "| class | what is explained | names of outputs | tested as |"
    yield "|---|---|---|---|"
    torch = _torch()
    for name in readers.supported():
        if name in UNSUPPORTED:
            continue
        if name in torch["readers"]:
            yield _row((f"`{name}`", torch["readers"][name], "", _listed(torch["cases"][name])))
            continue
        mine = [case for case in cases if name in _readers_of(case.model())]
        outputs = dict.fromkeys(output for case in mine for output in case.outputs or ())
        shown = [f"`{output}`" for output in list(outputs)[:4]]
        tested = _listed([case.name for case in mine])
        yield _row((_title(name, mine), _summary(name), ", ".join(shown), tested))
    yield ""


def _torch() -> dict[str, Any]:
    """Return what `scripts/make_torch_list.py` found, in an environment that has torch."""
    return dict(json.loads(TORCH.read_text(encoding="utf-8")))


def _title(name: str, cases: Iterable[Any]) -> str:
    """Return the name of a class; for one that others derive from, with those in the tests."""
    title = f"`{name.removeprefix('sklearn.')}`"
    inside = [part for case in cases for part in _inside(case.model())]
    found = {type(part).__name__ for part in inside if _reader(part) == name}
    found -= {name.rpartition(".")[2]}
    return f"{title}: {', '.join(sorted(found))}, ..." if found else title


def _kernels(cases: Iterable[Any], refusals: Iterable[Any]) -> Iterator[str]:
    yield "## Kernels of Gaussian processes\n"
    yield "| kernel | supported in | not supported in |"
    yield "|---|---|---|"
    explained: dict[str, list[str]] = {}
    refused: dict[str, list[str]] = {}
    models = [(explained, case.name, case.model()) for case in cases]
    models += [(refused, case.name, case.make()) for case in refusals]
    for lists, name, model in models:
        for kind in dict.fromkeys(_nodes(model)):
            lists.setdefault(kind, []).append(name)
    for kind in sorted({*explained, *refused}):
        yield _row((f"`{kind}`", _listed(explained.get(kind, [])), _listed(refused.get(kind, []))))
    yield "\nNeutral removal does not support kernels with a `DotProduct`.\n"
    yield (
        "Kernels of GPyTorch and BoTorch, and what BoTorch does to rows and outcomes; the"
        " `HammingKernel`\nis scikit-optimize's, whose others are those of scikit-learn:\n"
    )
    yield "| kernel or transform | supported in | not supported in |"
    yield "|---|---|---|"
    for kind, both in _torch()["modules"].items():
        yield _row((f"`{kind}`", *map(_listed, both)))
    yield ""


def _transformers(cases: Iterable[Any]) -> Iterator[str]:
    yield "## Steps of a pipeline\n"
    yield (
        "Columns that are made from one column of the input are explained as one feature, under its"
        " name. After a\nstep that combines features its outputs are explained, with a warning. A"
        " step that is not on this list is\nassumed to combine features.\n"
    )
    yield "| step | columns | tested in |"
    yield "|---|---|---|"
    found: dict[tuple[str, str], list[str]] = {}
    for case in cases:
        for kind in dict.fromkeys(_steps(case.model())):
            mixes = case.warns is not None and case.warns.startswith(kind)
            how = "combined: its outputs are explained" if mixes else "each from one column"
            if kind == "Nystroem":
                how = "a part of the linear model behind it: the columns in front are explained"
            if mixes or case.warns is None:
                found.setdefault((kind, how), []).append(case.name)
    for (kind, how), group in sorted(found.items()):
        yield _row((f"`{kind}`", how, _listed(group)))
    yield ""


def _reader(model: Any) -> str | None:
    """Return the dotted name under which the reader of a model is registered; None without one."""
    names = (readers._public_name(cls) for cls in type(model).__mro__)
    return next((name for name in names if name in readers.supported()), None)


def _readers_of(model: Any) -> set[str | None]:
    """Return the names of the reader of a model, and of those of linear models inside it."""
    inside = {_reader(part) for part in _inside(model)}
    linear = {name for name in inside if name and name.startswith("sklearn.linear_model.")}
    return linear | {_reader(model)}


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


def _listed(names: Sequence[str]) -> str:
    more = f"; {len(names) - _EXAMPLES} more" if len(names) > _EXAMPLES else ""
    return "; ".join(names[:_EXAMPLES]) + more


def _row(cells: Iterable[str]) -> str:
    escaped = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(escaped)} |"


if __name__ == "__main__":
    main()
