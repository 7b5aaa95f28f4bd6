"""Reports: ``pkex.report.write``, which is made in `pkex.output.report`."""

from __future__ import annotations

from pkex.output.report import write

__all__ = ["write"]
