"""Run experiments, draw their figures and write the page. See the package's docstring."""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import matplotlib as mpl
from threadpoolctl import threadpool_limits

from experiments import figures
from experiments.data import MissingDataError
from experiments.page import page
from experiments.record import Experiment, Job, Record, read
from pkex._util.files import write_atomically

NAMES = ("time", "regression", "recovery", "mmd", "hsic", "stability")
_MODULES = {"time": "scaling"}
HERE = Path(__file__).parent


def experiment(name: str) -> Experiment:
    """Return an experiment by its name."""
    module = import_module(f"experiments.{_MODULES.get(name, name)}")
    found: Experiment = module.EXPERIMENT
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line says, in one thread."""
    options = _parse(arguments)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # length scales at their bounds, old calls in packages
        _work(options)


def _work(options: argparse.Namespace) -> None:
    results, pictures, target = _places(options)
    chosen = [experiment(name) for name in options.names or NAMES]
    missing = []
    for one in [] if options.page else chosen:
        try:
            _run(one, results / f"{one.name}.json", options)
        except MissingDataError as error:  # the other experiments do not need it
            missing.append(f"{one.name} stopped: {error}")
    sections = []
    for path in [results / f"{name}.json" for name in NAMES]:
        record = read(path) if path.is_file() else None
        one = experiment(path.stem)
        if record is not None and (record["complete"] or one.partial):
            sections.append((one, record, _draw(one, record, pictures)))
    if sections:
        text = page(sections, "." if pictures == target.parent else pictures.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, lambda file: file.write(text.encode()), target.name)
        print(f"the page is {target}")
    elif not missing:
        missing = [f"there are no results in {results}; run some experiments first."]
    if missing:
        raise SystemExit("\n".join(missing))


def _places(options: argparse.Namespace) -> tuple[Path, Path, Path]:
    """Return the folders of results and of figures, and the page."""
    if options.output is None and options.size == "full":
        docs = HERE.parent / "docs"
        return HERE / "results", docs / "experiments", docs / "experiments.md"
    folder = options.output or HERE / "out" / options.size
    return folder, folder, folder / "experiments.md"


def _draw(one: Experiment, record: Record, folder: Path) -> list[str]:
    """Write the figures and return their names."""
    with mpl.rc_context(figures.STYLE):
        drawn = one.draw(record)
        for name, figure in drawn.items():
            figures.save(figure, folder, name)
    return list(drawn)


def _run(one: Experiment, path: Path, options: argparse.Namespace) -> None:
    parameters = dict(one.sizes[options.size]) | options.set
    unknown = set(parameters) - set(one.sizes[options.size])
    if unknown:
        raise SystemExit(
            f"{one.name} has no parameter {', '.join(sorted(unknown))}; it has "
            f"{', '.join(one.sizes[options.size])}."
        )
    words = ["python -m experiments", one.name]
    words += [] if options.size == "quick" else [f"--{options.size}"]
    words += [f"--set {key}={json.dumps(value)}" for key, value in options.set.items()]
    size = "partial" if options.set else options.size
    job = Job(one, parameters, path, options.data, size, " ".join(words))
    one.run(job)
    job.finish()


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(NAMES)}; or all")
    size = parser.add_mutually_exclusive_group()
    for name, text in (("full", "the paper's size"), ("smoke", "the smallest size")):
        size.add_argument(
            f"--{name}", dest="size", action="store_const", const=name, default="quick", help=text
        )
    parser.add_argument("--data", type=Path, help="folder of the data sets; or PKEX_DATA")
    parser.add_argument("--output", type=Path, help="folder for results, figures and page")
    parser.add_argument("--page", action="store_true", help="draw and write again, run nothing")
    parser.add_argument(
        "--set", action="append", default=[], type=_assignment, metavar="KEY=JSON",
        help="another value of a parameter",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no experiment {unknown[0]!r}; choose from {', '.join(NAMES)}")
    options.set = dict(options.set)
    if options.page and options.output is None and options.size == "quick":
        options.size = "full"  # the page of the documentation
    return options


def _assignment(text: str) -> tuple[str, Any]:
    key, _, value = text.partition("=")
    try:
        return key, json.loads(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form KEY=JSON") from error


if __name__ == "__main__":
    main()
