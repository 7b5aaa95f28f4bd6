"""A headless Chromium, reports that are opened in it, and results that they are of."""

import shutil

import numpy as np
import pandas as pd
import pytest

import pkex
from pkex.output.report import write
from tests._support.written import EVIL, explained

ALERT = "<script>alert(1)</script>"
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser():
    playwright_api = pytest.importorskip("playwright.sync_api")
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    with playwright_api.sync_playwright() as playwright:
        try:
            running = playwright.chromium.launch(executable_path=found, args=QUIET)
        except playwright_api.Error as error:
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

    def dismiss(dialog):
        trouble.append("a dialog")
        dialog.dismiss()

    def opened(result, *, width=1280, scheme="light", **options):
        write(result, path, **options)
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("dialog", dismiss)
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
