"""Draw docs/images/dataflow.svg, the data-flow picture of the page on how pkex is built.

python scripts/make_dataflow.py
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from pkex._util.files import write_atomically

TARGET = Path(__file__).resolve().parents[1] / "docs" / "images" / "dataflow.svg"

WIDTH, HEIGHT = 940, 372
INK, SOFT, LINE = "#22303c", "#5a6b78", "#8896a2"
DATA, CODE, CORE = "#ffffff", "#e8f1f7", "#fdf1dc"

# x, y, width, height, fill, title, lines below it
BOXES = (
    (12, 40, 148, 74, DATA, "fitted model", ("SVM, Gaussian", "process, pipeline")),
    (12, 143, 148, 74, DATA, "what to explain", ("background, removal,", "groups, hierarchy")),
    (12, 246, 148, 74, DATA, "tables", ("one or two: arrays,", "pandas, polars")),
    (220, 40, 172, 74, CODE, "KernelExpansion", ("points, coefficients,", "kernel, intercept")),
    (220, 143, 172, 74, CODE, "Problem", ("a model, and what of it", "is explained and how")),
    (220, 246, 172, 74, CODE, "pairs and weights", ("MMD: two samples", "HSIC: table and target")),
    (452, 40, 194, 280, CORE, "engine (games/)", ()),
    (
        *(706, 40, 222, 126, DATA, "result"),
        (
            "About: names, outputs, removal",
            "arrays with named axes",
            "facts of the call:",
            "rules, error bound",
        ),
    ),
    (
        *(706, 194, 222, 126, CODE, "output"),
        (
            "view: text, HTML, terminal",
            "plots and reports",
            "files and data frames",
            "shap and shapiq",
        ),
    ),
)
STEPS = (
    ("plan", "features, semivalue, rules"),
    ("source", "factors of a block of pairs"),
    ("backend", "C++ or NumPy"),
    ("reduction", "by row, pair, permutation"),
    ("check", "values add up"),
)
# the ends of a line, and the package that takes its values along
ARROWS = (
    ((160, 77), (220, 77), "readers/"),
    ((306, 114), (306, 143), ""),
    ((160, 180), (220, 180), ""),
    ((160, 283), (220, 283), "statistics/"),
    ((392, 180), (452, 180), "explain/"),
    ((392, 283), (452, 283), ""),
    ((646, 103), (706, 103), "results/"),
    ((817, 166), (817, 194), ""),
)


def text(x: float, y: float, words: str, size: int, colour: str, style: str = "") -> str:
    """Return a line of text, centred."""
    attributes = f'x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}" text-anchor="middle"'
    return f"<text {attributes} {style}>{escape(words)}</text>"


def box(
    x: float, y: float, w: float, h: float, fill: str, title: str, lines: tuple[str, ...]
) -> str:
    """Return a box with a bold title and lines below it."""
    frame = f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="7" fill="{fill}" stroke="{LINE}"/>'
    parts = [frame, text(x + w / 2, y + 24, title, 15, INK, 'font-weight="600"')]
    parts += [text(x + w / 2, y + 44 + 17 * k, line, 12, SOFT) for k, line in enumerate(lines)]
    return "\n".join(parts)


def draw() -> str:
    """Return the picture, as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="Helvetica, Arial, sans-serif" role="img">',
        "<title>From a model or tables to an explanation</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{INK}"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#f7f9fa"/>',
        *(box(*entry) for entry in BOXES),
    ]
    for k, (name, note) in enumerate(STEPS):
        top = 76 + 48 * k
        parts.append(f'<rect x="468" y="{top}" width="162" height="42" rx="5" fill="#fff"/>')
        parts.append(text(549, top + 18, name, 13, INK))
        parts.append(text(549, top + 34, note, 11, SOFT))
    for (x1, y1), (x2, y2), package in ARROWS:
        ends = f'x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{INK}" stroke-width="1.4"'
        parts.append(f'<line {ends} marker-end="url(#tip)"/>')
        if package:
            parts.append(text((x1 + x2) / 2, y1 - 9, package, 11, SOFT))
    parts.append(
        text(WIDTH / 2, HEIGHT - 16, "values flow forward; nothing reaches back", 12, SOFT)
    )
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    write_atomically(TARGET, lambda file: file.write(draw().encode()), TARGET.name)
