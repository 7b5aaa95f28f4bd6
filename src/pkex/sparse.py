"""`SparseExplainer`: models of sparse rows, such as support vector machines on TF-IDF.

Nothing is made dense but the columns that a row stores, at the points: see `pkex.games.sparse`.
"""

from __future__ import annotations

import re
from copy import copy
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex._extras import optional
from pkex._validation import brief, tolerance
from pkex._words import listed
from pkex.errors import AdditivityError, UnsupportedModelError
from pkex.games.rules import FULL_PRECISION, Rule
from pkex.games.sparse import SparsePoints
from pkex.importance import Importance
from pkex.kernels.algebra import ColumnKernel
from pkex.models.expansion import KernelExpansion

__all__ = ["SparseExplainer", "SparseExplanation", "TextPlot"]

Floats = NDArray[np.float64]

_MACHINES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
_ROUNDING = 2.0**-36  # of sums of logarithms, relative to the sum of absolute coefficients
_AGREEMENT = 1e-7  # of the model's own predictions, which libsvm makes in its own way
_OWN_ROWS = 500  # of the model's points that stand in for a background, as in Explainer
REST = "(all other columns)"


class SparseExplainer:
    """Exact Shapley values of a kernel machine on sparse rows, in time that their entries cost.

    Parameters
    ----------
    model : support vector machine, pipeline or KernelExpansion
        `SVC`, `NuSVC`, `SVR`, `NuSVR` or `OneClassSVM` with an RBF kernel, fitted on sparse rows.
        A pipeline, such as one of `TfidfVectorizer` and `SVC`, is explained in the columns that its
        last step sees, named by the step before.
    background : sparse matrix, optional
        Rows that an absent column is averaged over; by default the model's own support vectors,
        500 of them at most. Of a pipeline they go through its first steps.
    removal : {"marginal", "neutral"}, default "marginal"
        As in `Explainer`.
    feature_names : sequence of str, optional
        Names of the columns; by default those of the pipeline, or ``x0``, ``x1``, ...
    tol : float, optional
        As in `Explainer`.

    Examples
    --------
    >>> import pkex
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> texts = ["good and cheap", "a good day", "bad and dear", "a bad idea"]
    >>> model = make_pipeline(TfidfVectorizer(), SVC()).fit(texts, [1, 1, 0, 0])
    >>> explanation = pkex.SparseExplainer(model)(["a good idea"])
    >>> explanation.to_frame().round(3)
       row              feature   data  value
    0    0                 idea  0.785 -0.329
    1    0                 good  0.619  0.210
    2    0  (all other columns)    NaN  0.047
    """

    def __init__(
        self,
        model: Any,
        background: Any = None,
        *,
        removal: str = "marginal",
        feature_names: Any = None,
        tol: float | None = None,
    ) -> None:
        if removal not in ("marginal", "neutral"):
            raise ValueError(
                f"removal must be 'marginal' or 'neutral' for sparse rows, got {brief(removal)}; "
                "pkex.Explainer has 'interventional', for dense ones."
            )
        if removal == "neutral" and background is not None:
            raise ValueError("neutral removal takes no background: leave one of them out.")
        self._steps, machine = _split(model)
        self._machine = machine
        expansion, points = _read(machine)
        self.kernel = _only_kernel(expansion)
        self.removal, self.output_names = removal, expansion.output_names
        self._offset = np.atleast_1d(np.asarray(expansion.offset, dtype=np.float64))
        self._single = expansion.alpha.shape[1] == 1
        z = _csc(points, "points")
        self.feature_names = _names(self._steps, feature_names, z.shape[1])
        rows = None
        self.absent = "have the kernel factor 1"
        if removal == "marginal":
            rows = z if background is None else _csc(self._rows(background), "background")
            if rows.shape[1] != z.shape[1]:
                raise ValueError(
                    f"background has {rows.shape[1]} columns, but the model takes {z.shape[1]}."
                )
            kind = "support vectors" if background is None else "background rows"
            if background is None and rows.shape[0] > _OWN_ROWS:
                picked = np.linspace(0, rows.shape[0] - 1, _OWN_ROWS).round().astype(int)
                rows = _csc(rows.tocsr()[picked], "background")
            self.absent = f"averaged over {rows.shape[0]} {kind}, columns independent"
        level = tolerance(tol, FULL_PRECISION)
        self._points = SparsePoints(self.kernel, z, expansion.alpha, rows, level)

    def __call__(self, X: Any) -> SparseExplanation:
        """Explain rows: a sparse matrix, or what the first step of a pipeline takes.

        Raises
        ------
        AdditivityError
            When base value, values and rest do not add up to the sum of all kernel products, or the
            model's own prediction is another.
        """
        from scipy import sparse

        given = self._rows(X)
        if not sparse.issparse(given):
            raise TypeError(
                f"X must be a sparse matrix, got {type(given).__name__}: pass "
                "scipy.sparse.csr_array(X), or dense rows to pkex.Explainer."
            )
        rows = _csc(given, "X").tocsr()
        if rows.shape[1] != len(self.feature_names):
            raise ValueError(
                f"X has {rows.shape[1]} columns, but the model takes {len(self.feature_names)}."
            )
        rows.sort_indices()
        found = [
            self._points.explain(rows.indices[place], rows.data[place])
            for place in map(slice, rows.indptr[:-1], rows.indptr[1:])
        ]
        n_sets = len(self._offset)
        stacked = np.concatenate([row.values for row in found]) if found else np.empty((0, n_sets))
        rest = np.array([row.rest for row in found]).reshape(-1, n_sets)
        predictions = np.array([row.total for row in found]).reshape(-1, n_sets) + self._offset
        base = np.broadcast_to(self._points.bases + self._offset, predictions.shape).copy()
        values = tuple(
            sparse.csr_array((stacked[:, k], rows.indices, rows.indptr), shape=rows.shape)
            for k in range(n_sets)
        )
        sums = np.stack([v.sum(axis=1) for v in values], axis=1)
        gaps = np.abs(base + sums + rest - predictions)
        residual = float(gaps.max(initial=0.0))
        rules = {row.rule for row in found}
        worst = max((rule.relative_error for rule in rules), default=0.0)
        size = np.abs(self._points.weights).sum(axis=0)
        if not (gaps <= (2.0 * worst + _ROUNDING) * size + 1e-300).all():
            raise AdditivityError(
                f"base value, values and rest miss the prediction by {residual:.2g}, which is more "
                "than rounding: please report it."
            )
        self._check_own(given, predictions, size)
        one = self._single
        return SparseExplanation(
            values=values[0] if one else values,
            rest=rest[:, 0] if one else rest,
            base_values=base[:, 0] if one else base,
            predictions=predictions[:, 0] if one else predictions,
            data=rows,
            feature_names=self.feature_names,
            output_names=self.output_names,
            rules=tuple(sorted(rules, key=lambda rule: -rule.relative_error)),
            residual=residual,
            removal=self.removal,
            absent=self.absent,
        )

    def _rows(self, X: Any) -> Any:
        return X if self._steps is None else self._steps.transform(X)

    def _check_own(self, rows: Any, predictions: Floats, size: Floats) -> None:
        """Compare the first predictions with the model's own."""
        if isinstance(self._machine, KernelExpansion) or not len(predictions):
            return
        machine = copy(self._machine)
        if hasattr(machine, "classes_"):
            if len(machine.classes_) > 2:
                return  # what is explained is the mean over pairs, which it does not tell
            own = machine.decision_function(rows[:4])
        else:
            own = getattr(machine, "decision_function", machine.predict)(rows[:4])
        if not (np.abs(own - predictions[:4, 0]) <= _AGREEMENT * (1.0 + size[0])).all():
            raise AdditivityError(
                f"the model predicts {own[0]:.6g} for the first row, but its support vectors give "
                f"{predictions[0, 0]:.6g}: it was changed after it was fitted."
            )


