"""Reports in headless Chromium, opened from disk: quiet, usable by mouse and keyboard, legible."""

import re
import shutil
from datetime import date

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC

import pkex
from pkex.output.report import write
from tests._support.explanations import changed
from tests._support.written import EVIL, explained

playwright_api = pytest.importorskip("playwright.sync_api")
Error, expect = playwright_api.Error, playwright_api.expect
pytestmark = [pytest.mark.browser, pytest.mark.frontend]

MINUS = "\u2212"
ALERT = "<script>alert(1)</script>"
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser():
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    with playwright_api.sync_playwright() as playwright:
        try:
            running = playwright.chromium.launch(executable_path=found, args=QUIET)
        except Error as error:
            raise RuntimeError(
                "these tests need Chromium: run `make browser`, which installs it."
            ) from error
        yield running
        running.close()


@pytest.fixture
def open_report(browser, tmp_path):
    """Return a function that writes and opens a report; what the page does wrong fails a test."""
    contexts, trouble, requests = [], [], []
    path = tmp_path / "report.html"

    def opened(result, *, width=1280, scheme="light", **options):
        write(result, path, **options)
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (trouble.append("a dialog"), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert trouble == []
    assert path.as_uri() in requests
    assert set(requests) <= {path.as_uri(), "data:,"}  # the page itself and its empty icon


@pytest.fixture(scope="module")
def explanation():
    rng = np.random.default_rng(0)
    names = (ALERT, "bmi", "age", "town")
    data = rng.normal(size=(50, 4)).round(3).astype(object)
    data[:, 3] = rng.choice(["Wien", "Graz", EVIL], 50)
    values = rng.normal(size=(50, 4)) * [4.0, 3.0, 2.0, 1.0]
    values[17, 0] = 30.0  # far from all others, so that it can be clicked
    return explained(values, data, names=names)


@pytest.fixture(scope="module")
def attribution():
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(2, 80, 4))
    Z[:, 1] += 1.0
    tables = [dict(zip(("a", ALERT, "c", "d"), table.T, strict=True)) for table in (X, Z)]
    frames = [pd.DataFrame(table) for table in tables]
    return pkex.mmd(*frames, n_permutations=99, random_state=0)


def sentence(page):
    return page.locator("#row-sentence")


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


def test_an_explanation_opens_and_shows_everything(open_report, explanation):
    page = open_report(explanation, title=f"Title {ALERT}", details={"Model": EVIL})
    expect(page.locator("h1")).to_have_text(f"Title {ALERT}")
    for title in ("Importance", "Values of all rows", "One row", "Dependence on a feature"):
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    expect(page.locator("#importance svg text", has_text="bmi").first).to_be_visible()
    method = page.locator("#method")
    expect(method).to_contain_text("few-node gauss-legendre, 4 to 8 nodes")
    expect(method).to_contain_text(EVIL)
    page.get_by_text("All features as a table").click()
    cells = page.locator("#importance tbody tr").first.locator("th, td")
    mean = np.abs(explanation.values[:, 0]).mean()
    assert cells.all_inner_texts()[:2] == [ALERT, f"{mean:.4g}"]


def test_a_feature_named_like_a_script_is_text(open_report, explanation):
    page = open_report(explanation)
    assert page.locator("script").count() == 2
    expect(page.locator("#row-table th", has_text=ALERT)).to_be_visible()
    label = page.locator("#importance svg text").filter(has_text="script").first
    assert label.locator("title").text_content() == ALERT


def test_the_policy_of_the_page_is_in_force(browser, tmp_path, explanation):
    write(explanation, tmp_path / "report.html")
    context = browser.new_context()
    page = context.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    page.evaluate(
        "() => { window.refused = [];"
        "document.addEventListener('securitypolicyviolation',"
        "(event) => refused.push(event.effectiveDirective));"
        "const script = document.createElement('script'); script.textContent = 'window.ran = true';"
        "document.body.append(script); fetch('http://127.0.0.1:9/').catch(() => {}); }"
    )
    page.wait_for_function("window.refused.length === 2")
    assert page.evaluate("window.refused.sort()") == ["connect-src", "script-src-elem"]
    assert page.evaluate("window.ran") is None
    context.close()


