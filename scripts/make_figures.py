"""Make the figures of the documentation from the code on its pages.

    python scripts/make_figures.py [PAGE ...]

A page that shows ``images/name.png`` saves it in one of its examples. This script runs the examples
of the pages in an empty folder and copies what they saved to docs/images. The tests run the same
examples, so a figure cannot come from code that does not work.
"""

from __future__ import annotations

import doctest
import os
import re
import sys
import tempfile
import warnings
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

import matplotlib as mpl
from matplotlib import pyplot as plt

from pkex._util.files import write_atomically

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"


def figures(page: Path) -> list[str]:
    """Return the names of the figures that a page saves."""
    return re.findall(r'savefig\("(\w+\.png)"', page.read_text(encoding="utf-8"))


def run(page: Path) -> None:
    """Run the examples of a page, in the current folder."""
    namespace: dict[str, object] = {}
    for example in doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8")):
        exec(compile(example.source, str(page), "exec"), namespace)  # prints no results
    plt.close("all")


def _fill(drawn: bytes, file: BinaryIO) -> None:
    file.write(drawn)


def main() -> None:
    """Make the figures of the pages named, or of all."""
    mpl.use("Agg")
    warnings.simplefilter("ignore", PendingDeprecationWarning)  # of matplotlib, inside shap
    pages = [Path(name).resolve() for name in sys.argv[1:]] or sorted(ROOT.glob("docs/**/*.md"))
    for page in pages:
        names = figures(page)
        if not names:
            continue
        if "import torch" in page.read_text(encoding="utf-8") and find_spec("torch") is None:
            print(f"{page.relative_to(ROOT)} needs torch: run this with build/torch/bin/python")
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            run(page)
            for name in names:
                drawn = Path(name).read_bytes()
                write_atomically(IMAGES / name, partial(_fill, drawn), name)
                print(f"{page.relative_to(ROOT)}: {name}, {len(drawn) // 1024} KiB")
            os.chdir(ROOT)


if __name__ == "__main__":
    main()
