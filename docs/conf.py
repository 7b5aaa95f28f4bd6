"""How Sphinx builds the documentation: ``make docs`` writes it to build/docs.

Nothing is fetched, neither by the build nor by the pages: formulas become MathML, which browsers
draw themselves.
"""

from __future__ import annotations

import inspect
import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent

project = "pkex"
author = "The pkex developers"
copyright = author  # noqa: A001
source = ROOT.joinpath("src/pkex/__init__.py").read_text(encoding="utf-8")
[release] = re.findall(r'^__version__ = "(.+)"', source, re.MULTILINE)
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery/*.ipynb", "gallery/*.py"]
default_role = "py:obj"
add_module_names = False
nitpicky = False

myst_enable_extensions = ["amsmath", "attrs_block", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"  # docstrings say in words what is more than a type
autodoc_typehints_format = "short"
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Floats", "Groups", "Output")}
python_maximum_signature_line_length = 72
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": "/plot_",
    "capture_repr": ("_repr_html_",),
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 1e9,  # seconds say nothing about another machine
    "within_subsection_order": "FileNameSortKey",
    "plot_gallery": "True",
    "remove_config_comments": True,
}
os.environ["MPLBACKEND"] = "Agg"
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_preprocess_types = False

html_theme = "furo"
html_title = f"pkex {release}"
html_static_path = ["_static"]
html_css_files = ["pkex.css"]
html_js_files = ["pkex.js"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # it would fetch pages, which browsers refuse from disk
html_math_renderer = "mathml"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5f85", "color-brand-content": "#1f5f85"},
    "dark_css_variables": {"color-brand-primary": "#7fc1e8", "color-brand-content": "#7fc1e8"},
}


def write_formula(writer: Any, node: Any, as_block: bool) -> None:
    """Write a formula as MathML, with the converter of docutils."""
    from docutils.nodes import SkipNode
    from docutils.utils.math import MathError, latex2mathml
    from sphinx.util.logging import getLogger

    tex = node.astext().replace(r"\dots", r"\ldots")
    if as_block and r"\\" in tex:  # several lines
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    try:
        formula = str(latex2mathml.tex2mathml(tex, as_block=as_block))
    except MathError as error:
        getLogger(__name__).warning("%s in the formula %s", error, tex, location=node)
        formula = tex
    if as_block:  # long ones scroll on a narrow screen
        formula = f'<div class="math-block" tabindex="0">{formula}</div>'
    writer.body.append(formula)
    raise SkipNode


def visit_inline(writer: Any, node: Any) -> None:
    """Write a formula in a line."""
    write_formula(writer, node, as_block=False)


def visit_block(writer: Any, node: Any) -> None:
    """Write a displayed formula."""
    write_formula(writer, node, as_block=True)


def add_members(_: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """End the description of a class with a table of its methods and properties."""
    if what != "class" or "members" not in options:
        return
    members = [
        (member, inspect.getdoc(getattr(thing, member)) or "")
        for member, value in vars(thing).items()
        if not member.startswith("_")
        and (callable(value) or isinstance(value, property | classmethod | staticmethod))
    ]
    if len(members) < 2:
        return
    lines += ["", ".. rubric:: Methods and properties", "", ".. list-table::", "   :widths: 30 70"]
    lines += ["   :class: members", ""]
    for member, text in members:
        first = text.partition("\n\n")[0].replace("\n", " ")
        lines += [f"   * - :py:obj:`{member} <{name}.{member}>`", f"     - {first}"]
    lines.append("")


def shorten(*args: Any) -> tuple[str | None, str | None]:
    """Call aliases of types by their names in a signature."""
    *_, signature, returned = args
    texts = (
        re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text or "")
        for text in (signature, returned)
    )
    short, result = texts
    return short or signature, result or returned


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer of formulas and the tables of members."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("autodoc-process-signature", shorten)
    app.connect("autodoc-process-docstring", add_members, priority=400)  # before napoleon
    return {"parallel_read_safe": True}
