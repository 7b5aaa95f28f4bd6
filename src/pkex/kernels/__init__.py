"""Product kernels: ``k(x, z) = prod_j k_j(x_j, z_j)``, and sums and multiples of them.

A kernel is an immutable value. The *column kernels* give one factor per column; ``*``, ``+`` and a
number in front build the visible nodes `Product`, `Sum` and `Scale`; ``columns=`` or `on` limits a
column kernel to some columns, and the columns it leaves out have the factor 1:

>>> from pkex.kernels import RBF, Categorical
>>> 2.0 * RBF(0.5).on(0, 1, 2, 3) * Categorical().on(4)
2.0 * RBF(length_scale=0.5, columns=(0, 1, 2, 3)) * Categorical(mismatch=0.0, columns=(4,))

`normal_form` is what the engine works on, `algebra` has the nodes, `leaves` the base of column
kernels and `columns` those that there are; `tabulated` is that of codes with a matrix, `fidelity`
has factors of multi-fidelity models. `heuristic` chooses a kernel for given data, from the
median distances that `bandwidth` finds. `derivatives` differentiates kernels, `paths` integrates
that along straight lines, by `gaussian_paths` or `path_rules`, and `splitting` separates columns.
`data` turns kernels into data for files and back. None of them knows of games.
"""

from types import FunctionType
from typing import Any

from pkex.kernels.algebra import Kernel, Product, Scale, Sum
from pkex.kernels.columns import (
    RBF,
    Categorical,
    Cauchy,
    Chi2,
    Laplacian,
    Periodic,
)
from pkex.kernels.constant import Constant
from pkex.kernels.heuristic import median_rbf
from pkex.kernels.leaves import ColumnKernel, Custom
from pkex.kernels.polynomial import Linear, Polynomial
from pkex.kernels.product_matern import ProductMatern
from pkex.kernels.radial import Matern, RationalQuadratic
from pkex.kernels.tabulated import Tabulated

__all__ = [
    "RBF",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ColumnKernel",
    "Constant",
    "Custom",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Periodic",
    "Polynomial",
    "Product",
    "ProductMatern",
    "RationalQuadratic",
    "Scale",
    "Sum",
    "Tabulated",
    "median_rbf",
]


def _publish(thing: Any) -> None:
    """Give a class or function, and the methods of the class, the path of this package.

    Model files name kernels by their path, and it must not change when the files here do. Examples
    of methods are looked for where their class says that it is. A method that overrides another
    has the docstring of that one.
    """
    thing.__module__ = __name__
    for name, part in vars(thing).items():
        function = getattr(part, "__func__", part)
        if isinstance(function, FunctionType):
            function.__module__ = __name__
            function.__doc__ = part.__doc__ or getattr(super(thing, thing), name, part).__doc__


for _name in __all__:
    _publish(globals()[_name])
