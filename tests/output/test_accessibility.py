"""Reports and the documentation in headless Chromium: axe-core finds nothing, nothing overflows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import pkex
from pkex.output.report import write

axe = pytest.importorskip("axe_playwright_python.sync_playwright")
pytestmark = [pytest.mark.browser, pytest.mark.frontend]

DOCS = Path(__file__).parents[2] / "build" / "docs"
PAGES = [
    "index.html",
    "gallery/index.html",
    "gallery/plot_all_rows.html",
    "api/models.html",
    "howto/command_line.html",
]
LONG = "income of the household in the year before, with all that it had"
DESKTOP, PHONE = 1280, 390


@pytest.fixture
def opened(browser):
    contexts = []

    def at(url, width, scheme):
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            reduced_motion="reduce",
            bypass_csp=True,  # for the script of axe-core
        )
        contexts.append(context)
        page = context.new_page()
        page.goto(url)
        return page

    yield at
    for context in contexts:
        context.close()


def violations(page):
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{entry['id']}: {entry['help']}: {[node['html'][:120] for node in entry['nodes'][:3]]}"
        for entry in found
    ]


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=60), "town": rng.choice(["Graz", "Wien"], 60)})
    table[LONG] = rng.standard_t(1.0, 60)  # few of these are far out
    columns = make_column_transformer(
        (StandardScaler(), ["size", LONG]), (OneHotEncoder(), ["town"])
    )
    model = make_pipeline(columns, SVC()).fit(table, np.where(table["size"] > 0.2, "yes", "no"))
    explainer = pkex.Explainer(model)
    X, Z = rng.normal(size=(2, 60, 3))
    Z[:, 1] += 1.0
    process = GaussianProcessRegressor(alpha=0.1).fit(X, X[:, 0] * X[:, 1])
    attribution = pkex.mmd(X, Z, n_permutations=39, random_state=0)
    return {
        "explanation": (explainer(table), None),
        "explanation and pairs": (explainer(table), explainer.interactions(table)),
        "uncertain explanation": (pkex.Explainer(process)(X, return_std=True), None),
        "attribution": (attribution, None),
        "attribution and pairs": (attribution, attribution.interactions()),
        "sensitivity": (pkex.sensitivity(process, X, order=2), None),
        "change": (pkex.change(process, X[:30], Z, n_permutations=39, random_state=0), None),
    }


KINDS = [
    *("explanation", "explanation and pairs", "uncertain explanation"),
    *("attribution", "attribution and pairs", "sensitivity", "change"),
]


LOOKS = [(DESKTOP, "light"), (PHONE, "dark"), (DESKTOP, "dark"), (PHONE, "light")]


@pytest.mark.parametrize(
    ("kind", "width", "scheme"),
    [
        # what all reports have in common in every look, the rest of each in every width and scheme
        (kind, *look)
        for kind in KINDS
        for look in (LOOKS if kind in ("explanation", "attribution") else LOOKS[:2])
    ],
)
def test_reports(kind, scheme, width, results, opened, tmp_path):
    assert set(results) == set(KINDS)
    path = tmp_path / "report.html"
    result, interactions = results[kind]
    write(result, path, interactions=interactions)
    page = opened(path.as_uri(), width, scheme)
    assert violations(page) == []
    assert overflow(page) <= 0


def test_a_report_of_a_classifier_says_what_values_push_towards(results, opened, tmp_path):
    path = tmp_path / "report.html"
    write(results["explanation"][0], path)
    page = opened(path.as_uri(), 1280, "light")
    text = page.locator("main").inner_text()
    assert "no, yes" in text  # the classes, on top
    assert "pushes towards yes" in text
    assert "pushes towards no" in text
    assert (
        "Shapley value (+ towards yes, \u2212 towards no)"
        in page.locator("#beeswarm svg").first.text_content()
    )
    keys = page.locator("#beeswarm .key").all_inner_texts()
    assert [key.strip() for key in keys] == ["Wien", "Graz"]


@pytest.mark.parametrize(("width", "scheme"), LOOKS[:3])
@pytest.mark.parametrize("name", PAGES)
def test_pages(name, width, scheme, opened):
    page = opened((DOCS / name).as_uri(), width, scheme)
    assert violations(page) == []
    assert overflow(page) <= 0


def test_few_feature_values_far_out_do_not_squeeze_a_scatter(results, opened, tmp_path):
    path = tmp_path / "report.html"
    write(results["explanation"][0], path)
    page = opened(path.as_uri(), 1280, "light")
    page.get_by_label("Feature", exact=True).select_option(label=LONG)
    label = page.locator("#scatter .axis-label").first.text_content()
    assert "beyond, at the edges)" in label
