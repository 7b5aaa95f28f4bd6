"""The arguments and options of the commands, in bundles.

A bundle is a dataclass whose fields are made by `argument`, `option` and `flag`. The functions that
do the work of a command take bundles; typer gets one parameter for each of their fields.
"""

from __future__ import annotations

import csv
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_type_hints

import typer

from pkex.cli._config_file import use_config

if TYPE_CHECKING:
    from pkex.tables.files import Dialect

__all__ = [
    "ChangeOptions",
    "ConfigOptions",
    "DemoOptions",
    "DependenceOptions",
    "DriftOptions",
    "EffectsOptions",
    "ExplainOptions",
    "FileOptions",
    "ModelOptions",
    "Output",
    "PartOptions",
    "SensitivityOptions",
    "StatisticOptions",
    "fill_bundles",
    "signature",
    "split_names",
]

# panels of the help
_OUTPUT, _READING, _TEST = "Output", "Reading files", "Statistic and test"
_MONITORING = "Monitoring"


def argument(metavar: str, text: str) -> Any:
    """Return a field that is an argument."""
    return field(metadata={"parameter": lambda _: typer.Argument(metavar=metavar, help=text)})


def option(
    metavar: str,
    text: str,
    default: Any = None,
    *names: str,
    panel: str | None = None,
    least: int | None = None,
    check: Callable[..., object] | None = None,
    is_eager: bool = False,
) -> Any:
    """Return a field that is an option, by default of its name; `text` is its help."""

    def parameter(name: str) -> Any:
        return typer.Option(
            ... if default is MISSING else default,
            *(names or (f"--{name.replace('_', '-')}",)),
            help=text,
            rich_help_panel=panel,
            metavar=metavar,
            min=least,
            callback=check,
            is_eager=is_eager,
        )

    return field(default=default, metadata={"parameter": parameter})


test_option = partial(option, panel=_TEST)
read_option = partial(option, panel=_READING)


def flag(text: str, *names: str, panel: str | None = None) -> Any:
    """Return a field that is an option which takes nothing."""
    return option("", text, False, *names, panel=panel)


def split_names(text: str | None) -> tuple[str, ...]:
    """Return the names of a list with commas; a name with a comma in it is quoted.

    Examples
    --------
    >>> split_names('age,"height, cm"')
    ('age', 'height, cm')
    """
    if text is None:
        return ()
    return tuple(name.strip() for name in next(csv.reader([text], skipinitialspace=True), []))


def _check_jobs(count: int) -> int:
    if count == 0:
        raise ValueError("--n-jobs must not be 0: give a number of threads, or -1 for all cores.")
    return count


# fields that several bundles have
_model = partial(argument, "MODEL", "Model file: skops, or joblib with --trust.")
_columns_of_model = partial(
    option, "NAMES", "Columns in the order of the model, if it was fitted without names."
)
_groups = partial(
    option,
    "FILE",
    'Group features: JSON {"group": ["column", ...]}, or CSV with the columns column and group.',
)
_interactions = partial(flag, "Also compute the interactions of all pairs of features.")
_n_jobs = partial(option, "N", "Number of threads; -1 for all cores.", -1, check=_check_jobs)
_missing = partial(
    option,
    "drop|refuse",
    "Rows with missing values: drop them, or refuse the dataset (the default).",
    "refuse",
    panel=_READING,
)
_trust = partial(flag, "Load any model file, also pickles, which can run any code.")
_trust_type = partial(option, "TYPE", "Type to trust in a skops file; may be repeated.")
_out = partial(
    option, "DIR", "Directory for values, summary and report.", None, "--out", "-o", panel=_OUTPUT
)
_force = partial(flag, "Overwrite the results in DIR.", panel=_OUTPUT)
_as_json = partial(flag, "Print the summary as JSON and nothing else.", "--json", panel=_OUTPUT)
_hierarchy = partial(
    option,
    "FILE",
    'Owen and Winter values: JSON of nested groups, {"blood": ["s1", "s2"]}, or "correlation" '
    "to cluster the columns of the background.",
)
_OVO = "one output per class (the default) or per pair of classes (ovo)"
_outputs = partial(
    option,
    "classes|ovo|log-odds",
    f"Outputs of a classifier: for an SVC with three or more classes {_OVO}; log-odds of a "
    "classifier with probabilities.",
)