def test_the_row_picker_by_keyboard(open_report, explanation):
    page = open_report(explanation)
    number = page.get_by_label("Row number")
    number.focus()
    for key, row in (("ArrowUp", 1), ("ArrowUp", 2), ("ArrowDown", 1), ("PageUp", 11)):
        page.keyboard.press(key)
        expect(number).to_have_value(str(row))
        expect(sentence(page)).to_contain_text(f"Row {row}: the prediction is")
    number.fill("17")
    page.keyboard.press("Enter")
    prediction = f"{explanation.predictions[17]:.4g}".replace("-", MINUS)
    expect(sentence(page)).to_contain_text(f"Row 17: the prediction is {prediction},")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")  # from the number over one button to the other
    expect(page.get_by_role("button", name="Next row")).to_be_focused()
    page.keyboard.press("Enter")
    expect(number).to_have_value("18")
    page.keyboard.press("ArrowLeft")
    expect(number).to_have_value("17")
    for wrong in ("50", "-1", "2.5", ""):
        number.fill(wrong)
        number.press("Enter")
        number.blur()
        expect(page.get_by_role("alert")).to_have_text("Give the number of a row, from 0 to 49.")
        expect(sentence(page)).to_contain_text("Row 17:")
    number.fill("49")
    number.press("Enter")
    expect(page.get_by_role("alert")).to_be_hidden()
    number.press("ArrowUp")
    expect(number).to_have_value("49")


def test_the_row_picker_has_the_numbers_of_the_table(open_report, explanation):
    page = open_report(explanation[:4], row_names=[40, 31, 30, 35])
    number, alert = page.get_by_label("Row number"), page.get_by_role("alert")
    expect(number).to_have_value("40")
    expect(number).to_have_attribute("min", "30")
    expect(number).to_have_attribute("max", "40")
    number.focus()
    for row in (31, 30, 35, 35):
        page.keyboard.press("ArrowUp")
        expect(number).to_have_value(str(row))
    prediction = f"{explanation.predictions[3]:.4g}".replace("-", MINUS)
    expect(sentence(page)).to_contain_text(f"Row 35: the prediction is {prediction},")
    for wrong, words in (
        ("32", "Row 32 is not among the 4 rows shown here; the nearest is 31."),
        ("2", "Give the number of a row, from 30 to 40."),
        ("41", "Give the number of a row, from 30 to 40."),
    ):
        number.fill(wrong)
        number.press("Enter")
        expect(alert).to_have_text(words)
    number.fill("31")
    number.press("Enter")
    expect(alert).to_be_hidden()
    expect(sentence(page)).to_contain_text("Row 31:")


def test_the_row_picker_by_mouse(open_report, explanation):
    page = open_report(explanation)
    number = page.get_by_label("Row number")
    page.get_by_role("button", name="Next row").click()
    expect(number).to_have_value("1")
    page.get_by_role("button", name="Previous row").click()
    expect(number).to_have_value("0")
    page.get_by_role("button", name="Lowest").click()
    expect(number).to_have_value(str(explanation.predictions.argmin()))
    page.get_by_role("button", name="Highest").click()
    expect(number).to_have_value(str(explanation.predictions.argmax()))
    number.fill("17")
    number.press("Enter")
    rings = [page.locator(f"#{place} .ring").first for place in ("swarm", "scatter")]
    places = [(float(ring.get_attribute("cx")), float(ring.get_attribute("cy"))) for ring in rings]
    for place, (x, y) in zip(("swarm", "scatter"), places, strict=True):
        number.fill("3")
        number.press("Enter")
        canvas = page.locator(f"#{place} canvas")
        canvas.hover(position={"x": x, "y": y})
        expect(page.locator(".tip")).to_contain_text(f"Row 17\n{ALERT} = ")
        canvas.click(position={"x": x, "y": y})
        expect(number).to_have_value("17")


