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
    "sphinx_design",
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
ALIASES = ("ArrayLike", "Floats", "Groups", "Output", "TableLike")
autodoc_type_aliases = dict(zip(ALIASES, ALIASES, strict=True))
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


PLOTS = {
    "AttributionPlots": "attribution",
    "ChangePlots": "change",
    "EffectsPlots": "effects",
    "ExplanationPlots": "explanation",
    "ImportancePlots": "importance",
    "InteractionPlots": "interactions",
    "SensitivityPlots": "sensitivity",
    "SparsePlots": "explanation",
}


def name_plots(_: Any, doctree: Any) -> None:
    """Write plots as users do: ``explanation.plot.waterfall``."""
    from docutils.nodes import Text
    from sphinx.addnodes import desc_addname, desc_name, desc_signature

    for signature in doctree.findall(desc_signature):
        accessor, _, kind = signature.get("fullname", "").partition(".")
        if kind and accessor in PLOTS:
            prefix, name = f"{PLOTS[accessor]}.plot.", kind
            if kind == "__call__":
                prefix, name = f"{PLOTS[accessor]}.", "plot"
            for wanted, text in ((desc_addname, prefix), (desc_name, name)):
                for node in signature.findall(wanted):
                    node.children = [Text(text)]


def title_links(_: Any, doctree: Any, __: str) -> None:
    """Title links to names of pkex by their public paths, not by the modules that define them."""
    from docutils.nodes import reference

    for link in doctree.findall(reference):
        if link.get("reftitle", "").startswith("pkex."):
            target = link.get("refid") or link.get("refuri", "").rpartition("#")[2]
            link["reftitle"] = target or link["reftitle"]


def write_notebook(app: Any, page: str) -> str:
    """Write a page as a notebook, and return its name: text in cells of text, code to run."""
    from nbformat import v4, write

    text = Path(app.srcdir, f"{page}.md").read_text(encoding="utf-8")
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    cells = []
    blocks = re.compile(r"(.*?)(?:^```python\n(.*?)^```$|\Z)", re.DOTALL | re.MULTILINE)
    for words, code in blocks.findall(text):
        words = re.sub(r"!\[[^\]]*\]\([^)]+\)\n*", "", words).strip()  # drawn by the code
        words = re.sub(r"\[([^\]]+)\]\((?!http)[^)]+\)", r"\1", words)  # pages are not beside it
        if words:
            cells.append(v4.new_markdown_cell(words))
        lines = [line[4:] for line in code.splitlines() if line.startswith((">>> ", "... "))]
        if lines:
            cells.append(v4.new_code_cell("\n".join(lines)))
        elif code:  # to read: it needs a cluster
            cells.append(v4.new_markdown_cell(f"```python\n{code}```"))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    notebook = v4.new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    path = Path(app.outdir, "_downloads", "notebooks", f"{Path(page).name}.ipynb")
    path.parent.mkdir(parents=True, exist_ok=True)
    write(notebook, path)
    return f"../_downloads/notebooks/{path.name}"


def link_notebook(app: Any, page: str, _: str, context: dict[str, Any], doctree: Any) -> None:
    """Begin a page of the guide that has examples with a link to it as a notebook."""
    if not page.startswith("guide/") or doctree is None or ">>> " not in doctree.astext():
        return
    link = f'<p class="notebook"><a href="{write_notebook(app, page)}" download>Notebook</a></p>'
    context["body"] = context["body"].replace("</h1>", f"</h1>\n{link}", 1)


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer of formulas and the tables of members."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("doctree-read", name_plots)
    app.connect("doctree-resolved", title_links)
    app.connect("html-page-context", link_notebook)
    app.connect("autodoc-process-signature", shorten)
    app.connect("autodoc-process-docstring", add_members, priority=400)  # before napoleon
    return {"parallel_read_safe": True}