@dataclass(frozen=True, eq=False)
class SparseExplanation:
    """Exact Shapley values of sparse rows: of the stored entries one by one, of all others as one.

    ``base_values + values.sum(axis=1) + rest`` is the prediction; `rest` is computed, so that this
    was a check.

    Attributes
    ----------
    values : CSR array of shape (n_rows, n_columns), or a tuple of these, one for each output
        The values of the entries that `data` stores, in the same places.
    rest : array of shape (n_rows,) or (n_rows, n_outputs)
        The sum of the values of all columns that a row does not store: what it says that these
        are 0.
    base_values, predictions : arrays of the shape of `rest`
    data : CSR array of shape (n_rows, n_columns)
    feature_names : tuple of str
    output_names : tuple of str, or None
    rules : tuple of Rule
        The rules used, the largest proven error first.
    residual : float
        The largest ``|base + values + rest - prediction|``.
    removal, absent : str
        As in `Explanation`.

    Examples
    --------
    >>> import pkex
    >>> from scipy.sparse import csr_array
    >>> f = pkex.KernelExpansion([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], [1.0, 2.0], pkex.kernels.RBF())
    >>> explanation = pkex.SparseExplainer(f, removal="neutral")(csr_array([[0.0, 2.0, 0.0]]))
    >>> explanation.values.toarray().round(4), explanation.rest.round(4)
    (array([[ 0.    , -1.7826,  0.    ]]), array([-0.4467]))
    """

    values: Any
    rest: Floats
    base_values: Floats
    predictions: Floats
    data: Any
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] | None
    rules: tuple[Rule, ...]
    residual: float
    removal: str
    absent: str

    def __len__(self) -> int:
        return int(self.data.shape[0])

    def __repr__(self) -> str:
        per_row = self.data.nnz / max(1, len(self))
        return (
            f"SparseExplanation: {len(self)} rows, {per_row:.1f} entries a row of "
            f"{len(self.feature_names)} columns ({self.removal} removal)"
        )

    def one(self, output: str | int | None) -> tuple[Any, Floats]:
        """Return values and rest of one output, by name or number."""
        if not isinstance(self.values, tuple):
            return self.values, self.rest
        names = self.output_names or tuple(f"y{k}" for k in range(len(self.values)))
        if output is None:
            raise ValueError(f"there are {len(names)} outputs, {listed(names)}: choose one.")
        number = names.index(output) if output in names else output
        if not isinstance(number, int) or not 0 <= number < len(names):
            raise KeyError(f"there is no output {output!r}; the outputs are {listed(names)}.")
        return self.values[number], self.rest[:, number]

    def to_frame(self, output: str | int | None = None) -> Any:
        """Return a pandas data frame: a line for each stored entry, and one for the rest of a row.

        The columns are ``row``, ``feature``, ``data`` and ``value``; the entries of a row come
        largest value first, its rest, named ``(all other columns)``, last.
        """
        pandas = optional("pandas", "pandas")
        values, rest = self.one(output)
        lines = []
        for row in range(len(self)):
            place = slice(values.indptr[row], values.indptr[row + 1])
            phi, columns, cells = values.data[place], values.indices[place], self.data.data[place]
            for i in np.argsort(-np.abs(phi), kind="stable"):
                lines.append((row, self.feature_names[columns[i]], cells[i], phi[i]))
            lines.append((row, REST, np.nan, rest[row]))
        return pandas.DataFrame(lines, columns=["row", "feature", "data", "value"])

    def importance(self, output: str | int | None = None) -> Importance:
        """Return the mean absolute value of each column over the rows, with standard errors.

        A column counts as 0 in rows that do not store it: its part in their rest is left out. The
        rest is the last line, named ``(all other columns)``.
        """
        values, rest = self.one(output)
        n_rows = len(self)
        if not n_rows:
            raise ValueError("the explanation has no rows, so there is no mean over them.")
        sizes = abs(values)
        means = np.append(np.asarray(sizes.sum(axis=0)).ravel(), np.abs(rest).sum()) / n_rows
        squares = np.append(np.asarray((sizes**2).sum(axis=0)).ravel(), (rest**2).sum())
        errors = np.full(len(means), np.nan)
        if n_rows > 1:
            spread = np.maximum(0.0, squares - n_rows * means**2) / (n_rows - 1)
            errors = np.sqrt(spread / n_rows)
        centres = np.append(np.asarray(values.sum(axis=0)).ravel(), rest.sum()) / n_rows
        stored = np.bincount(values.indices, minlength=values.shape[1])
        gaps = np.bincount(
            values.indices, np.abs(values.data - centres[values.indices]), values.shape[1]
        )
        centred = (gaps + (n_rows - stored) * np.abs(centres[:-1])) / n_rows
        last = np.abs(rest - centres[-1]).mean()
        names = (*self.feature_names, REST)
        return Importance(
            means, errors, names, (), np.append(centred, last), self.removal == "neutral"
        )

    def to_shap(self, output: str | int | None = None) -> Any:
        """Return a `shap.Explanation` of the columns that some row stores, made dense.

        The rest is one more feature, ``(all other columns)``, so that its plots add up.
        """
        shap = optional("shap", "shap")
        values, rest = self.one(output)
        kept = np.unique(values.indices)
        base = self.base_values
        if isinstance(self.values, tuple):
            number = next(k for k, one in enumerate(self.values) if one is values)
            base = base[:, number]
        nan = np.full((len(self), 1), np.nan)
        return shap.Explanation(
            np.column_stack([values[:, kept].toarray(), rest]),
            base_values=base,
            data=np.column_stack([self.data[:, kept].toarray(), nan]),
            feature_names=[*(self.feature_names[j] for j in kept), REST],
        )

    def text(
        self, row: int, text: str, output: str | int | None = None, pattern: str = r"(?u)\b\w\w+\b"
    ) -> TextPlot:
        """Return a text with its tokens coloured by their values, for notebooks and as HTML.

        Parameters
        ----------
        row : int
        text : str
            The text that the row was made from.
        output : str or int, optional
        pattern : str
            What a token is, by default as `TfidfVectorizer` has it; tokens are compared in lower
            case. Red raises the prediction, blue lowers it; what is no feature stays plain.
        """
        values, rest = self.one(output)
        if not -len(self) <= row < len(self):
            raise IndexError(f"there is no row {row}; the explanation has {len(self)}.")
        row %= len(self)
        place = slice(values.indptr[row], values.indptr[row + 1])
        names = (self.feature_names[j] for j in values.indices[place])
        return TextPlot(
            text,
            dict(zip(names, values.data[place].tolist(), strict=True)),
            float(rest[row]),
            pattern,
        )


