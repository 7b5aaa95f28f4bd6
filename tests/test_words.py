"""Retired words stay out of what a person sees; docs/guide/glossary.md has the words in use.

Commands and their help, what results print, reports, docstrings of public names, the messages of
errors and warnings, and the pages are searched for identifiers, headings and phrases, not for
English words in general. `pkex.games`, `pkex.reference` and the mathematics may speak of games and
players.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pkex
import pkex.plots
from pkex.cli import main
from tests._support.golden.make import RESULTS

pytestmark = [pytest.mark.frontend, pytest.mark.docs]

ROOT = Path(__file__).parents[1]

_RESIDUAL = r"(?<!squared )\bresiduals?\b(?! noise)"
RETIRED = {
    r"\bplayers?\b": "feature, feature group",
    r"\babsent\b": "removed",
    r"\bstand(?:s|ing)? in\b|\bstood in\b": "serve as background",
    r"\bmodel's own data\b": "training points, support vectors",
    r"\braw values?\b": "feature value",
    r"\bshares? of (?:MMD|HSIC)|\b(?:its|the|a column's) shares?\b|^ +share\b": "contribution",
    r"\balone\b(?= +p\b)|\bp_alone|\balone_": "univariate",
    r"\bact(?:s)? together\b": "interact",
    r"\bspeaks? (?:for|against)\b": "pushes towards",
    r"(?<!make )\b(?:un)?sure\b": "certain",
    r"\bbut for chance\b": "up to sampling noise",
    r"\bmore than chance\b": "statistically significant",
    r"\b(?:or|of) texts\b": "documents",
    r"\bpictures?\b": "plot, figure, summary",
    r"\bnegative shares?\b": "negative contribution",
    r"\bof the user's own\b": "custom",
    r"\bregrouping": "permutation",
    r"\b[Rr]efused with a sentence\b": "unsupported",
    r"\bcertificates?\b|\bcertified\b": "proven error bound",
    _RESIDUAL: "additivity error",
    r"\bof (?:your|its|their) own\b": "custom; overridden",
    r"\bmixes columns\b": "combines features",
    r"\bkernels? of (?:a|the) (?:distance|scalar product)\b": "radial kernel, dot-product kernel",
    r"\bnative kernel\b|\bhot loop\b": "compiled backend",
    r"\bkernel of the user": "custom kernel",
    r"\bdrives it overall\b": "global sensitivity",
    r"\bcaution\b": "note",
    r"\bp_any\b|\bp_holm\b": "p_value, p_adjusted",
    r"removal=\"marginal\"|'product-of-marginals'|\bmarginal removal\b": "product-of-marginals",
    r"(?<![Tt]here )\b(?:is|are) no (?!longer)\w+": "is not a ...",
}

EXEMPT_PAGES = {"experiments.md", "games.md", "rules.md"}
MATHEMATICS = {r"\bplayers?\b", r"\babsent\b"}  # of games
EXEMPT_MODULES = ("pkex.games", "pkex.reference")


def retired(text: str, words: dict[str, str] = RETIRED) -> list[str]:
    """Return the retired words of a text, each with what is said now.

    Left out rows have residuals, in the sense of regression.
    """
    allowed = {_RESIDUAL} if re.search(r"leave[-_]one[-_]out|LeaveOneOut", text) else set()
    return [
        f"{match.group().strip()!r}, say {instead!r}: {text[max(0, match.start() - 40) :][:90]!r}"
        for word, instead in words.items()
        if word not in allowed
        for match in re.finditer(word, text, re.MULTILINE)
    ]


def public() -> Iterator[tuple[str, Any]]:
    """Yield public names with what they are: functions, classes, their methods and properties."""
    for module in (pkex, pkex.plots, pkex.kernels, pkex.readers, pkex.errors):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.ismodule(thing) or thing.__module__.startswith(EXEMPT_MODULES):
                continue
            yield f"{module.__name__}.{name}", thing
            if inspect.isclass(thing):
                for member in dir(thing):
                    if not member.startswith("_"):
                        yield f"{module.__name__}.{name}.{member}", getattr(thing, member)


PUBLIC = dict(public())


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names(name: str) -> None:
    thing = PUBLIC[name]
    words = [name.rpartition(".")[2]]
    if callable(thing):
        with contextlib.suppress(ValueError):
            words += inspect.signature(thing).parameters
    assert not retired(" ".join(word.replace("_", " ") for word in words) + " ")
    owner = inspect.getmodule(thing)
    if owner is None or owner.__name__.startswith("pkex"):
        assert not retired(inspect.getdoc(thing) or "")


@pytest.mark.parametrize("name", RESULTS)
def test_what_results_print(name: str) -> None:
    result = RESULTS[name]()
    assert not retired(repr(result))
    assert not retired(result._repr_html_())


WITHOUT_REPORT = (
    "leave_one_out",
    "gradients",
    "comparison",
    "interactions",
)  # interactions are a section of other reports


@pytest.mark.parametrize("name", [name for name in RESULTS if not name.startswith(WITHOUT_REPORT)])
def test_reports(name: str, tmp_path: Path) -> None:
    result = RESULTS[name]()
    pairs = {"interactions": result.interactions()} if name == "attribution_mmd" else {}
    result.report(tmp_path / "report.html", **pairs)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    visible = re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    assert not retired(visible)


COMMANDS = (
    "",
    "explain",
    "drift",
    "dependence",
    "sensitivity",
    "effects",
    "change",
    "demo",
    "config",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([*command.split(), "--help"])
    shown = capsys.readouterr().out
    assert "Usage" in shown
    assert not retired(shown)


PAGES = [
    page
    for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    if page.name not in EXEMPT_PAGES
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages(page: Path) -> None:
    allowed = MATHEMATICS if page.name == "mathematics.md" else set()
    words = {word: instead for word, instead in RETIRED.items() if word not in allowed}
    assert not retired(page.read_text(encoding="utf-8"), words)


SOURCES = Path(pkex.__file__).parent
MESSAGES = {  # code has names in quotes, and more is retired in its messages
    **{word: instead for word, instead in RETIRED.items() if instead != "product-of-marginals"},
    r"\bmachines?\b(?<!vector machines)": "model, SVM",
    r"\b(?:goes|go) with\b": "is supported",
    r"\b(?:is|are) none that\b|\bcan(?:not)? be read off\b": "is not supported",
    r"\btells?\b|\btold\b": "says; distinguish",
    r"\bnoise alone\b|\bof (?:your|its|their) own\b": "noise only; custom",
    r"\bexplanation\.error\b|\bplayers=": "the names in use",
    r"\bexplainer\.(?:frame|measure|variance)\b": "explain_frame, semivalue, explain_variance",
    r"\bmix(?:es)? columns\b": "combines columns",
    r"\bstands? where\b": "instead of",
}


def sentences(path: Path) -> Iterator[str]:
    """Yield the strings with spaces of a file of code that are not docstrings, holes as ``_``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):  # parts before what they are part of
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None  # a docstring
        elif isinstance(node, ast.JoinedStr):
            parts = [p.value if isinstance(p, ast.Constant) else "_" for p in node.values]
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and " " in str(node.value).strip():
            yield str(node.value)


FILES = [
    path
    for path in sorted(SOURCES.rglob("*.py"))
    if path.name != "reference.py"
    and (path.parent != SOURCES / "games" or path.name == "players.py")
    and "native" not in path.parts
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCES).as_posix())
def test_messages(path: Path) -> None:
    """Of errors, warnings and whatever else is said: all strings of the code but docstrings."""
    assert not retired("\n".join(sentences(path)), MESSAGES)


def test_a_message_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text(
        'def f(x):\n    """No player."""\n    raise ValueError(f"{x} is a"\n" player.")\n'
    )
    assert "_ is a player." in list(sentences(path))
    assert "No player." not in list(sentences(path))


@pytest.mark.parametrize(
    "text", ["3 players", "absent features: averaged", "positive values speak for a", "is no sum"]
)
def test_a_retired_word_is_noticed(text: str) -> None:
    assert retired(text)
