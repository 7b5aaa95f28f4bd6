"""The figure of the README: time of one row against the number of features."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks.page._format import NAMES
from benchmarks.record import load
from pkex._util.files import write_whole

TITLES = {
    "interventional": "interventional values, 100 background rows",
    "neutral": "neutral values",
}
COLOURS = ("#d1495b", "#e9a03b", "#5b8c5a", "#2e6f95", "#8a8a8a", "#6d597a")


def draw(path: Path) -> None:
    """Draw both value functions beside each other, each with the methods that compute it."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    fig, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    for ax, (game, title) in zip(axes, TITLES.items(), strict=True):
        lines = load(game)["SVR"]["seconds"].items()
        for (name, times), colour, marker in zip(lines, COLOURS, "osD^vP", strict=False):
            label = NAMES[name].replace("`", "").removesuffix(", pkex.reference.prefix_suffix")
            sizes = [int(d) for d in times]
            ax.loglog(sizes, list(times.values()), color=colour, marker=marker, ms=5, label=label)
        ax.set_xlabel("number of features")
        ax.set_title(f"SVR, 450 training points: {title}", size=10)
        ax.grid(which="major", color="0.9")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(
            frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2
        )
    axes[0].set_ylabel("seconds for one row, one thread")
    write_whole(path, partial(fig.savefig, format="png", dpi=130), path.name)