@dataclass(frozen=True)
class TextPlot:
    """A text whose tokens are coloured by their values; a notebook shows it.

    Examples
    --------
    >>> from pkex.sparse import TextPlot
    >>> plot = TextPlot("so good", {"good": 0.5}, 0.1, "[a-z]+")
    >>> 'title="+0.5">good</span>' in plot.html()
    True
    """

    text: str
    values: dict[str, float]
    rest: float
    pattern: str

    def html(self) -> str:
        """Return it as a piece of HTML, in which nothing of the text is markup."""
        largest = max(map(abs, self.values.values()), default=0.0) or 1.0
        parts, last = [], 0
        for found in re.finditer(self.pattern, self.text):
            value = self.values.get(found[0].lower(), self.values.get(found[0]))
            parts.append(escape(self.text[last : found.start()]))
            last = found.end()
            if value is None:
                parts.append(escape(found[0]))
                continue
            shade = "255,0,81" if value > 0.0 else "0,139,251"  # as in shap's plots
            style = f"background:rgba({shade},{abs(value) / largest * 0.6:.3f});padding:0 1px"
            parts.append(f'<span style="{style}" title="{value:+.4g}">{escape(found[0])}</span>')
        parts.append(escape(self.text[last:]))
        note = f"all other columns together: {self.rest:+.4g}"
        body = "".join(parts)
        return (
            f'<div class="pkex-text"><p style="white-space:pre-wrap;line-height:1.6">{body}</p>'
            f'<p style="opacity:0.7">{note}</p></div>'
        )

    def _repr_html_(self) -> str:
        return self.html()


