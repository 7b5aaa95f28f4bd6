"""The section on interactions in headless Chromium: heat map, top pairs, the plot of a pair."""

import numpy as np
import pandas as pd
import pytest

import pkex
from pkex.kernels import RBF, Categorical
from tests._support.explanations import changed
from tests.output.conftest import ALERT

pytestmark = [pytest.mark.browser, pytest.mark.frontend]


@pytest.fixture(scope="module")
def model():
    """A sum of two columns' product, a group, a column of text codes; two outputs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)).round(3)
    X[:, 4] = rng.integers(0, 3, 60)
    alpha = np.stack([X[:, 0] * X[:, 1], X[:, 1] * X[:, 2]], axis=1)
    kernel = RBF(1.5, columns=range(4)) * Categorical(0.3, columns=[4])
    names = (ALERT, "bmi", "age", "height", "town")
    f = pkex.KernelExpansion(X, alpha, kernel, [0.0, 0.0], names, output_names=["first", "second"])
    explainer = pkex.Explainer(f, X[:10], groups={"body": ["height", "age"]})
    return explainer(X), explainer.interactions(X)


def test_a_model_shows_its_pairs(open_report, model):
    explanation, interactions = model
    page = open_report(explanation, interactions=interactions)
    assert page.locator("#nav a").all_text_contents()[-2:] == ["Interactions", "Method"]
    assert page.locator("#heat rect.cell").count() == 4 * 3
    [top] = interactions.top(1) and [page.locator("#pairs button").first.text_content()]
    size = np.abs(interactions.pairs[..., 0]).mean(axis=0)
    i, j = sorted(np.unravel_index(size.argmax(), size.shape))
    assert top == f"{interactions.feature_names[i]} & {interactions.feature_names[j]}"
    assert page.locator("#pair circle").count() == 60
    shown = page.locator("#pairs tbody tr").first.locator("td").first.text_content()
    assert float(shown) == pytest.approx(size.max(), rel=1e-3)


def test_a_pair_is_chosen_by_keyboard_and_by_click(open_report, model):
    page = open_report(model[0], interactions=model[1])
    button = page.locator("#pairs button").nth(1)
    button.focus()
    page.keyboard.press("Enter")
    assert page.locator("#pair-sentence").text_content().startswith(button.text_content())
    page.locator("#heat rect.cell").first.click()
    chosen = page.locator("#heat rect.chosen")
    assert chosen.count() == 2  # on both sides of the diagonal
    names = page.locator("#heat text title").all_text_contents()
    assert set(page.locator("#pair-sentence").text_content().split(":")[0].split(" & ")) == set(
        names[:2]
    )


def test_groups_have_no_picture_and_say_so(open_report, model):
    page = open_report(model[0], interactions=model[1])
    pair = page.locator("#pairs button", has_text="body").first
    pair.click()
    assert "group of columns" in page.locator("#pair").text_content()


def test_the_output_changes_the_pairs(open_report, model):
    page = open_report(model[0], interactions=model[1])
    before = page.locator("#pairs tbody").text_content()
    page.select_option("#output", "1")
    assert page.locator("#pairs tbody").text_content() != before


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_page(open_report, model, width, scheme):
    page = open_report(model[0], interactions=model[1], width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("which", ["mmd", "hsic"])
def test_a_statistic_shows_its_pairs(open_report, which):
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(2, 80, 4))
    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    frames = [pd.DataFrame(table, columns=["a", "b", "c", "d"]) for table in (X, Z)]
    two, target = which == "mmd", Z[:, 0] * Z[:, 1]
    attribution = pkex.mmd(*frames) if two else pkex.hsic(frames[1], target)
    page = open_report(attribution, interactions=attribution.interactions())
    assert page.locator("#pairs button").first.text_content() == "a & b"
    assert page.locator("#pair circle").count() == (160 if which == "mmd" else 80)
    expected = ["X", "Z"] if which == "mmd" else ["low", "high"]
    legend = page.locator("#pair-legend").text_content()
    assert all(word in legend for word in expected)


def test_rows_without_a_feature_value_of_a_pair_are_counted(open_report):
    rng = np.random.default_rng(2)
    points = rng.normal(size=(20, 2))
    f = pkex.KernelExpansion(points, rng.normal(size=20), RBF(1.5), 0.0, ("a", "b"))
    explainer = pkex.Explainer(f)
    explanation, interactions = explainer(points), explainer.interactions(points)
    data = points.copy()
    data[:3, 0] = np.nan
    results = [changed(result, data=data) for result in (explanation, interactions)]
    page = open_report(results[0], interactions=results[1])
    assert page.locator("#pair circle").count() == 17
    assert "3 rows with missing values not shown" in page.locator("#pair-legend").text_content()
