"""Reports in headless Chromium are legible: on every screen, on paper, with any names."""

import re
from datetime import date

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC

import pkex
from tests._support.written import explained

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.browser, pytest.mark.frontend]

MINUS = "\u2212"


def clipped(page):
    """Return the texts that leave their pictures."""
    boxes = page.evaluate(
        "[...document.querySelectorAll('svg text')].map((t) => {"
        "const [a, b] = [t.getBoundingClientRect(), t.ownerSVGElement.getBoundingClientRect()];"
        "return [t.textContent, a.left - b.left, b.right - a.right, a.top - b.top,"
        "b.bottom - a.bottom]; })"
    )
    return [text for text, *room in boxes if min(room) < -1.0]


def lane_names(page, chart):
    """Return the names of lanes as they are seen, and as they are."""
    texts = page.locator(f"{chart} svg text:has(title)").all()
    whole = [text.locator("title").text_content() for text in texts]
    full = [text.text_content() for text in texts]
    return [name.removesuffix(long) for name, long in zip(full, whole, strict=True)], whole


@pytest.mark.parametrize("kind", ["explanation", "attribution"])
@pytest.mark.parametrize("width", [320, 375, 768, 1280])
def test_nothing_is_wider_than_the_screen(open_report, request, kind, width):
    page = open_report(request.getfixturevalue(kind), width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if kind == "explanation":  # all of the row's table is seen without scrolling sideways
        inner, outer = page.locator("#row-table .scroll").evaluate(
            "(element) => [element.scrollWidth, element.clientWidth]"
        )
        assert inner <= outer
    assert clipped(page) == []


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_long_axis_labels_are_whole(open_report, width):
    rng = np.random.default_rng(7)
    table = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    classes = np.where(table["a"] > 0, "high & mighty class", "benign outcome of it")
    page = open_report(pkex.Explainer(SVC().fit(table, classes))(table), width=width)
    assert clipped(page) == []
    told = f"(+ towards high & mighty class, {MINUS} towards benign outcome of it)"
    for chart in ("#beeswarm", "#scatter"):
        label = page.locator(f"{chart} .axis-label").filter(has_text="Shapley value")
        expect(label).to_have_text(f"Shapley value {told}")


@pytest.mark.parametrize("width", [390, 1280])
def test_long_columns_of_samples_are_whole(open_report, width):
    rng = np.random.default_rng(8)
    name = "income of the household in the year before the survey was made"
    frames = [pd.DataFrame({name: rng.choice(["low", "high"], 40), "x": x})
              for x in rng.normal(size=(2, 40))]  # fmt: skip
    attribution = pkex.mmd(*frames, n_permutations=19, random_state=0)
    page = open_report(attribution, width=width)
    assert clipped(page) == []
    label = page.locator("#marginals .axis-label").filter(has_text="of rows")
    expect(label).to_have_text(f"{name}, % of rows")


ALIKE = {
    "number": [f"sensor reading number {i} of the plant" for i in range(1, 21)],
    "second digit": [f"sensor reading number {i} of the plant" for i in range(10, 20)],
    "two places": [f"plant {i} has the sensor reading number {j} of all its sensors"
                   for i in (1, 2) for j in (1, 2, 3)],
    "one long word": [f"{'abc' * 12}{i}{'xyz' * 12}" for i in range(9)],
}  # fmt: skip


@pytest.mark.parametrize("names", ALIKE.values(), ids=ALIKE.keys())
@pytest.mark.parametrize("width", [320, 1280])
def test_long_names_that_are_alike_stay_apart(open_report, names, width):
    values = np.random.default_rng(9).normal(size=(30, len(names)))
    page = open_report(explained(values, names=names), width=width)
    for chart in ("#importance", "#swarm"):
        seen, whole = lane_names(page, chart)
        assert sorted(whole) == sorted(names)
        assert len(set(seen)) == len(names), seen
    assert clipped(page) == []


def test_a_name_is_cut_around_the_whole_number_in_it(open_report):
    values = np.random.default_rng(9).normal(size=(30, 10))
    page = open_report(explained(values, names=ALIKE["second digit"]), width=390)
    for seen, whole in zip(*lane_names(page, "#importance"), strict=True):
        assert seen.startswith("sensor r")
        assert re.search(r"\d+", seen).group() == re.search(r"\d+", whole).group()


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_a_feature_value_is_not_cut_with_its_name(open_report, width):
    names = ["distance to the coast in metres", "readings of the meter", "day of the survey"]
    names += ["address of the household that was asked"]
    data = np.array([[1e9, 40281263095530.0, date(2024, 1, 31), "Wien, " * 12]] * 3, dtype=object)
    page = open_report(explained(np.ones((3, 4)), data, names=names), width=width)
    seen, whole = lane_names(page, "#waterfall")
    ends = {name: text.split(" = ")[-1] for name, text in zip(whole, seen, strict=True)}
    for value in ("1000000000", "40281263095530", "2024-01-31"):
        [found] = [end for name, end in ends.items() if name.endswith(f" = {value}")]
        assert found == value
    [cut] = [end for name, end in ends.items() if name.startswith("address")]
    assert cut == "Wien, " * 12 or re.fullmatch("(Wien, )+\u2026", cut)
    assert clipped(page) == []


@pytest.mark.parametrize("width", [390, 1280])
def test_numbers_and_dates_do_not_break_in_a_table(open_report, width):
    names = [f"sensor reading number {i} of the plant that we had" for i in range(3)]
    data = np.array([[-0.132105, date(2020, 1, 1), 300000000.0]] * 3, dtype=object)
    page = open_report(explained(np.ones((3, 3)), data, names=names), width=width)
    count = (
        "(cell) => { const range = document.createRange(); range.selectNodeContents(cell);"
        "return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size; }"
    )
    cells = page.locator("#row-table td.text").all()
    assert [cell.evaluate(count) for cell in cells] == [1, 1, 1]


def test_long_names_have_room_in_a_table_that_scrolls(open_report):
    names = [f"sensor reading number {i} of the plant" for i in range(5)]
    page = open_report(explained(np.ones((9, 5)), names=names), width=390)
    page.get_by_text("All features as a table").click()
    inner, outer = page.locator("#importance .scroll").evaluate(
        "(element) => [element.scrollWidth, element.clientWidth]"
    )
    assert inner > outer
    assert page.locator("#importance tbody th").first.bounding_box()["width"] >= 170


def test_rows_without_a_feature_value_are_counted(open_report):
    data = np.random.default_rng(10).normal(size=(30, 2))
    data[:7, 0] = np.nan
    page = open_report(explained(np.ones((30, 2)), data))
    page.get_by_label("Feature", exact=True).select_option(label="f0")
    label = page.locator("#scatter .axis-label").first
    expect(label).to_have_text("f0 (7 rows with missing values not shown)")
    page.get_by_label("Feature", exact=True).select_option(label="f1")
    expect(page.locator("#scatter .axis-label").first).to_have_text("f1")


def test_light_dark_and_the_choice_between_them(open_report, explanation):
    def background(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light = background(open_report(explanation))
    page = open_report(explanation, scheme="dark")
    dark = background(page)
    assert dark != light
    toggle = page.get_by_role("button", name="Dark colours")
    expect(toggle).to_have_attribute("aria-pressed", "true")
    toggle.click()
    expect(toggle).to_have_attribute("aria-pressed", "false")
    assert background(page) == light


def test_paper_is_light_and_the_screen_comes_back(open_report, explanation):
    page = open_report(explanation, scheme="dark")
    page.evaluate(
        "() => { window.onbeforeprint = () => { window.printed = ["
        "document.documentElement.dataset.theme, document.querySelector('details').open,"
        "document.querySelector('#waterfall svg').getAttribute('width')]; } }"
    )
    assert page.pdf(format="A4").startswith(b"%PDF")
    theme, opened, width = page.evaluate("window.printed")
    assert (theme, opened) == ("light", True)
    assert 500 < float(width) <= 660
    page.wait_for_function("!document.documentElement.hasAttribute('data-paper')")
    assert page.evaluate("document.querySelector('details').open") is False
    expect(page.get_by_role("button", name="Dark colours")).to_have_attribute(
        "aria-pressed", "true"
    )


@pytest.mark.parametrize("kind", ["explanation", "attribution"])
def test_what_a_screen_reader_finds(open_report, request, kind):
    page = open_report(request.getfixturevalue(kind))
    for role in ("banner", "navigation", "main", "contentinfo"):
        assert page.get_by_role(role).count() == 1
    for picture in page.locator("svg[role=img]").all():
        assert picture.get_attribute("aria-label")
    tables = page.locator("table")
    assert tables.count() == tables.locator("caption").count() > 0
    for control in page.locator("select, input").all():
        assert control.evaluate("(element) => element.labels.length") == 1
    links = [link.get_attribute("href") for link in page.locator("nav a").all()]
    assert all(page.locator(link).count() == 1 for link in links)