def _split(model: Any) -> tuple[Any, Any]:
    """Return the steps before the last one of a pipeline, or None, and the last."""
    if hasattr(model, "steps"):
        return (model[:-1] if len(model.steps) > 1 else None), model.steps[-1][1]
    return None, model


def _read(machine: Any) -> tuple[KernelExpansion, Any]:
    """Return a machine as an expansion without its points, and the points, which stay sparse.

    The readers of dense machines do the reading, of a copy whose points have a single column.
    """
    from pkex.readers.reading import Given
    from pkex.readers.sklearn.models import (
        classification_machine,
        one_class_machine,
        regression_machine,
    )

    if isinstance(machine, KernelExpansion):
        if len(machine.parts) != 1 or machine.preparation is not None:
            raise UnsupportedModelError(
                "a sum of expansions, or a prepared one, has no sparse form."
            )
        return machine, machine.points
    kind = type(machine)
    if kind.__name__ not in _MACHINES or not kind.__module__.startswith("sklearn.svm"):
        raise UnsupportedModelError(
            f"SparseExplainer explains {listed(_MACHINES)} of scikit-learn and "
            f"pkex.KernelExpansion, got {kind.__name__}: pass dense rows to pkex.Explainer."
        )
    if getattr(machine, "kernel", None) != "rbf":
        raise UnsupportedModelError(
            f"sparse rows need a kernel that is 1 between two zeros, such as 'rbf', but "
            f"{kind.__name__} has kernel={machine.kernel!r}: pass dense rows to pkex.Explainer."
        )
    points = machine.support_vectors_
    small = copy(machine)
    small.support_vectors_ = np.zeros((points.shape[0], 1))
    small.__dict__.pop("feature_names_in_", None)
    read = {
        "SVC": classification_machine,
        "NuSVC": classification_machine,
        "SVR": regression_machine,
        "NuSVR": regression_machine,
        "OneClassSVM": one_class_machine,
    }[kind.__name__]
    return read(small, Given()).expansion, points


