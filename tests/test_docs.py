"""The documentation is up to date: made pages, figures, and what the build must not fetch."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import pkex
from benchmarks import page as benchmarks_page
from benchmarks.page._format import machine, on_machine
from benchmarks.record import config, load
from pkex._util import p_values
from pkex.cli import _statistics
from pkex.models import removal
from pkex.output.report import _explanation as report
from pkex.statistics import block_mean, pair_weights
from simulations import page as simulations_page
from simulations import sensitivity_intervals

pytestmark = [pytest.mark.frontend, pytest.mark.docs]

ROOT = Path(__file__).parents[1]
PAGES = sorted(page for page in ROOT.glob("docs/**/*.md"))


def names(pages):
    return [str(page.relative_to(ROOT / "docs")) for page in pages]


def script(path):
    """Return what a script defines, without running it."""
    return runpy.run_path(str(ROOT / path))


def test_the_benchmark_page_is_made_from_the_results():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert page == benchmarks_page.page(), "run python -m benchmarks.page"


def test_the_figures_of_the_readme_are_those_of_the_benchmarks():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text == benchmarks_page.readme(text), "run python -m benchmarks.page"


def test_the_page_on_p_values_is_made_from_simulations():
    text = (ROOT / "docs" / "p_values.md").read_text(encoding="utf-8")
    assert text == simulations_page.page(), "run python -m simulations.page"


def test_the_coverage_of_intervals_is_that_of_the_simulation():
    text = sensitivity_intervals.PAGE.read_text(encoding="utf-8")
    assert text == sensitivity_intervals.page(text), (
        "run python -m simulations.sensitivity_intervals"
    )
    settings = json.loads(sensitivity_intervals.STORED.read_text(encoding="utf-8"))
    assert list(settings) == list(sensitivity_intervals.kernels())
    for one in settings.values():
        assert one["functions"] == sensitivity_intervals.FUNCTIONS
        assert all(abs(share - 0.9) <= 0.03 for share in one["coverage"].values())


def test_the_picture_of_the_data_flow_is_drawn_by_its_script():
    picture = (ROOT / "docs" / "images" / "dataflow.svg").read_text(encoding="utf-8")
    assert picture == script("scripts/make_dataflow.py")["draw"](), "run scripts/make_dataflow.py"


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_pictures_are_there_and_described(page):
    for text, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        assert text, f"{target} has no description for those who cannot see it"
        assert page.parent.joinpath(target).is_file()


def test_figures_come_from_the_code_of_their_pages():
    saved: dict[str, Any] = {}
    shown: set[tuple[str, Path]] = set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        saved |= dict.fromkeys(re.findall(r'savefig\("(\w+\.png)"', text), page)
        shown |= {(name, page) for name in re.findall(r"\]\([./]*images/(\w+\.png)\)", text)}
    screenshots = {(name, page) for name, page in shown if name.startswith(("report_", "screen_"))}
    assert shown - screenshots == set(saved.items())
    assert {name for name, _ in shown} == {p.name for p in ROOT.glob("docs/images/*.png")}


def test_the_page_on_architecture_names_every_module():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    entries = [path for path in ROOT.glob("src/pkex/*") if path.name[:3] != "__i"]
    modules = {path.name for path in entries if path.suffix == ".py"}
    packages = {f"{path.name}/" for path in entries if path.joinpath("__init__.py").is_file()}
    assert not {name for name in modules | packages if f"`{name}`" not in text}


def test_the_version_of_the_citation():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {pkex.__version__}\n" in citation


def test_the_page_on_wide_and_long_is_made_from_the_results():
    found = (ROOT / "docs" / "wide_and_long.md").read_text(encoding="utf-8")
    assert found == benchmarks_page.wide_and_long(), "run python -m benchmarks.page"


@pytest.mark.parametrize("page", ["benchmarks", "wide_and_long"])
def test_every_section_of_figures_says_its_machine(page):
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    _, *sections = text.split("\n## ")
    assert all("\nMeasured on " in section for section in sections)
    lettered = ["(machine " in section.partition("\n")[0] for section in sections]
    assert all(lettered) or not any(lettered)


def test_the_machine_is_in_the_heading_where_there_are_several():
    name = "neutral"
    own = machine(load(name))
    [alone] = on_machine(["## Title\n\nWords.\n"], [name], [own])
    assert alone == f"## Title\n\nMeasured on {own}.\n\nWords.\n"
    [second] = on_machine(["## Title\n\nWords.\n"], [name], ["another", own])
    assert second == f"## Title (machine B)\n\nMeasured on machine B: {own}.\n\nWords.\n"


def test_results_record_what_they_were_measured_on():
    found = config("numpy")
    assert {"processor", "cores", "machine", "instruction set", "date", "python"} <= set(found)
    assert found["processor"] in machine({"config": found})


def test_every_measured_figure_names_its_command():
    listed = script("scripts/list_claims.py")
    claims = [claim for page in listed["pages"]() for claim in listed["claims"](page)]
    assert len(claims) > 100
    assert not [claim for claim in claims if not claim.commands]


def test_the_memory_that_the_page_on_the_command_line_promises_was_measured():
    page = ROOT / "docs" / "howto" / "command_line.md"
    text = " ".join(page.read_text(encoding="utf-8").split())
    [promised] = re.findall(r"take less than (\d+) MB \(`python -m benchmarks.streaming`\)", text)
    assert load("streaming")["explain"]["memory"] < int(promised)


def most_columns_of_999(alpha=0.05):
    """Return for how many columns, of two tests each, 999 permutations are enough."""
    return max(k for k in range(1, 100) if p_values.choose_n_permutations(2 * k, alpha) == 999)


def widths(tol=None):
    return len(pkex.kernels.Matern(nu=2.5).mixture(tol).scales)


QUOTED = {
    "p_values.md": f"as is done with more than {pair_weights.UNITS} rows",
    "mathematics.md": f"with more than {pair_weights.UNITS} rows, and samples or classes",
    "benchmarks.md": f"support vectors of the model, at most {removal.MAX_ROWS} rows",
    "guide/removal.md": f"more than {removal.MAX_ROWS} of them, pkex uses a fixed subsample",
    "howto/reports.md": f"Up to {report.MAX_ROWS} rows and {report.MAX_FEATURES} features",
    "wide_and_long.md": f"Beyond {_statistics.SAMPLE:_} rows [`pkex drift`](".replace("_", " "),
    "guide/feature_selection.md": f"999 up to {most_columns_of_999()} columns",
    "guide/uncertainty.md": f"needs {widths()} widths, and with "
    f"`Explainer(..., tol=1e-6)` {widths(1e-6)}.",
}


def test_the_page_on_p_values_quotes_how_many_rows_are_permuted():
    text = " ".join((ROOT / "docs" / "p_values.md").read_text(encoding="utf-8").split())
    assert f"{block_mean._ALL_ROWS} of them at most; where there are more, on" in text
    assert f"on {block_mean._TEST_ROWS} at random" in text


@pytest.mark.parametrize(("page", "words"), QUOTED.items(), ids=QUOTED)
def test_pages_quote_constants_as_the_code_has_them(page, words):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert words in " ".join(text.split())


@pytest.mark.parametrize("function", [pkex.mmd, pkex.hsic])
def test_docstrings_quote_constants_as_the_code_has_them(function):
    text = " ".join(function.__doc__.split())
    assert f"Of more than {pair_weights.UNITS} rows" in text
    if function is pkex.mmd:
        assert f"of more than {block_mean._ALL_ROWS} rows looks at {block_mean._TEST_ROWS}" in text


def test_the_page_of_the_command_line_names_every_choice_of_outputs():
    from pkex.models.classes import OUTPUTS

    text = (ROOT / "docs" / "howto" / "command_line.md").read_text(encoding="utf-8")
    assert all(f"| `--outputs {name}` |" in text for name in OUTPUTS if name != "classes")
