"""`KernelExpansion`: the common form of all models that pkex explains.

    f(x) = sum_i alpha_i k(x, x_i) + intercept

A support vector machine, kernel ridge regression and the mean of a Gaussian process are all of
this form; they differ in how they find the coefficients. A model that first prepares its columns
(a pipeline with a scaler or an encoder) is ``f(T(x))`` with a `Preparation` T. Outputs with
different kernels or preparations make a sum of such expansions, its `parts`: see `sums`.

Users see one output without an axis. Inside, every part has one: `alpha` and `intercepts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pkex._util.floats import default_errstate
from pkex._util.lazy import lazy
from pkex._util.sparse import as_csr, is_sparse
from pkex._util.types import Floats, TableLike
from pkex._util.validation import as_matrix
from pkex.kernels.entries import kernel_matrix
from pkex.kernels.messages import no_neutral_removal
from pkex.kernels.sizes import check_sizes
from pkex.models.expansion_base import ExpansionBase, freeze
from pkex.models.preparation import to_model_columns

__all__ = ["KernelExpansion"]


_PREDICT_BLOCK = 2**21  # entries of the kernel matrix that predict holds at once: 16 MiB


@dataclass(frozen=True, eq=False, init=False, repr=False)
class KernelExpansion(ExpansionBase):
    """A function ``f(x) = sum_i alpha_i k(x, x_i) + intercept`` with one or several outputs.

    Parameters
    ----------
    points : array or sparse matrix of shape (n_points, n_columns)
        The points x_i; a data frame gives its column names as well. Sparse ones stay so where the
        kernel is 1 between two zeros; `points` makes them dense when something asks for that.
    coefficients : array of shape (n_points,) or (n_points, n_outputs)
        The weights alpha_i. A single column counts as one output.
    kernel : Kernel
        See `pkex.kernels`.
    intercept : float or array of shape (n_outputs,), default 0.0
        The constant that is added to each output.
    feature_names : sequence of str, optional
        Names of the columns; by default those of a data frame, else ``x0, x1, ...``.
    output_names : sequence of str, optional
        Names of the outputs; by default ``y0, y1, ...`` when there are several.
    preparation : Preparation, optional
        What is done to rows before the kernel; it gives the feature names then.
    background : array of shape (n_rows, n_columns), str, Data or None, default "points"
        The rows that removed features are averaged over by default, in the columns of the points.
        A text says that the points are data, and what to call them ("training points"); None says
        that there are none, because the points are not data (inducing points, a weight vector).
    posterior : Posterior, optional
        Of a Gaussian process: what its covariance needs beside the mean, which the expansion is.
    ridge : float or array of shape (n_outputs,), optional
        Of kernel ridge regression: what was added to the diagonal of the kernel matrix of the
        points. `Explainer.influence` needs it to leave out training rows.

    Attributes
    ----------
    sparse_points : CSR array or None
        The points where they stay sparse.

    See Also
    --------
    pkex.Explainer : Explains a model.
    pkex.as_expansion : Converts a fitted model.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
    >>> f
    KernelExpansion(2 points, 2 columns, 1 output, kernel=RBF(length_scale=1.0))
    >>> f.predict([[0.0, 0.0]]).round(4)
    array([2.2358])
    """

    def __repr__(self) -> str:
        n_points, n_columns = self.shape
        kind = "points" if self.sparse_points is None else "sparse points"
        return (
            f"KernelExpansion({n_points} {kind}, {n_columns} columns, {self.n_outputs} "
            f"output{'s' if self.n_outputs > 1 else ''}, kernel={self.kernel!r})"
        )

    @property
    def kept_points(self) -> Any:
        """The points as they are kept: an array, or a CSR array.

        See Also
        --------
        pkex.KernelExpansion.points : The points as an array.
        pkex.KernelExpansion.prepare_sparse : Prepares rows as a CSR array.

        Examples
        --------
        >>> import pkex, scipy.sparse
        >>> rows = scipy.sparse.csr_array([[0.0, 2.0], [1.0, 0.0]])
        >>> f = pkex.KernelExpansion(rows, [1.0, 2.0], pkex.kernels.RBF())
        >>> f.kept_points.nnz
        2
        """
        return self.points if self.sparse_points is None else self.sparse_points

    @property
    def parts(self) -> tuple[KernelExpansion, ...]:
        """The expansions that it is a sum of: itself, or several with different kernels.

        See Also
        --------
        pkex.as_expansion : Converts a fitted model.
        pkex.readers.Reading : An expansion with the model that it agrees with.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
        >>> len(f.parts), f.parts[0] is f
        (1, True)
        """
        return (self,)

    @property
    def n_outputs(self) -> int:
        """Number of outputs.

        See Also
        --------
        pkex.KernelExpansion.alpha : The coefficients of each output.
        pkex.KernelExpansion.intercepts : The intercept of each output.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
        >>> f.n_outputs
        1
        """
        return int(self.coefficients[0].size)

    @property
    def alpha(self) -> Floats:
        """The coefficients with an axis of outputs, shape (n_points, n_outputs).

        See Also
        --------
        pkex.KernelExpansion.intercepts : The intercept of each output.
        pkex.KernelExpansion.n_outputs : Number of outputs.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
        >>> f.alpha
        array([[1.],
               [2.]])
        """
        return self.coefficients.reshape(len(self.coefficients), -1)

    @property
    def intercepts(self) -> Floats:
        """The intercept of each output, shape (n_outputs,).

        See Also
        --------
        pkex.KernelExpansion.alpha : The coefficients of each output.
        pkex.KernelExpansion.n_outputs : Number of outputs.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
        >>> f.intercepts
        array([0.5])
        """
        return self.intercept.reshape(-1)

    @lazy
    def base_value(self) -> Floats:
        """The value with all features removed: every kernel factor is replaced by 1.

        Kernels with a linear part raise an error, as their factors cannot be replaced.

        See Also
        --------
        pkex.Explainer.expected_value : The base value for any way to remove features.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
        >>> float(f.base_value)
        3.5
        """
        if not self.kernel.has_neutral_removal:
            raise no_neutral_removal(self.kernel)
        worth = sum(term.coefficient for term in self.form.terms)
        base: Floats = worth * self.coefficients.sum(axis=0) + self.intercept
        return freeze(np.asarray(base))

    def prepare(self, X: TableLike, name: str = "X") -> Floats:
        """Return the rows as the kernel sees them: float64, checked, and prepared.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns)
            Rows in the columns of the model, after steps that combine features.
        name : str, default "X"
            What an error message calls the rows.

        Returns
        -------
        array of shape (n_rows, n_prepared_columns)
            The rows in the columns of the points.

        See Also
        --------
        pkex.KernelExpansion.prepare_sparse : Prepares rows as a CSR array.
        pkex.KernelExpansion.evaluate : The function at prepared rows.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
        >>> f.prepare([[0, 1]])
        array([[0., 1.]])
        """
        rows = as_matrix(self._apply_preparation(X), name, self.shape[1], self._prepared_names)
        self.form.check(rows, name)
        check_sizes(rows, self._size_limits, name, self._prepared_names)
        return rows

    def prepare_sparse(self, X: Any, name: str = "X") -> Any:
        """Return the rows as the kernel sees them, as a CSR array.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns)
            Rows in the columns of the model, after steps that combine features.
        name : str, default "X"
            What an error message calls the rows.

        Returns
        -------
        CSR array of shape (n_rows, n_prepared_columns)
            The rows in the columns of the points.

        See Also
        --------
        pkex.KernelExpansion.prepare : Prepares rows as an array.
        pkex.KernelExpansion.evaluate : The function at prepared rows.

        Examples
        --------
        >>> import pkex, scipy.sparse
        >>> rows = scipy.sparse.csr_array([[0.0, 2.0], [1.0, 0.0]])
        >>> f = pkex.KernelExpansion(rows, [1.0, 2.0], pkex.kernels.RBF())
        >>> f.prepare_sparse(rows[:1]).toarray()
        array([[0., 2.]])
        """
        rows = as_csr(self._apply_preparation(X), name, self.shape[1], self._prepared_names)
        self.form.check(rows, name)
        check_sizes(rows, self._size_limits, name, self._prepared_names)
        return rows

    def _apply_preparation(self, X: Any) -> Any:
        """Return rows after the preparation."""
        return X if self.preparation is None else self.preparation.transform(X)

    def check_sizes(self, table: Any, name: str) -> None:
        """Raise a ValueError where prepared rows are too large for kernels between them.

        Parameters
        ----------
        table : array or CSR array of shape (n_rows, n_prepared_columns)
            Prepared rows.
        name : str
            What an error message calls the rows.

        Raises
        ------
        ValueError
            When differences or products of the values would overflow.

        See Also
        --------
        pkex.KernelExpansion.prepare : Prepares rows, and checks their sizes.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> f = pkex.KernelExpansion([[0.0], [1.0]], [1.0, 2.0], pkex.kernels.Polynomial(2))
        >>> f.check_sizes(np.array([[1e200]]), "X")
        Traceback (most recent call last):
        ValueError: a value of 1e+200 in column 'x0' of X is too large for double precision: ...
        """
        check_sizes(table, self._size_limits, name, self._prepared_names)

    def gram(self, rows: Any) -> Floats:
        """Return the kernel matrix of prepared rows and the points.

        Parameters
        ----------
        rows : array or CSR array of shape (n_rows, n_columns)
            Prepared rows, as `prepare` or `prepare_sparse` returns them; sparse ones only where the
            points are sparse.

        Returns
        -------
        array of shape (n_rows, n_points)
            The kernel between each row and each point.

        See Also
        --------
        pkex.KernelExpansion.prepare : Prepares rows as an array.
        pkex.KernelExpansion.evaluate : The function at prepared rows.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
        >>> f.gram(f.prepare([[0.0, 0.0]])).round(4)
        array([[1.    , 0.3679]])
        """
        if self.sparse_points is None or not is_sparse(rows):
            return self.kernel.matrix(rows, self.points)
        return kernel_matrix(self.kernel, rows, self.sparse_points)

    @default_errstate
    def predict(self, X: TableLike) -> Floats:
        """Return f at the rows of `X`.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns), or documents
            Rows as the model takes them; a data frame is matched by the names of its columns.

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_outputs)
            The predictions; without an axis of outputs where there is one output.

        See Also
        --------
        pkex.KernelExpansion.evaluate : The function at prepared rows.
        pkex.Explainer : Explains a model.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
        >>> f.predict([[0.0, 0.0]]).round(4)
        array([2.2358])
        """
        table = to_model_columns(self, X)
        prepare = self.prepare if self.sparse_points is None else self.prepare_sparse
        return self.evaluate(prepare(table))

    def evaluate(self, rows: Any) -> Floats:
        """Return f at prepared rows.

        Parameters
        ----------
        rows : array or CSR array of shape (n_rows, n_columns)
            Prepared rows, as `prepare` or `prepare_sparse` returns them; sparse ones only where the
            points are sparse.

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_outputs)
            The predictions; without an axis of outputs where there is one output.

        See Also
        --------
        pkex.KernelExpansion.predict : The function at rows as the model takes them.
        pkex.KernelExpansion.prepare : Prepares rows as an array.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
        >>> f.evaluate(f.prepare([[0.0, 0.0]])).round(4)
        array([2.2358])
        """
        step = max(1, _PREDICT_BLOCK // self.shape[0])
        parts = [
            self.gram(rows[start : start + step]) @ self.coefficients
            for start in range(0, rows.shape[0], step)
        ]
        prediction: Floats = np.concatenate(parts) + self.intercept
        return prediction
