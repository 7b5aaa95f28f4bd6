"""Reports, tables of a notebook, terminals and the documentation in Chromium.

Each at the width of a desktop and of a phone, light and dark.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import cases
from playwright.sync_api import Browser, sync_playwright

import pkex.output.report

__all__ = ["shots", "write_notebook", "write_reports"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "build" / "docs"
PAGES = {
    "index": "index.html",
    "gallery": "gallery/index.html",
    "picture": "gallery/plot_all_rows.html",
    "tutorial": "guide/interactions.html",
    "api": "api/explain.html",
    "benchmarks": "benchmarks.html",
}
WIDTHS = {"desktop": 1280, "phone": 390}
NOTEBOOK = """<!doctype html><meta charset="utf-8"><style>
:root {{ color-scheme: light dark }}
body {{ font: 14px sans-serif; margin: 16px; background: light-dark(#fff, #111);
color: light-dark(#000, #ddd) }} table {{ border-collapse: collapse; font-size: 12px }}
th, td {{ padding: 4px 8px; text-align: right }}</style>{}"""


def write_reports(folder: Path) -> None:
    """Write a report of each kind."""
    names = ("regressor", "binary", "classes", "mixed")
    found: dict[str, Any] = {f"explanation-{name}": cases.explanation(name) for name in names}
    found |= {f"attribution-{name}": cases.attribution(name) for name in ("mmd_mixed", "hsic")}
    found["sensitivity"] = cases.sensitivity("ishigami")
    found["explanation-pairs"] = cases.explanation("regressor")[:40]
    for name, result in found.items():
        pairs = cases.interactions("pairs") if name == "explanation-pairs" else None
        pkex.output.report.write(result, folder / f"report-{name}.html", interactions=pairs)


def write_notebook(folder: Path) -> None:
    """Write the tables that a notebook shows, as its page has them."""
    shown: list[Any] = [
        pkex.Explainer(cases.mixed_model()[0]),
        cases.explanation("regressor"),
        cases.explanation("classes")[:3],
        cases.explanation("mixed")[0],
        cases.explanation("std"),
        cases.explanation("mixed").importance(),
        cases.attribution("mmd_mixed"),
        cases.sensitivity("ishigami"),
        cases.interactions("pairs"),
    ]
    parts = [f"<h4>{type(each).__name__}</h4>{each._repr_html_()}" for each in shown]
    (folder / "notebook.html").write_text(NOTEBOOK.format("<hr>".join(parts)), encoding="utf-8")


def shots(folder: Path, wanted: str = "") -> list[str]:
    """Take a picture of every page of the folder and the documentation; return what is wrong."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    pages = {path.stem: path for path in sorted(folder.glob("*.html"))}
    pages |= {f"docs-{name}": DOCS / path for name, path in PAGES.items()}
    wrong = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for name, path in pages.items():
            if wanted in name:
                wrong += shot(browser, name, path, folder)
        browser.close()
    return wrong


def shot(browser: Browser, name: str, path: Path, folder: Path) -> list[str]:
    """Take pictures of a page; return where it is wider than its window."""
    wrong = []
    terminal = name.startswith("terminal")
    for device, width in {"desktop": 1280}.items() if terminal else WIDTHS.items():
        for scheme in ("light",) if terminal else ("light", "dark"):
            page = browser.new_page(
                viewport={"width": width, "height": 900},
                color_scheme=scheme,  # type: ignore[arg-type]
                reduced_motion="reduce",
            )
            page.goto(path.resolve().as_uri())
            page.wait_for_timeout(300)
            over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            if over > 0 and not terminal:
                wrong.append(f"{name} is {over} pixels too wide on a {device}")
            full = not name.startswith("docs")  # whose pages are long
            page.screenshot(path=folder / f"{name}-{device}-{scheme}.png", full_page=full)
            page.close()
    return wrong
