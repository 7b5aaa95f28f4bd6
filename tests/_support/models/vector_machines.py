"""Cases of support vector machines with kernels that factorise."""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from pkex.kernels import RBF, Laplacian
from tests._support.models.case import (
    CLASSES,
    CLASSES4,
    IRIS_CLASSES,
    IRIS_PAIRS,
    PAIRS3,
    PAIRS4,
    ModelCase,
    class_decision,
    decision,
    predict,
)
from tests._support.models.data import (
    CANCER,
    CULTIVAR,
    DIABETES,
    DIGIT,
    DIGITS,
    IRIS,
    MALIGNANT,
    NAMED_SPECIES,
    SPARSE,
    SPECIES,
    TARGET,
    WINE,
    WINE_FRAME,
    X,
)
from tests._support.models.oracle import by_pairs, in_classes, machine, pairwise, scale_gamma


def regression(name, model, table=DIABETES, y=TARGET, gamma=None, **how) -> ModelCase:
    """Return a case of a support vector regression with the rbf kernel."""
    rate = scale_gamma(table) if gamma is None else gamma
    return ModelCase(
        name,
        lambda: model.fit(table, y),
        table[:4],
        how.pop("own", predict),
        lambda m: [
            machine(m.support_vectors_, m.dual_coef_, m.intercept_, pairwise(rbf_kernel, rate))
        ],
        **how,
    )


def classification(name, model, table, y, outputs, gamma=None, **how) -> ModelCase:
    """Return a case of a support vector classifier with the rbf kernel."""
    rate = scale_gamma(table) if gamma is None else gamma
    rows = table[:: max(1, len(y) // 4)][:4]
    n_classes = len(np.unique(y))
    means = n_classes > 2 and "choice" not in how

    def machines(m):
        kernel = pairwise(rbf_kernel, rate)
        pairs = machine(m.support_vectors_, by_pairs(m, y), m.intercept_, kernel)
        return [in_classes(pairs, n_classes) if means else pairs]

    return ModelCase(
        name,
        lambda: model.fit(table, y),
        rows,
        class_decision if means else decision,
        machines,
        outputs,
        n_outputs=len(outputs),
        **how,
    )


def rbf_of_tables(x, z):
    """A kernel of two tables, as support vector machines call it."""
    return rbf_kernel(x, z, gamma=50.0)


PLAIN = pairwise(rbf_kernel, 50.0)  # exp(-(x - z)^2 / (2 * 0.1^2))
GRAM = partial(rbf_kernel, Y=X, gamma=50.0)
MATRIX = {"kernel": RBF(0.1), "points": X}
VECTOR_MACHINES = [
    regression("SVR", SVR(C=20.0)),
    regression("SVR gamma=auto", SVR(C=20.0, gamma="auto"), gamma=0.25),
    regression("SVR gamma=3.5 on arrays", SVR(C=20.0, gamma=3.5), table=X, gamma=3.5),
    regression("SVR on a sparse matrix", SVR(C=20.0), table=SPARSE),
    regression("NuSVR", NuSVR(C=20.0, nu=0.4)),
    regression("OneClassSVM", OneClassSVM(nu=0.2), own=decision),
    regression("OneClassSVM gamma=auto sparse", OneClassSVM(gamma="auto"), table=SPARSE,
               gamma=0.25, own=decision),
    classification("SVC binary", SVC(), CANCER, MALIGNANT, ("1 vs 0",)),
    classification("SVC binary, text labels, class_weight",
                   SVC(C=3.0, class_weight="balanced", gamma=0.2), CANCER,
                   np.where(MALIGNANT, "benign", "malignant"), ("malignant vs benign",), 0.2),
    classification("SVC 3 classes", SVC(), IRIS, SPECIES, CLASSES),
    classification("SVC 3 classes, outputs=pairs", SVC(), IRIS, SPECIES, PAIRS3, choice="ovo"),
    classification("SVC 3 classes ovo, text labels", SVC(decision_function_shape="ovo"), IRIS,
                   NAMED_SPECIES, IRIS_CLASSES),
    classification("SVC 3 classes ovo, text labels, outputs=pairs",
                   SVC(decision_function_shape="ovo"), IRIS, NAMED_SPECIES, IRIS_PAIRS,
                   choice="ovo"),
    classification("SVC 3 classes break_ties, weights per class",
                   SVC(break_ties=True, class_weight={0: 2.0, 2: 0.5}, gamma="auto"), WINE_FRAME,
                   CULTIVAR, CLASSES, 0.2),
    classification("SVC 4 classes", SVC(C=2.0), DIGITS, DIGIT, CLASSES4),
    classification("SVC 4 classes on a sparse matrix, outputs=pairs", SVC(),
                   scipy.sparse.csr_matrix(DIGITS), DIGIT, PAIRS4, choice="ovo"),
    classification("NuSVC binary", NuSVC(nu=0.3), CANCER, MALIGNANT, ("1 vs 0",)),
    classification("NuSVC 3 classes", NuSVC(nu=0.2), WINE, CULTIVAR, CLASSES),
    ModelCase("SVR with a pkex kernel", lambda: SVR(kernel=RBF(0.1), C=20.0).fit(X, TARGET), X[:4],
              predict, lambda m: [machine(X[m.support_], m.dual_coef_, m.intercept_, PLAIN)]),
    ModelCase("SVC with a pkex kernel, 3 classes",
              lambda: SVC(kernel=Laplacian(2.0)).fit(IRIS, SPECIES), IRIS[::15], class_decision,
              lambda m: [in_classes(machine(IRIS[m.support_], by_pairs(m, SPECIES), m.intercept_,
                                            pairwise(laplacian_kernel, 0.5)), 3)],
              CLASSES, n_outputs=3),
    ModelCase("SVR with a function as kernel", lambda: SVR(kernel=rbf_of_tables).fit(X, TARGET),
              X[:4], predict,
              lambda m: [machine(X[m.support_], m.dual_coef_, m.intercept_, PLAIN)],
              given={"kernel": RBF(0.1)}),
    ModelCase("SVR precomputed", lambda: SVR(kernel="precomputed", C=9.0).fit(GRAM(X), TARGET),
              X[:4], predict,
              lambda m: [machine(X[m.support_], m.dual_coef_, m.intercept_, PLAIN)],
              given=MATRIX, gram=GRAM),
]  # fmt: skip
