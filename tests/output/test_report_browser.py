"""Reports in headless Chromium, opened from disk: quiet, usable by mouse and keyboard."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC

import pkex
from pkex.output.report import write
from tests._support.explanations import changed
from tests._support.written import EVIL, explained
from tests.output.conftest import ALERT

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.browser, pytest.mark.frontend]

MINUS = "\u2212"


def sentence(page):
    return page.locator("#row-sentence")


def test_an_explanation_opens_and_shows_everything(open_report, explanation):
    page = open_report(explanation, title=f"Title {ALERT}", details={"Model": EVIL})
    expect(page.locator("h1")).to_have_text(f"Title {ALERT}")
    for title in ("Importance", "Shapley values of all rows", "One row", "Dependence on a feature"):
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


def test_a_row_adds_up_and_has_its_feature_values(open_report, explanation):
    page = open_report(explanation)
    number = page.get_by_label("Row number")
    number.fill("17")
    number.press("Enter")
    rows = [
        row.locator("th, td").all_inner_texts() for row in page.locator("#row-table tbody tr").all()
    ]
    cells = {name: text for name, text, _ in rows}
    assert cells["town"] == explanation.data[17, 3]
    assert float(cells["age"].replace(MINUS, "-")) == explanation.data[17, 2]
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
            "aria-label",
            f"Scatter of the Shapley value of {name} against the feature value, 50 rows.",
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
    expect(page.locator("#importance .axis-label")).to_have_text("mean |Shapley value| of no")
    expect(sentence(page)).to_contain_text("the prediction of no is")


def test_a_large_table_says_what_it_leaves_out(open_report):
    rng = np.random.default_rng(3)
    page = open_report(explained(rng.normal(size=(1500, 200)) * np.linspace(2.0, 0.1, 200)))
    note = page.locator("#note")
    expect(note).to_contain_text("1000 of 1500 rows, sampled at random")
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
    assert head == ["Feature", "Contribution", *null, "p (adjusted)", "Univariate", "p (adjusted)"]
    first = page.locator("#table tbody tr").first.locator("th, td").all_inner_texts()
    assert first[0] == ALERT
    assert first[1] == f"{attribution.values[1]:.4g}"
    assert first[4] == "0.0400"  # the least there is by columns, adjusted for four features
    assert first[5] == f"{attribution.univariate[1]:.3g}"
    assert first[6] == "0.0100"  # and by labels, whose maxima need no more for more features
    assert page.locator("script").count() == 2


def test_a_p_value_at_the_level_is_found(open_report, attribution):
    page = open_report(attribution, alpha=0.01)  # one of 100 is the least there is
    assert attribution.p_value == 0.01
    lead, hint = page.locator("#lead"), page.locator("#table .hint")
    expect(lead).to_contain_text(f"Drift detected in {ALERT}, p = 0.01 (alpha = 0.01)")
    expect(page.locator(".hero .facts")).to_contain_text(re.compile(r"level\s*0\.01"))
    expect(hint).to_contain_text("Bold: at most 0.01.")
    first = page.locator("#table tbody tr").first
    assert first.locator(".significant").all_inner_texts() == ["0.0100"]  # univariate
    expect(page.locator("#bars + .scale")).to_contain_text("pale: adjusted p-value above 0.01")
    page = open_report(attribution, alpha=0.005)
    expect(page.locator("#lead")).to_contain_text("No drift detected, p = 0.01 (alpha = 0.005)")
    assert page.locator("#table .significant").count() == 0
    page = open_report(attribution, alpha=0.04)
    first = page.locator("#table tbody tr").first
    assert first.locator(".significant").all_inner_texts() == ["0.0400", "0.0100"]


def test_a_loaded_attribution_says_what_it_lacks(open_report, tmp_path):
    X, Z = np.random.default_rng(6).normal(size=(2, 30, 3))
    pkex.mmd(X, Z, removal="neutral").save(tmp_path / "a.npz")
    page = open_report(pkex.Attribution.load(tmp_path / "a.npz"))
    note = page.locator("#note")
    expect(note).to_contain_text("Neutral contributions are shifted")
    expect(note).to_contain_text(
        "which does not store the samples, so their columns are not shown."
    )
    assert page.locator("#marginals").count() == 0
    assert page.locator("#table thead th").all_inner_texts() == ["Feature", "Contribution"]
    expect(page.locator("#table .hint")).to_contain_text("were not computed before")


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
    expect(page.locator("#values .hint")).to_contain_text("No p-values; pass n_permutations=999.")
    assert page.locator("#statistic").count() == 0
    assert page.locator("#marginals circle").count() == 180


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
    expect(page.locator("#beeswarm .scale")).to_contain_text("grey: a feature group")


def test_one_row_and_one_feature(open_report):
    page = open_report(explained([[2.0]], np.array([["only"]], dtype=object)))
    expect(sentence(page)).to_have_text(
        "Row 0: the prediction is 3, which is 2 above the base value 1."
    )
    expect(page.locator("#row-table")).to_contain_text("only")
    expect(page.locator("#importance .hint")).to_have_text("|Shapley value| of the only row.")
    expect(page.get_by_role("button", name="Next row")).to_have_attribute("aria-disabled", "true")


def test_a_selection_shows_the_rest_as_one_bar(open_report, explanation):
    page = open_report(explanation[:, ["bmi", "age"]])
    expect(page.locator("#lead")).to_contain_text("Only some features were selected")
    expect(page.locator("#waterfall")).to_contain_text("remaining features")
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
    largest = np.array(explanation.output_names)[explanation.predictions.argmax(axis=1)]
    apart = int(np.flatnonzero(largest != explanation.predicted_class)[0])
    page = open_report(explanation)
    expect(page.locator("#lead")).to_contain_text("positive values push towards the class")
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
    expect(page.locator("h1")).to_have_text("Sobol indices and Shapley effects")
    expect(page.locator("#indices svg text", has_text="a").first).to_be_visible()
    cells = page.locator("#table tbody tr").first.locator("th, td").all_inner_texts()
    top = found.ranking[0]
    assert cells[0] == found.feature_names[top]
    assert float(cells[2]) == pytest.approx(found.shapley[top], abs=1e-4)
    assert page.locator("#pairs tbody tr").count() == 3
    expect(page.locator("#method")).to_contain_text(EVIL)


def test_an_importance_opens_and_shows_everything(open_report):
    rng = np.random.default_rng(3)
    points = pd.DataFrame(rng.normal(size=(30, 3)), columns=["a", ALERT, "c"])
    f = pkex.KernelExpansion(points, rng.normal(size=30), pkex.kernels.RBF(1.5))
    result = pkex.permutation_importance(f, points, rng.normal(size=30))
    page = open_report(result, details={"Model": EVIL})
    expect(page.locator("h1")).to_have_text("Feature importance")
    expect(page.locator("#lead")).to_contain_text("decrease of r2 when shuffled")
    expect(page.locator("#bars svg text", has_text="a").first).to_be_visible()
    assert page.locator("#bars svg rect.accent").count() == 3
    cells = page.locator("#table tbody tr").first.locator("th, td").all_inner_texts()
    assert cells[0] == result.feature_names[result.ranking[0]]
    assert len(cells) == 4
    expect(page.locator("#method")).to_contain_text(EVIL)


def test_a_change_opens_and_shows_everything(open_report):
    rng = np.random.default_rng(3)
    points = pd.DataFrame(rng.normal(size=(30, 3)), columns=["a", ALERT, "c"])
    f = pkex.KernelExpansion(points, rng.normal(size=30), pkex.kernels.RBF(1.5))
    tables = (points + 0.1, points.iloc[:20] + 1.0)
    found = pkex.change(f, *tables, n_permutations=39, random_state=0)
    page = open_report(found, details={"Model": EVIL})
    expect(page.locator("h1")).to_have_text("What changed between two tables")
    expect(page.locator("#lead")).to_contain_text("detected, p = ")
    expect(page.locator("#values svg text", has_text="a").first).to_be_visible()
    assert page.locator("#values svg circle").count() == 6
    cells = page.locator("#table tbody tr").first.locator("th, td").all_inner_texts()
    assert cells[0] == found.feature_names[found.ranking[0]]
    assert len(cells) == 6
    expect(page.locator("#method")).to_contain_text(EVIL)


def test_whiskers_are_named_and_drawn_where_values_have_a_posterior(open_report, explanation):
    page = open_report(changed(explanation, std=np.full(explanation.values.shape, 0.25)))
    for section in ("#row", "#beeswarm", "#dependence"):
        expect(page.locator(section)).to_contain_text("\u00b1 1 posterior standard deviation")
    expect(page.locator("#importance")).to_contain_text("over 50 rows, not posterior uncertainty")
    assert page.locator("#waterfall .whisker").count() == 4
    page = open_report(explanation)
    expect(page.locator("main")).not_to_contain_text("posterior")
