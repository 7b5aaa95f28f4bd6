"""``pkex`` as typer runs it: its commands, and how it ends.

The options are in `_options`; the work is done by modules that are imported when a command is
called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from typing import Annotated, Any

import typer

import pkex
from pkex.cli import _options as options
from pkex.cli._help import Command, Group
from pkex.cli._log import LOGGER, log_to_stderr

__all__ = ["run"]

_FILES = (options.FileOptions, options.Output)  # of commands that read tables and write a result


app = typer.Typer(
    name="pkex",
    cls=Group,
    help="Exact Shapley values for kernel models, dataset drift and dependence.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # `_help` formats it
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 success, 1 drift or change detected (pkex drift, pkex change), 2 error, "
    "130 Ctrl-C.",
)


def command(module: str, *bundles: type[Any]) -> Callable[[Callable[[], None]], None]:
    """Make a name and its help a command with the options of some bundles.

    The work is done by the function of the same name in `module`, which is imported when the
    command is called. It takes the bundles and returns the exit code.
    """

    def declare(head: Callable[[], None]) -> None:
        @wraps(head)
        def run_work(**given: Any) -> int:
            work = getattr(import_module(f"pkex.cli.{module}"), head.__name__)
            code: int = work(*options.fill_bundles(bundles, given))
            return code

        vars(run_work)["__signature__"] = options.signature(bundles)
        app.command(cls=Command)(run_work)

    return declare


def _version(wanted: bool) -> None:
    if wanted:
        print(f"pkex {pkex.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[  # done by its callback
        bool,
        typer.Option(
            "--version", help="Print the version.", metavar="", callback=_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass


@command("_explain", options.ExplainOptions, *_FILES, options.PartOptions)
def explain() -> None:
    """Explain a model's predictions by Shapley values of the features.

    pkex explain model.skops patients.csv --background train.csv --out explained
    """


@command("_drift", options.DriftOptions, options.StatisticOptions, *_FILES)
def drift() -> None:
    """Test two datasets for drift (MMD), and attribute it to features.

    The exit code is 0 without drift, 1 with drift, 2 after an error.

    pkex drift january.parquet february.parquet --alpha 0.01 --out drifted
    """


@command("_statistics", options.DependenceOptions, options.StatisticOptions, *_FILES)
def dependence() -> None:
    """Test a target for dependence on features (HSIC), and rank the features.

    pkex dependence patients.csv --target progression --top 20% --out ranked
    """


@command("_sensitivity", options.SensitivityOptions, *_FILES)
def sensitivity() -> None:
    """Compute a model's global sensitivity: Sobol indices and Shapley effects.

    The indices assume that features are independent; group those that are not with --groups.

    pkex sensitivity model.skops patients.csv --order 2 --out driven
    """


@command("_change", options.ChangeOptions, *_FILES)
def change() -> None:
    """Attribute a change of a model's predictions between two datasets to features.

    The exit code is 0 without a change, 1 with a change, 2 after an error.

    pkex change model.skops january.csv february.csv --target price --out changed
    """


@command("_effects", options.EffectsOptions, *_FILES)
def effects() -> None:
    """Compute how predictions change with features: partial dependence, ICE, ALE.

    pkex effects model.skops patients.csv --features bmi,s5 --out curves
    """


@command("_demo", options.DemoOptions)
def demo() -> None:
    """Explain a model of scikit-learn's diabetes data; --out writes files to try pkex on."""


@command("_config", options.ConfigOptions)
def config() -> None:
    """Print the version, the backend and the libraries that pkex uses.

    Options of the other commands come from a file with their option --config FILE.
    """


@log_to_stderr()
def run(args: Sequence[str]) -> int:
    """Run a command; whatever it raises becomes a sentence and an exit code."""
    try:
        code = app(list(args) or ["--help"], prog_name="pkex", standalone_mode=False)
    except typer.Abort:  # typer's word for Ctrl-C, in older versions
        code = 130
    except Exception as error:
        if os.environ.get("PKEX_DEBUG"):
            raise
        LOGGER.error("%s", _sentence(error))
        return 2
    if code == 130:
        raise KeyboardInterrupt
    return code or 0


def _sentence(error: Exception) -> str:
    """Return what happened, in one line."""
    if hasattr(error, "format_message"):  # of typer: a command or an option that is wrong
        text = f"{error.format_message().rstrip('.')}; see pkex --help."
    elif isinstance(error, OSError) and error.filename and error.strerror:
        text = f"{error.filename}: {error.strerror}."
    elif isinstance(error, MemoryError):
        text = "there is not enough memory; take fewer rows."
    else:
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return " ".join(text.split()) or type(error).__name__
