"""Pictures of one cell of a notebook come in the order in which they were drawn."""

from __future__ import annotations

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

from tests.output.test_displays import ONE

pytestmark = pytest.mark.frontend

mpl.use("Agg")


@pytest.mark.notebook  # needs IPython
def test_earlier_pictures_of_a_cell_are_shown_first(monkeypatch):
    IPython = pytest.importorskip("IPython.display")
    shown: list[object] = []
    monkeypatch.setattr(IPython, "display", shown.append)
    monkeypatch.setattr(plt, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    gone = ONE.plot.waterfall(3)
    plt.close(gone.figure_)
    other = plt.figure()
    first, last = ONE.plot.waterfall(0), ONE.plot.bar()
    later = ONE.plot.heatmap()
    assert "image/png" in last._repr_mimebundle_()[0]
    assert shown == [first.figure_]
    assert plt.get_fignums() == sorted([other.number, later.figure_.number])


def test_other_backends_show_their_figures_themselves():
    first, last = ONE.plot.waterfall(0), ONE.plot.bar()
    last._repr_mimebundle_()
    assert plt.get_fignums() == [first.figure_.number]
