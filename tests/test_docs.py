"""The documentation is up to date: made pages, figures, and what the build must not fetch."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

from benchmarks import page as benchmarks_page

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


@pytest.mark.parametrize(
    ("name", "page"), [("null_uniformity", "null"), ("column_levels", "levels")]
)
def test_pages_on_p_values_are_made_from_simulations(name, page):
    stored = (ROOT / "simulations" / f"{name}.json").read_text(encoding="utf-8")
    made = script(f"simulations/{name}.py")["page"](json.loads(stored))
    found = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert found == made, f"run python -m simulations.{name}"


def test_the_picture_of_the_data_flow_is_drawn_by_its_script():
    picture = (ROOT / "docs" / "images" / "dataflow.svg").read_text(encoding="utf-8")
    assert picture == script("scripts/make_dataflow.py")["picture"](), (
        "run scripts/make_dataflow.py"
    )


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_pictures_are_there_and_described(page):
    for text, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        assert text, f"{target} has no description for those who cannot see it"
        assert page.parent.joinpath(target).is_file()


def test_figures_come_from_the_code_of_their_pages():
    saved, shown = {}, set()
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
    import pkex

    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {pkex.__version__}\n" in citation


def test_the_page_on_wide_and_long_is_made_from_the_results():
    made = script("scripts/make_wide_and_long.py")
    found = (ROOT / "docs" / "wide_and_long.md").read_text(encoding="utf-8")
    assert found == made["page"](*made["measured"]()), "run scripts/make_wide_and_long.py"