def test_a_row_adds_up_and_has_its_raw_values(open_report, explanation):
    page = open_report(explanation)
    number = page.get_by_label("Row number")
    number.fill("17")
    number.press("Enter")
    rows = [
        row.locator("th, td").all_inner_texts() for row in page.locator("#row-table tbody tr").all()
    ]
    raw = {name: text for name, text, _ in rows}
    assert raw["town"] == explanation.data[17, 3]
    assert float(raw["age"].replace(MINUS, "-")) == explanation.data[17, 2]
    total = 1.0 + sum(float(value.replace(MINUS, "-")) for *_, value in rows)
    assert total == pytest.approx(explanation.predictions[17], abs=0.05)
    notes = page.locator("#waterfall svg text.quiet").all_text_contents()
    assert float(notes[-1].replace(MINUS, "-")) == pytest.approx(
        explanation.predictions[17], abs=0.01
    )
    assert page.locator("#waterfall rect").count() == 4


def test_dependence_of_another_feature(open_report, explanation):
    page = open_report(explanation)
    chart = page.locator("#scatter svg").first
    for name in ("bmi", "town"):
        page.get_by_label("Feature", exact=True).select_option(label=name)
        expect(chart).to_have_attribute(
            "aria-label", f"Scatter of the value of {name} against its raw value, 50 rows."
        )
    expect(chart).to_contain_text("Wien")
    page.get_by_label("Colour by").select_option(label="age")
    expect(page.locator("#dependence .scale")).to_contain_text("age: low")


def test_several_outputs_have_a_choice(open_report):
    values = np.random.default_rng(2).normal(size=(20, 3, 2))
    values[:, 0, 0] += 9.0
    values[:, 2, 1] += 9.0
    page = open_report(explained(values, outputs=("yes", "no")))
    top = page.locator("#importance svg g ~ text:not(.axis-label)").first
    expect(top).to_contain_text("f0")
    page.get_by_label("Output").select_option(label="no")
    expect(top).to_contain_text("f2")
    expect(page.locator("#importance .axis-label")).to_have_text("mean |value| of no")
    expect(sentence(page)).to_contain_text("the prediction of no is")


def test_a_large_table_says_what_it_leaves_out(open_report):
    rng = np.random.default_rng(3)
    page = open_report(explained(rng.normal(size=(1500, 200)) * np.linspace(2.0, 0.1, 200)))
    note = page.locator("#note")
    expect(note).to_contain_text("1000 of 1500 rows, drawn at random")
    expect(note).to_contain_text("the 40 most important of 200 features")
    chart = page.locator("#swarm svg").first
    expect(chart).to_have_attribute("aria-label", re.compile("each of 20 features"))
    page.locator("#beeswarm").get_by_role("button", name="Show 40").click()
    expect(page.locator("#swarm svg").first).to_have_attribute(
        "aria-label", re.compile("each of 40 features")
    )
    assert page.locator("#waterfall rect").count() == 13
    expect(page.locator("#waterfall")).to_contain_text("188 other features")
    assert page.locator("#importance tbody tr").count() == 200
    shown = page.evaluate("JSON.parse(document.getElementById('data').textContent).rows")
    missing = min(set(range(1500)) - set(shown))
    number = page.get_by_label("Row number")
    number.fill(str(missing))
    number.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text(f"Row {missing} is not among the 1000 rows")


def test_an_attribution_opens_and_shows_everything(open_report, attribution):
    page = open_report(attribution, sample_names=("before", EVIL))
    expect(page.locator("#lead")).to_contain_text(f"MMD² between before and {EVIL} is")
    expect(page.locator("#lead")).to_contain_text(attribution.verdict())
    assert page.locator("#bars .up, #bars .down").count() == 4
    assert page.locator("#bars .band").count() == 4
    assert page.locator("#marginals .panel svg").count() == 4
    head = page.locator("#table thead th").all_inner_texts()
    null = ["Null, 2.5 %", "Null, 97.5 %"]
    assert head == ["Feature", "Share", *null, "p of the share", "Alone", "p alone"]
    first = page.locator("#table tbody tr").first.locator("th, td").all_inner_texts()
    assert first[0] == ALERT
    assert first[1] == f"{attribution.values[1]:.4g}"
    assert first[4] == "0.0400"  # the least there is, adjusted for four features
    assert first[5] == f"{attribution.alone[1]:.3g}"
    assert first[6] == "0.0400"
    assert page.locator("script").count() == 2


