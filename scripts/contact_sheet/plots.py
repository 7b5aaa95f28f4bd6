"""Every picture of every result, each beside its counterpart in shap where there is one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import cases
import matplotlib as mpl
import numpy as np
import shap
from matplotlib import pyplot as plt
from PIL import Image

from pkex.plots import Display

__all__ = ["draw"]

Drawn = Callable[[], Any]
KINDS = ("bar", "beeswarm", "heatmap", "decision")
DARK = ("regressor", "classes-beeswarm", "mixed-beeswarm", "std-waterfall", "attribution-mmd")


def draw(folder: Path, wanted: str = "") -> list[str]:
    """Write a PNG for each picture into the folder; return what could not be drawn."""
    mpl.use("Agg")
    wrong = []
    for name, ours, theirs in pictures():
        if wanted not in name:
            continue
        shots = [taken(ours)]
        try:
            shots += [] if theirs is None else [taken(theirs)]
        except Exception as error:  # of shap, which need not draw all that pkex does
            wrong.append(f"shap does not draw {name}: {error}")
        side_by_side(shots).save(folder / f"plot-{name}.png")
        if name.startswith(DARK):
            with plt.style.context("dark_background"):
                taken(ours).save(folder / f"plot-{name}-dark.png")
    return wrong


def pictures() -> Iterator[tuple[str, Drawn, Drawn | None]]:
    """Yield names, what pkex draws, and what shap draws."""
    for name in cases.EXPLANATIONS:
        yield from of_explanation(name)
    mixed = cases.explanation("mixed")
    for column in mixed.feature_names:
        short = column.split()[0]
        yield (
            f"mixed-dependence-{short}",
            partial(mixed.plot.dependence, column, color="town"),
            None,
        )
    for name in cases.ATTRIBUTIONS:
        plots = cases.attribution(name).plot
        yield f"attribution-{name}", plots, None
        yield f"attribution-{name}-marginals", plots.marginals, None
    for name in cases.SENSITIVITIES:
        found = cases.sensitivity(name)
        output = 0 if found.shapley.ndim == 2 else None
        yield f"sensitivity-{name}", partial(found.plot, output=output), None
        yield f"sensitivity-{name}-pairs", partial(found.plot.pairs, output=output), None
    for name in cases.INTERACTIONS:
        found_pairs = cases.interactions(name)
        for kind in ("heatmap", "network", "pair"):
            yield f"interactions-{name}-{kind}", getattr(found_pairs.plot, kind), None


def of_explanation(name: str) -> Iterator[tuple[str, Drawn, Drawn | None]]:
    """Yield the pictures of an explanation; of shap's, those of the first output."""
    found = cases.explanation(name)
    one = found[:, :, 0] if found.values.ndim == 3 else found
    most = found.values.ndim == 3 and found.values.shape[2] > 6
    some: dict[str, Any] = {"output": [0, 1, 2]} if most else {}
    plots, theirs = found.plot, one.to_shap()
    yield f"{name}-waterfall", partial(plots.waterfall, 0, **some), of_shap("waterfall", theirs[0])
    if len(found) == 1:
        yield f"{name}-bar", plots.bar, of_shap("bar", theirs)
        return
    for kind in KINDS:
        options = {} if kind == "bar" else some
        yield f"{name}-{kind}", partial(getattr(plots, kind), **options), of_shap(kind, theirs)
    first, second = (one.feature_names[i] for i in one.importance().ranking[:2])
    yield f"{name}-cohorts", partial(plots.bar, cohorts=first, **some), None
    scatter = partial(shap.plots.scatter, theirs[:, first], color=theirs[:, second], show=False)
    yield f"{name}-dependence", partial(plots.dependence, first, color=second, **some), scatter


def of_shap(kind: str, found: Any) -> Drawn:
    """Return what draws a picture with shap."""
    if kind != "decision":
        return partial(getattr(shap.plots, kind), found, show=False)
    base, names = float(np.ravel(found.base_values)[0]), list(found.feature_names)
    return partial(shap.plots.decision, base, found.values[:200], feature_names=names, show=False)


def taken(drawn: Drawn) -> Image.Image:
    """Return what a call draws."""
    plt.close("all")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of shap
        shown = drawn()
    ours, file = isinstance(shown, Display), BytesIO()
    figure = shown.figure_ if ours else plt.gcf()
    figure.savefig(file, dpi=100, bbox_inches=None if ours else "tight")
    plt.close("all")
    return Image.open(file).convert("RGB")


def side_by_side(images: list[Image.Image]) -> Image.Image:
    """Return images in a row."""
    gap = 20
    width = sum(image.width + gap for image in images) - gap
    sheet = Image.new("RGB", (width, max(image.height for image in images)), "#888888")
    at = 0
    for image in images:
        sheet.paste(image, (at, 0))
        at += image.width + gap
    return sheet