@dataclass(frozen=True)
class ExplainOptions:
    """A model, the rows to explain, and how to explain them."""

    model: Path = _model()
    data: Path = argument("DATA", "Rows to explain: CSV or Parquet.")
    background: Path | None = option(
        "FILE",
        "Background dataset, as in shap; by default the model's training points or support vectors "
        "serve as background.",
    )
    background_rows: str | None = option("ROWS", "Rows of the background to use, e.g. 0:100.")
    removal: Literal["product-of-marginals", "interventional", "conditional", "neutral"] | None = (
        option(
            "NAME",
            "How features are removed: product-of-marginals (features independent; the default "
            "without --background), interventional (as in shap; the default with it), conditional "
            "(given the other features, Gaussian) or neutral (kernel factor 1, PKeX-Shapley).",
        )
    )
    conditional_model: Literal["blocks", "chain"] | None = option(
        "blocks|chain",
        "With --removal conditional: Gaussian blocks of dependent columns (the default), or a "
        "Markov chain in the order of the columns, for lags of a series.",
    )
    rows: str | None = option("ROWS", "Rows to explain, counted from 0, e.g. 0:10,15.")
    columns: str | None = _columns_of_model()
    groups: Path | None = _groups()
    hierarchy: Path | None = _hierarchy()
    outputs: Literal["classes", "ovo", "log-odds"] | None = _outputs()
    output: str | None = option("NAME", "Explain one output only, by name or number.")
    id: str | None = option("COLUMN", "Column of DATA with row names; the model does not get it.")
    tol: float | None = option("ERROR", "Relative error to accept for speed, e.g. 1e-6.")
    interactions: bool = _interactions()
    influence: int | None = option(
        "K",
        "Also find the K training rows behind each prediction, and their influence on each "
        "Shapley value.",
        least=1,
    )
    n_jobs: int = _n_jobs()
    missing: Literal["keep", "drop", "refuse"] = option(
        "keep|drop|refuse",
        "Missing values: pass them to the model (keep), drop the rows that have them, or refuse "
        "the dataset (the default).",
        "refuse",
        panel=_READING,
    )
    trust: bool = _trust()
    trust_type: list[str] | None = _trust_type()


@dataclass(frozen=True)
class SensitivityOptions:
    """A model, the distribution of its features, and which indices to compute."""

    model: Path = _model()
    data: Path = argument("DATA", "Dataset with the distribution of the features: CSV or Parquet.")
    order: int = option("1|2", "Order of the indices; 2 adds all pairs of features.", 1)
    columns: str | None = _columns_of_model()
    groups: Path | None = _groups()
    outputs: Literal["classes", "ovo"] | None = option(
        "classes|ovo", f"Outputs of an SVC with three or more classes: {_OVO}."
    )
    n_jobs: int = _n_jobs()
    missing: Literal["drop", "refuse"] = _missing()
    trust: bool = _trust()
    trust_type: list[str] | None = _trust_type()


