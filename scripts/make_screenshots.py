"""Take the pictures of reports and of a text that the documentation shows, in headless Chromium.

    python scripts/make_screenshots.py

The files are those that the examples of a page write. A picture begins at the top of its file and
ends below the element that is named here. Needs the browser and plots extras, and Chromium,
which scripts/install_browser.sh installs.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from io import BytesIO
from pathlib import Path

from make_figures import IMAGES, ROOT, run
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from pkex._util.files import write_atomically

WIDTH, SCALE, MARGIN = 1180, 1.5, 12

# picture: the page whose examples write the file, the file, colours, the last that is shown
PICTURES = {
    "report_explanation.png": ("howto/reports.md", "diabetes.html", "light", "#row"),
    "report_drift.png": ("howto/reports.md", "bmi.html", "dark", "#statistic"),
    "screen_history.png": ("guide/drift.md", "orders.html", "light", "#features"),
    "screen_text.png": ("guide/text.md", "text.html", "light", ".pkex-text"),
}


def shot(browser: Browser, report: Path, colours: str, last: str) -> bytes:
    """Return the top of a report as a PNG, with as few colours as look the same."""
    page = browser.new_page(
        viewport={"width": WIDTH, "height": 900},
        device_scale_factor=SCALE,
        color_scheme="dark" if colours == "dark" else "light",
        reduced_motion="reduce",
    )
    page.goto(report.resolve().as_uri())
    box = page.locator(last).bounding_box()
    if box is None:
        raise RuntimeError(f"{report.name} shows no section {last!r}.")
    area = {"x": 0, "y": 0, "width": WIDTH, "height": box["y"] + box["height"] + MARGIN}
    taken = page.screenshot(full_page=True, clip=area)  # type: ignore[arg-type]
    page.close()
    small = BytesIO()
    with Image.open(BytesIO(taken)) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
            small, "PNG", optimize=True
        )
    return small.getvalue()


def keep(path: Path, drawn: bytes) -> None:
    """Write a picture whole or not at all."""
    write_atomically(path, lambda file: file.write(drawn), path.name)


def main() -> None:
    """Write the reports and take the pictures."""
    warnings.simplefilter("ignore", PendingDeprecationWarning)  # of matplotlib, inside shap
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        os.chdir(folder)
        for page in sorted({page for page, *_ in PICTURES.values()}):
            run(ROOT / "docs" / page)
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for name, (_, report, colours, last) in PICTURES.items():
            drawn = shot(browser, Path(report), colours, last)
            keep(IMAGES / name, drawn)
            print(f"{name}, {len(drawn) // 1024} KiB")
        browser.close()
        os.chdir(ROOT)


if __name__ == "__main__":
    main()
