"""The chart of the README: time and error of one row against the number of features."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.page._format import NAMES
from benchmarks.record import load
from pkex._util.files import write_atomically

COLOURS = ("#d1495b", "#e9a03b", "#2e6f95", "#5b8c5a")
FLOOR = 1e-15  # where an error of 0 is drawn


def draw(path: Path) -> None:
    """Draw the time of each method and the error of its values, with the same background rows."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    results: dict[str, Any] = load("interventional")["SVR"]
    fig, axes = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
    for name, colour, marker in zip(results["seconds"], COLOURS, "osD^", strict=False):
        for ax, quantity in zip(axes, ("seconds", "error"), strict=True):
            measured = results[quantity][name]
            heights = [max(value, FLOOR) for value in measured.values()]
            label = NAMES[name].replace("`", "")
            sizes = [int(d) for d in measured]
            ax.loglog(sizes, heights, color=colour, marker=marker, ms=5, label=label)
    axes[0].set_ylabel("seconds for one row, one thread")
    axes[1].set_ylabel("largest error / largest value")
    axes[1].axhspan(FLOOR / 3, 1e-12, color="0.93", zorder=0)
    axes[1].annotate("exact, up to rounding", (0.98, 0.13), xycoords="axes fraction", ha="right")
    axes[1].set_ylim(FLOOR / 3, 3.0)
    for ax, title in zip(axes, ("time", "error"), strict=True):
        ax.set_title(f"{title}: SVR, 450 training points, 100 background rows", size=10)
        ax.set_xlabel("number of features")
        ax.set_xticks(sizes, [str(d) for d in sizes])
        ax.minorticks_off()
        ax.grid(which="major", color="0.9")
        ax.spines[["top", "right"]].set_visible(False)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    write_atomically(path, partial(fig.savefig, format="png", dpi=130), path.name)