@dataclass(frozen=True)
class EffectsOptions:
    """A model, the background rows, and which curves to compute."""

    model: Path = _model()
    data: Path = argument("DATA", "Background dataset, which curves are averaged over.")
    features: str | None = option(
        "NAMES", "Features and pairs, e.g. bmi,s5,bmi&s5; by default those that vary most."
    )
    kind: Literal["average", "individual", "both", "ale"] = option(
        "average|individual|both|ale", "Partial dependence, ICE, both, or ALE.", "average"
    )
    grid_resolution: int = option("N", "Number of places of a feature, at most.", 100)
    std: bool = flag("Add posterior standard deviations of a Gaussian process.")
    columns: str | None = _columns_of_model()
    groups: Path | None = _groups()
    outputs: Literal["classes", "ovo", "log-odds"] | None = option(
        "classes|ovo|log-odds", f"Outputs of a classifier: {_OVO}, or log-odds."
    )
    n_jobs: int = _n_jobs()
    missing: Literal["drop", "refuse"] = _missing()
    trust: bool = _trust()
    trust_type: list[str] | None = _trust_type()


@dataclass(frozen=True)
class DriftOptions:
    """Two datasets, and when they differ."""

    reference: Path = argument(
        "REFERENCE", "Reference dataset: CSV, Parquet, or a file of MMDDrift.save (*.npz)."
    )
    current: Path = argument("CURRENT", "Current dataset: CSV or Parquet.")
    alpha: float = test_option("ALPHA", "Significance level.", 0.05)
    history: Path | None = option(
        "FILE",
        "Append the run as a line of JSON to FILE, and draw all its runs on a page beside it: "
        "runs.html for runs.jsonl.",
        panel=_MONITORING,
    )
    metrics: Path | None = option(
        "FILE",
        "Write metrics in the OpenMetrics text format, for Prometheus; the label monitor is the "
        "name of the file without its ending.",
        panel=_MONITORING,
    )


@dataclass(frozen=True)
class ChangeOptions:
    """A model, two datasets, and how their predictions are compared."""

    model: Path = _model()
    before: Path = argument("BEFORE", "Dataset of the first period: CSV or Parquet.")
    after: Path = argument("AFTER", "Dataset of the second period: CSV or Parquet.")
    target: str | None = option("COLUMN", "Target column: compare the squared errors as well.")
    background: Path | None = option(
        "FILE",
        "Background dataset, of other rows; by default rows of both datasets serve as background.",
    )
    columns: str | None = _columns_of_model()
    groups: Path | None = _groups()
    hierarchy: Path | None = _hierarchy()
    outputs: Literal["classes", "ovo", "log-odds"] | None = _outputs()
    n_jobs: int = _n_jobs()
    alpha: float = test_option("ALPHA", "Significance level.", 0.05)
    permutations: int = test_option("N", "Number of permutations.", 999, least=0)
    seed: int = test_option("N", "Random seed of permutations and background.", 0, least=0)
    missing: Literal["drop", "refuse"] = _missing()
    trust: bool = _trust()
    trust_type: list[str] | None = _trust_type()


ModelOptions: TypeAlias = ExplainOptions | SensitivityOptions | EffectsOptions | ChangeOptions


@dataclass(frozen=True)
class DependenceOptions:
    """A dataset and its target."""

    data: Path = argument("DATA", "Dataset: CSV or Parquet.")
    target: str = option("COLUMN", "Target column.", MISSING)
    top: str | None = option("COUNT", "Number or percentage of features to select: 5 or 20%.")