def test_a_p_value_at_the_level_is_found(open_report, attribution):
    page = open_report(attribution, alpha=0.01)  # one of 100 is the least there is
    assert attribution.p_value == 0.01
    lead, hint = page.locator("#lead"), page.locator("#table .hint")
    expect(lead).to_contain_text("Drift detected, p = 0.01 (alpha = 0.01)")
    expect(page.locator(".hero .facts")).to_contain_text(re.compile(r"level\s*0\.01"))
    expect(hint).to_contain_text("Those of at most 0.01 are bold.")
    expect(hint).to_contain_text("at most 0.01 takes 399 permutations.")
    first = page.locator("#table tbody tr").first
    assert first.locator(".sure").count() == 0  # as Holm's correction makes it 0.04
    expect(lead).to_contain_text("No single feature is significant.")
    expect(page.locator("#bars + .scale")).to_contain_text("pale: adjusted p-value above 0.01")
    page = open_report(attribution, alpha=0.005)
    expect(page.locator("#lead")).to_contain_text("No drift detected, p = 0.01 (alpha = 0.005)")
    page = open_report(attribution, alpha=0.04)  # four features
    expect(page.locator("#lead")).to_contain_text(f"Significant feature: {ALERT}.")
    expect(page.locator("#table .hint")).not_to_contain_text("takes")
    first = page.locator("#table tbody tr").first
    assert first.locator(".sure").all_inner_texts() == ["0.0400", "0.0400"]


def test_a_loaded_attribution_says_what_it_lacks(open_report, tmp_path):
    X, Z = np.random.default_rng(6).normal(size=(2, 30, 3))
    pkex.mmd(X, Z, removal="neutral").save(tmp_path / "a.npz")
    page = open_report(pkex.Attribution.load(tmp_path / "a.npz"))
    note = page.locator("#note")
    expect(note).to_contain_text("Neutral removal charges a column for being looked at")
    expect(note).to_contain_text("which does not hold the samples: their columns are not shown.")
    assert page.locator("#marginals").count() == 0
    assert page.locator("#table thead th").all_inner_texts() == ["Feature", "Share"]
    expect(page.locator("#table .hint")).to_contain_text("was not computed before")


@pytest.mark.parametrize(
    ("names", "words"), [("p", "p is"), ("pq", "2 targets (p and q)"), ("pqr", "(p and others)")]
)
def test_targets_are_named(open_report, names, words):
    X = np.random.default_rng(5).normal(size=(20, 3))
    page = open_report(pkex.hsic(X, pd.DataFrame(X[:, : len(names)], columns=list(names))))
    expect(page.locator("#lead")).to_contain_text(words)


def test_an_attribution_without_permutations(open_report):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    page = open_report(pkex.hsic(X, X[:, 0] ** 2))
    expect(page.locator("#values .hint")).to_contain_text("No permutations were made, so there is")
    assert page.locator("#total").count() == 0
    assert page.locator("#marginals circle").count() == 180


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
    told = f"(+ for high & mighty class, {MINUS} for benign outcome of it)"
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
def test_a_raw_value_is_not_cut_with_its_name(open_report, width):
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


def test_rows_without_a_raw_value_are_counted(open_report):
    data = np.random.default_rng(10).normal(size=(30, 2))
    data[:7, 0] = np.nan
    page = open_report(explained(np.ones((30, 2)), data))
    page.get_by_label("Feature", exact=True).select_option(label="f0")
    label = page.locator("#scatter .axis-label").first
    expect(label).to_have_text("f0 (7 rows without it not shown)")
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


def test_groups_are_spelled_out_and_have_no_axis(open_report):
    explanation = explained(
        np.arange(12.0).reshape(6, 2),
        names=("pair", "trio"),
        players=((0, 1), (2, 3, 4)),
        columns=tuple("abcde"),
    )
    page = open_report(explanation)
    expect(page.locator("#row-table tbody tr").first).to_contain_text(
        re.compile("trio.*c = .*, d = .*, e = ")
    )
    expect(page.locator("#dependence")).to_contain_text("Every feature here is a group of columns")
    expect(page.locator("#beeswarm .scale")).to_contain_text("grey: a group of columns")