def _only_kernel(expansion: KernelExpansion) -> ColumnKernel:
    """Return the column kernel of an expansion that has one, the same in all columns."""
    kernel = expansion.kernel
    number = getattr(kernel, "length_scale", 1.0)
    if (
        not isinstance(kernel, ColumnKernel)
        or kernel.columns is not None
        or not kernel.unit
        or not np.isscalar(number)
    ):
        raise UnsupportedModelError(
            f"sparse rows need one kernel with the same parameters in all columns, got {kernel!r}: "
            "pass dense rows to pkex.Explainer."
        )
    with np.errstate(divide="ignore"):
        at_zero = float(kernel.deficits(np.zeros(1), np.zeros(1))[0])
    if at_zero != 0.0:
        raise UnsupportedModelError(f"{kernel!r} is not 1 between two zeros.")
    return kernel


def _csc(value: Any, name: str) -> Any:
    """Return a sparse array by columns, without stored zeros, of finite numbers."""
    from scipy import sparse

    found = sparse.csc_array(value, dtype=np.float64, copy=True)
    found.sum_duplicates()
    found.eliminate_zeros()
    if not np.isfinite(found.data).all():
        raise ValueError(f"{name} contains NaN or infinity. Impute or drop such rows first.")
    return found


def _names(steps: Any, given: Any, n_columns: int) -> tuple[str, ...]:
    names = given
    if names is None and steps is not None and hasattr(steps, "get_feature_names_out"):
        names = steps.get_feature_names_out()
    if names is None:
        return tuple(f"x{i}" for i in range(n_columns))
    names = tuple(map(str, names))
    if len(names) != n_columns:
        raise ValueError(
            f"feature_names has {len(names)} names, but there are {n_columns} columns."
        )
    return names