@dataclass(frozen=True)
class StatisticOptions:
    """Which features a statistic has, and how it is computed and tested."""

    columns: str | None = option("NAMES", "Columns to use, e.g. age,bmi.")
    exclude: str | None = option("NAMES", "Columns to leave out, e.g. id,day.")
    groups: Path | None = _groups()
    interactions: bool = _interactions()
    n_jobs: int = _n_jobs()
    permutations: int | None = test_option(
        "N", "Number of permutations (default 999, more for a small alpha).", least=0
    )
    kernel: Literal["median", "median-per-column"] = test_option(
        "NAME",
        "Length scale of the Gaussian kernel: the median distance per column, or one for all "
        "columns (median) if they have the same unit.",
        "median-per-column",
    )
    removal: Literal["product-of-marginals", "neutral"] = test_option(
        "NAME",
        "How features are removed: averaged out (product-of-marginals) or kernel factor 1 "
        "(neutral, PKeX-Shapley).",
        "product-of-marginals",
    )
    estimator: Literal["unbiased", "biased"] = test_option(
        "NAME", "Estimator of the statistic: unbiased or biased.", "unbiased"
    )
    block_size: int | None = test_option(
        "ROWS", "Average the statistic over random blocks of this many rows, for long tables."
    )
    sample: str | None = test_option(
        "ROWS|all",
        "Maximum number of rows, sampled at random (default 10000; all with --block-size).",
    )
    seed: int = test_option("N", "Random seed of permutations, blocks and samples.", 0, least=0)
    missing: Literal["separate", "drop", "refuse"] = option(
        "separate|drop|refuse",
        "Missing values: data, whose share is tested as well (separate, the default); drop the "
        "rows that have them; or refuse the dataset.",
        "separate",
        panel=_READING,
    )


@dataclass(frozen=True)
class FileOptions:
    """How files are read."""

    categorical: str | None = read_option(
        "NAMES", "Columns to treat as categorical although they hold numbers or dates."
    )
    delimiter: str | None = read_option("CHAR", "CSV delimiter; detected by default.")
    decimal: str = read_option("CHAR", "CSV decimal point.", ".")
    encoding: str = read_option("NAME", "CSV encoding.", "utf-8")

    def dialect(self) -> Dialect:
        """Return what the modules that read files take."""
        from pkex.tables.files import Dialect

        return Dialect(**vars(self) | {"categorical": split_names(self.categorical)})


@dataclass(frozen=True)
class Output:
    """Where results go, and how much is printed."""

    out: Path | None = _out()
    table_format: Literal["csv", "parquet"] = option(
        "csv|parquet", "Format of the values file.", "csv", "--format", panel=_OUTPUT
    )
    force: bool = _force()
    quiet: bool = flag("Print errors only.", "--quiet", "-q", panel=_OUTPUT)
    as_json: bool = _as_json()
    log: Path | None = option(
        "FILE", "Append messages with their times to a log file.", panel=_OUTPUT
    )
    config: Path | None = option(
        "FILE",
        "Options of this command from a TOML file; those of the command line count more. "
        "(The command pkex config, without dashes, prints the installation.)",
        check=use_config,
        is_eager=True,
    )


@dataclass(frozen=True)
class PartOptions:
    """How a long table is explained in parts."""

    resume: bool = flag("Resume an interrupted run.", panel=_OUTPUT)
    part_rows: int | None = option("N", "Rows per part of a long table.", panel=_OUTPUT, least=1)


@dataclass(frozen=True)
class DemoOptions:
    """Where the files of the demo go."""

    out: Path | None = _out()
    force: bool = _force()


@dataclass(frozen=True)
class ConfigOptions:
    """How the configuration is printed."""

    as_json: bool = _as_json()


def signature(bundles: Iterable[type[Any]]) -> inspect.Signature:
    """Return the fields of bundles as parameters of a function, for typer.

    Examples
    --------
    >>> list(signature([DemoOptions, ConfigOptions]).parameters)
    ['out', 'force', 'as_json']
    """
    parameters = []
    for bundle in bundles:
        types = get_type_hints(bundle)
        for one in fields(bundle):
            parameter = inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY)
            default = one.metadata["parameter"](one.name)
            parameters.append(parameter.replace(default=default, annotation=types[one.name]))
    return inspect.Signature(parameters)


def fill_bundles(bundles: Iterable[type[Any]], given: Mapping[str, Any]) -> list[Any]:
    """Return the bundles with the values of their fields.

    Examples
    --------
    >>> fill_bundles([ConfigOptions], {"out": None, "as_json": True})
    [ConfigOptions(as_json=True)]
    """
    return [bundle(**{one.name: given[one.name] for one in fields(bundle)}) for bundle in bundles]