def test_one_row_and_one_feature(open_report):
    page = open_report(explained([[2.0]], np.array([["only"]], dtype=object)))
    expect(sentence(page)).to_have_text(
        "Row 0: the prediction is 3, which is 2 above the base value 1."
    )
    expect(page.locator("#row-table")).to_contain_text("only")
    expect(page.locator("#importance .hint")).to_have_text("The absolute value in the only row.")
    expect(page.get_by_role("button", name="Next row")).to_have_attribute("aria-disabled", "true")


def test_a_selection_shows_the_rest_as_one_bar(open_report, explanation):
    page = open_report(explanation[:, ["bmi", "age"]])
    expect(page.locator("#lead")).to_contain_text("Only some features were selected")
    expect(page.locator("#waterfall")).to_contain_text("other features")
    assert page.locator("#waterfall rect").count() == 3


def test_small_values_on_a_large_base_keep_their_digits(open_report):
    values = np.array([[0.25, -0.125], [0.5, 0.0625]])
    page = open_report(explained(values, base=123456.0))
    notes = page.locator("#waterfall svg text.quiet").all_text_contents()
    assert notes[1:3] == ["+0.2500", f"{MINUS}0.1250"]
    assert notes[-1] == "123456.1250"
    ticks = page.locator("#waterfall svg text.tick").all_text_contents()
    assert len(set(ticks)) == len(ticks) > 1


def test_rows_with_names_are_found_by_them_and_say_their_class(open_report):
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    table.index = [f"case {i}" for i in range(80)]
    labels = np.array(["x", "y", "z"])[np.digitize(table["a"] + rng.normal(size=80), [-0.2, 0.2])]
    model = SVC(C=10.0).fit(table, labels)
    explanation = pkex.Explainer(model, table[:10])(table)
    largest = np.array(explanation.outputs)[explanation.predictions.argmax(axis=1)]
    apart = int(np.flatnonzero(largest != explanation.predicted)[0])
    page = open_report(explanation)
    expect(page.locator("#lead")).to_contain_text("positive values speak for the class")
    field = page.locator("#row-number")
    field.fill(f"case {apart}")
    field.press("Enter")
    told = f"Row case {apart} (predicted {model.predict(table)[apart]}, largest output "
    expect(sentence(page)).to_contain_text(f"{told}{largest[apart]}): the output of x is")
    field.fill("nobody")
    field.press("Enter")
    expect(page.locator("#row-problem")).to_have_text(
        "No row shown here is named nobody; the first is case 0."
    )
    page.get_by_role("button", name="Next row").click()
    expect(sentence(page)).to_contain_text(f"Row case {apart + 1} (predicted")


def test_a_sensitivity_opens_and_shows_everything(open_report):
    rng = np.random.default_rng(3)
    points = pd.DataFrame(rng.normal(size=(30, 3)), columns=["a", ALERT, "c"])
    f = pkex.KernelExpansion(points, rng.normal(size=30), pkex.kernels.RBF(1.5))
    found = pkex.sensitivity(f, points, order=2)
    page = open_report(found, details={"Model": EVIL})
    expect(page.locator("h1")).to_have_text("Which inputs drive the output")
    expect(page.locator("#indices svg text", has_text="a").first).to_be_visible()
    cells = page.locator("#table tbody tr").first.locator("th, td").all_inner_texts()
    top = found.order[0]
    assert cells[0] == found.feature_names[top]
    assert float(cells[2]) == pytest.approx(found.shapley[top], abs=1e-4)
    assert page.locator("#pairs tbody tr").count() == 3
    expect(page.locator("#method")).to_contain_text(EVIL)


def test_whiskers_are_named_and_drawn_where_values_have_a_posterior(open_report, explanation):
    page = open_report(changed(explanation, std=np.full(explanation.values.shape, 0.25)))
    for section in ("#row", "#beeswarm", "#dependence"):
        expect(page.locator(section)).to_contain_text("\u00b1 1 posterior standard deviation")
    expect(page.locator("#importance")).to_contain_text("over 50 rows, not posterior uncertainty")
    assert page.locator("#waterfall .whisker").count() == 4
    page = open_report(explanation)
    expect(page.locator("main")).not_to_contain_text("posterior")
