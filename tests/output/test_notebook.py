"""Tables of results in a notebook: well formed, with the values, and with data as text only."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

import pkex
from pkex.output import palette
from pkex.output.text import align_numbers
from tests._support.explanations import changed

pytestmark = pytest.mark.frontend

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(2, 40, 30))
Z[:, 3] += 2.0
EVIL = "<script>alert('x')</script>"
NAMES = [EVIL, "a&b", *(f"x{i}" for i in range(2, 30))]
WIDE = pkex.KernelExpansion(X, RNG.normal(size=40), pkex.kernels.RBF(8.0), feature_names=NAMES)
RESULTS = {
    "explanation": pkex.Explainer(WIDE)(Z),
    "importance": pkex.Explainer(WIDE)(Z).importance(),
    "importance of neutral removal": pkex.Explainer(WIDE, removal="neutral")(Z).importance(),
    "importance of one row": pkex.Explainer(WIDE)(Z[:1]).importance(),
    "mmd": changed(pkex.mmd(X, Z), feature_names=tuple(NAMES)),
    "mmd with permutations": changed(
        pkex.mmd(X, Z, n_permutations=19, random_state=0), feature_names=tuple(NAMES)
    ),
}
every_result = pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS.keys())


def table(result):
    """Return the lines of the table as lists of texts, the heading first."""
    tree = ElementTree.fromstring(result._repr_html_().replace("<br>", "<br/>"))
    return [["".join(cell.itertext()) for cell in line] for line in tree.iter("tr")]


@every_result
def test_it_is_well_formed_and_data_are_text(result):
    lines = table(result)
    assert len({len(line) for line in lines}) == 1
    assert "<script" not in result._repr_html_()
    assert "a&b" not in result._repr_html_()


def test_names_stand_in_it_as_they_are():
    few = pkex.KernelExpansion(X[:, :2], np.ones(40), pkex.kernels.RBF(), feature_names=NAMES[:2])
    explanation = pkex.Explainer(few)(Z[:3, :2])
    assert {*NAMES[:2]} < {*table(explanation)[0]}
    statistic = changed(pkex.mmd(X[:, :2], Z[:, :2]), feature_names=tuple(NAMES[:2]))
    for result in (explanation.importance(), statistic):
        assert {line[0] for line in table(result)} == {"feature", *NAMES[:2]}


@pytest.mark.parametrize("name", ["mmd", "mmd with permutations"])
def test_shares_are_in_the_table(name):
    result = RESULTS[name]
    head, *lines = table(result)
    tested = result.p_value is not None
    assert head == [
        "feature",
        "contribution",
        *(["p (adjusted)", "univariate", "p (adjusted)"] if tested else []),
    ]
    assert len(lines) == 20
    assert "and 10 more; see to_frame()" in result._repr_html_()
    shown = result.ranking[:20]
    shares, univariate = (
        align_numbers(result.values[shown]),
        align_numbers(result.univariate[shown]),
    )
    for line, i, share, by_itself in zip(lines, shown, shares, univariate, strict=True):
        expected = [result.feature_names[i], share]
        if tested:
            expected += [
                f"{result.p_adjusted[i]:.2g}",
                by_itself,
                f"{result.p_univariate_adjusted[i]:.2g}",
            ]
        assert line == expected


def test_means_are_in_the_table():
    for name, extra in (("importance", []), ("importance of neutral removal", ["centred"])):
        result = RESULTS[name]
        head, *lines = table(result)
        assert head == ["feature", "mean |Shapley value|", *extra]
        for line, i in zip(lines, result.ranking, strict=False):
            mean = f"{result.values[i]:.4g} ± {result.standard_errors[i]:.2g}"
            centred = [f"{result.centred[i]:.4g}"] if extra else []
            assert line == [result.feature_names[i], mean, *centred]
    assert "±" not in RESULTS["importance of one row"]._repr_html_()


def test_tints_are_of_the_palette():
    page = RESULTS["mmd"]._repr_html_()
    assert palette.RAISES.tint(0.4) in page  # the largest contribution
    assert palette.LOWERS.tint(0.0)[:16] in page
    assert "#" not in page  # no colour that is not transparent


def test_a_table_is_made_without_extras(monkeypatch):
    from pkex._util import extras as _extras

    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(_extras, "import_module", missing)
    for result in RESULTS.values():
        assert result._repr_html_()


def facts(explainer):
    """Return what the table of an explainer says, by its labels."""
    return {line[0]: line[1] for line in table(explainer)}


def test_an_explainer_says_what_was_read():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    model = make_pipeline(StandardScaler(), SVR(gamma=0.125)).fit(X[:, :4], X[:, 0])
    found = facts(pkex.Explainer(model, X[:7, :4], groups={EVIL: [0, 1]}))
    assert found["model"] == "Pipeline(StandardScaler, SVR)"
    assert found["kernel"] == "RBF(length_scale=2)"
    assert found["points"] == str(len(model[-1].support_))
    assert found["removal"] == "interventional"
    assert found["background"] == "7 rows (interventional)"
    assert found["features"] == f"3 made of 4 columns: {EVIL}, x2, x3"
    assert "outputs" not in found
    assert found["values"] == "Shapley values, to full precision"
    assert float(found["base value"]) == pytest.approx(model.predict(X[:7, :4]).mean(), rel=1e-3)
    classes = SVC().fit(X, np.arange(40) % 4)
    found = facts(pkex.Explainer(classes, index="BV", tol=1e-3))
    assert found["outputs"] == "4: 0, 1, 2, 3"
    assert found["values"] == "Banzhaf values, to 0.001"
    assert found["base value"].endswith(", …")
    assert facts(pkex.Explainer(WIDE))["model"] == "KernelExpansion"


def test_an_explainer_has_data_as_text_only():
    page = pkex.Explainer(WIDE)._repr_html_()
    assert "<script" not in page
    assert "a&b" not in page
