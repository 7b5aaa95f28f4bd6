"""Draw docs/images/dataflow.svg, the data-flow picture of the page on how pkex is built.

python scripts/make_dataflow.py
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from pkex._util.files import write_atomically

TARGET = Path(__file__).resolve().parents[1] / "docs" / "images" / "dataflow.svg"

WIDTH, HEIGHT = 880, 372
INK, SOFT, LINE = "#22303c", "#5a6b78", "#8896a2"
DATA, CODE, CORE = "#ffffff", "#e8f1f7", "#fdf1dc"

# x, y, width, height, fill, title, lines below it
BOXES = (
    (12, 40, 146, 74, DATA, "fitted model", ("SVR, Gaussian process,", "pipeline, search")),
    (12, 246, 146, 74, DATA, "one or two tables", ("arrays, pandas, polars",)),
    (212, 40, 184, 74, CODE, "KernelExpansion", ("points, coefficients, kernel,", "offset, names")),
    (212, 246, 184, 74, CODE, "pairs and weights", ("MMD: two samples", "HSIC: table and target")),
    (436, 40, 194, 280, CORE, "engine", ()),
    (676, 40, 188, 74, DATA, "Explanation", ("values, base values,", "error bound")),
    (676, 246, 188, 74, DATA, "Attribution", ("contributions, p-values,", "error bound")),
    (
        676,
        143,
        188,
        74,
        CODE,
        "where it goes",
        ("shap, shapiq, pandas, npz,", "plots, report.html"),
    ),
)
STEPS = (
    ("plan", "features, semivalue, rules"),
    ("source", "factors of a block of pairs"),
    ("backend", "C++ or NumPy"),
    ("reduction", "by row, pair, permutation"),
    ("check", "values add up"),
)
# points of a line, and what stands above it
ARROWS = (
    ([(158, 77), (212, 77)], "readers"),
    ([(158, 283), (212, 283)], ""),
    ([(396, 77), (436, 77)], ""),
    ([(396, 283), (436, 283)], ""),
    ([(630, 77), (676, 77)], ""),
    ([(630, 283), (676, 283)], ""),
    ([(770, 114), (770, 143)], ""),
    ([(770, 246), (770, 217)], ""),
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


def picture() -> str:
    """Return the picture."""
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
        parts.append(f'<rect x="452" y="{top}" width="162" height="42" rx="5" fill="#fff"/>')
        parts.append(text(533, top + 18, name, 13, INK))
        parts.append(text(533, top + 34, note, 11, SOFT))
    for points, label in ARROWS:
        path = " L".join(f"{x} {y}" for x, y in points)
        line = f'd="M{path}" fill="none" stroke="{INK}" stroke-width="1.4"'
        parts.append(f'<path {line} marker-end="url(#tip)"/>')
        if label:
            parts.append(text((points[0][0] + points[1][0]) / 2, 66, label, 11, SOFT))
    parts.append(
        text(WIDTH / 2, HEIGHT - 16, "values flow forward; nothing reaches back", 12, SOFT)
    )
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    write_atomically(TARGET, lambda file: file.write(picture().encode()), TARGET.name)
