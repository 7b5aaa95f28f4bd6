"""Make pictures of all that a person sees, to be looked at in one go before a release.

    python scripts/contact_sheet [plots] [terminal] [pages] [--only NAME]

They go to build/contact: every plot beside shap's, every command in terminals of several widths and
looks, reports, tables of a notebook and the documentation (of `make docs`) in Chromium at the
widths of a desktop and a phone, light and dark. Takes some minutes. Lines wider than their terminal
and pages wider than their window are listed at the end. Needs the dev extra and Chromium, which
scripts/install_browser.sh installs.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("plots", "terminal", "pages")


def main() -> int:
    """Make the parts asked for, all by default; return 1 where something does not fit."""
    parser = argparse.ArgumentParser(description="Pictures of all that a person sees.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--only", default="", help="those whose names contain this")
    asked = parser.parse_args()
    unknown = set(asked.parts) - set(PARTS)
    if unknown:
        parser.error(
            f"there is no part {', '.join(sorted(unknown))}; choose from {', '.join(PARTS)}"
        )
    parts, out = asked.parts or PARTS, ROOT / "build" / "contact"
    out.mkdir(parents=True, exist_ok=True)
    wrong: list[str] = []
    if "plots" in parts:
        import plots

        print("\n".join(plots.draw(out, asked.only)))
    if "terminal" in parts:
        import terminal

        with tempfile.TemporaryDirectory() as folder:
            wrong += terminal.take(Path(folder), out, asked.only)
    if "pages" in parts:
        import pages

        pages.write_reports(out)
        pages.write_notebook(out)
        wrong += pages.shots(out, asked.only)
    print(
        "\n".join([*wrong, f"{len(list(out.glob('*.png')))} pictures in {out.relative_to(ROOT)}"])
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
