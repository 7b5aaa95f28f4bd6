"""Cases of pipelines; the input column of each prepared column is written by hand."""

from __future__ import annotations

import numpy as np
from sklearn.compose import (
    ColumnTransformer,
    make_column_selector,
    make_column_transformer,
)
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    KFold,
)
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, SVR, OneClassSVM

from tests._support.models.case import CLASSES, ModelCase, class_decision, decision, predict
from tests._support.models.data import (
    CULTIVAR,
    DIABETES,
    GAPS,
    NEW_ENCODER,
    PATIENTS,
    TARGET,
    WINE_FRAME,
    X,
    _with_holes,
)
from tests._support.models.oracle import by_pairs, in_classes, machine, pairwise, support, tree


def in_pipeline(name, steps, origins, table=DIABETES, y=TARGET, final=None, **how) -> ModelCase:
    """Return a case of a pipeline with an SVR of gamma 0.3; `origins` are written by hand."""
    final = SVR(C=20.0, gamma=0.3) if final is None else final
    return ModelCase(
        name,
        lambda: Pipeline([*((f"s{i}", step) for i, step in enumerate(steps)), ("m", final)]).fit(
            table, y
        ),
        how.pop("rows", table[:4]),
        how.pop("own", predict),
        lambda m: [support(m[-1], m[:-1].transform, origins)],
        **how,
    )


def doubled(table):
    """A function of each column by itself, but that cannot be seen from outside."""
    return 2.0 * table


def numbers(frame):
    """A user's own choice of columns."""
    return [name for name in frame.columns if name in ("age", "bmi")]


ONE_HOT = OneHotEncoder(sparse_output=False)
CONSTANT_COLUMN = DIABETES.assign(one=1.0)[["age", "one", "bmi", "bp", "s5"]]
EMPTY_COLUMN = GAPS.assign(none=np.nan)[["age", "none", "bmi", "bp", "s5"]]
FOLDS = KFold(5, shuffle=True, random_state=0)
SEED = {"cv": FOLDS} if NEW_ENCODER else {"random_state": 0}
UNION = FeatureUnion([("a", StandardScaler()), ("b", "drop"), ("c", MinMaxScaler())])


def columns(*transformers, **options):
    """Return a ColumnTransformer of transformers that are named t0, t1, ..."""
    named = [(f"t{i}", step, chosen) for i, (step, chosen) in enumerate(transformers)]
    return ColumnTransformer(named, **options)


IDENTITY = (0, 1, 2, 3)
PIPELINES = [
    in_pipeline("StandardScaler", [StandardScaler()], IDENTITY),
    in_pipeline("StandardScaler, arrays", [StandardScaler()], IDENTITY, X),
    in_pipeline("MinMaxScaler, MaxAbsScaler, RobustScaler, passthrough",
                [MinMaxScaler(), "passthrough", MaxAbsScaler(), RobustScaler()], IDENTITY),
    in_pipeline("passthrough first", ["passthrough", StandardScaler()], IDENTITY),
    in_pipeline("PowerTransformer", [PowerTransformer()], IDENTITY),
    in_pipeline("QuantileTransformer", [QuantileTransformer(n_quantiles=20)], IDENTITY),
    in_pipeline("Binarizer", [Binarizer()], IDENTITY),
    in_pipeline("FunctionTransformer log1p, expm1",
                [MinMaxScaler(), FunctionTransformer(np.log1p), FunctionTransformer(np.expm1)],
                IDENTITY),
    in_pipeline("FunctionTransformer one-to-one",
                [FunctionTransformer(doubled, feature_names_out="one-to-one"), StandardScaler()],
                IDENTITY, features=tuple(DIABETES.columns),
                warns="FunctionTransformer combines columns"),
    in_pipeline("set_output pandas",
                [StandardScaler().set_output(transform="pandas"),
                 columns((MinMaxScaler(), ["bp", "age"]), remainder="passthrough").set_output(
                     transform="pandas")], (2, 0, 1, 3)),
    in_pipeline("SimpleImputer", [SimpleImputer(), StandardScaler()], IDENTITY, GAPS),
    in_pipeline("SimpleImputer add_indicator",
                [SimpleImputer(strategy="median", add_indicator=True), StandardScaler()],
                (0, 1, 2, 3, 1, 3), GAPS),
    in_pipeline("SimpleImputer, a column without values, add_indicator",
                [SimpleImputer(add_indicator=True)], (0, 2, 3, 4, 1, 2, 4), EMPTY_COLUMN,
                noise="Skipping features without any observed values"),
    in_pipeline("SimpleImputer, keep_empty_features",
                [SimpleImputer(strategy="constant", keep_empty_features=True)],
                (0, 1, 2, 3, 4), EMPTY_COLUMN),
    in_pipeline("MissingIndicator beside an imputer",
                [FeatureUnion([("i", MissingIndicator()), ("v", SimpleImputer())])],
                (1, 3, 0, 1, 2, 3), GAPS),
    in_pipeline("KBinsDiscretizer onehot",
                [KBinsDiscretizer([2, 3, 2, 4], encode="onehot", strategy="uniform")],
                (0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 3)),
    in_pipeline("KBinsDiscretizer ordinal",
                [KBinsDiscretizer(3, encode="ordinal", strategy="uniform")], IDENTITY),
    in_pipeline("SplineTransformer", [SplineTransformer(3, degree=2)],
                (0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3)),
    in_pipeline("SelectKBest", [StandardScaler(), SelectKBest(f_regression, k=2)], (1, 3)),
    in_pipeline("VarianceThreshold", [VarianceThreshold(), StandardScaler()], (0, 2, 3, 4),
                CONSTANT_COLUMN),
    in_pipeline("FeatureUnion", [UNION], (0, 1, 2, 3, 0, 1, 2, 3)),
    in_pipeline("nested pipelines",
                [make_pipeline(MinMaxScaler(), make_pipeline(StandardScaler()))], IDENTITY),
    in_pipeline("OneHotEncoder by name, remainder passthrough",
                [columns((ONE_HOT, ["sex", "pressure"]), remainder="passthrough"),
                 StandardScaler()], (1, 1, 3, 3, 3, 3, 0, 2, 4), PATIENTS),
    in_pipeline("OneHotEncoder drop=first, sparse",
                [columns((OneHotEncoder(drop="first"), ["pressure", "sex"]),
                         (StandardScaler(), ["s5", "age"]), sparse_threshold=1.0)],
                (3, 3, 3, 1, 4, 0), PATIENTS),
    in_pipeline("OneHotEncoder min_frequency, handle_unknown",
                [columns((OneHotEncoder(min_frequency=12, handle_unknown="infrequent_if_exist",
                                        sparse_output=False), ["pressure"]),
                         (StandardScaler(), ["age", "bmi", "s5"]))],
                (3, 3, 3, 0, 2, 4), PATIENTS),
    in_pipeline("OrdinalEncoder, TargetEncoder",
                [columns((OrdinalEncoder(), ["sex"]),
                         (TargetEncoder(target_type="continuous", **SEED), ["pressure"]),
                         remainder=RobustScaler())], (1, 3, 0, 2, 4), PATIENTS),
    in_pipeline("TargetEncoder, 3 classes",
                [columns((TargetEncoder(**SEED), ["sex", "pressure"]), remainder="passthrough"),
                 StandardScaler()], (1, 1, 1, 3, 3, 3, 0, 2, 4), PATIENTS,
                y=np.digitize(TARGET, [90, 160])),
    in_pipeline("ColumnTransformer by index, slice, mask and overlapping columns",
                [columns((StandardScaler(), [0, -1]), (MinMaxScaler(), slice(1, 3)),
                         (RobustScaler(), [True, False, False, True]))],
                (0, 3, 1, 2, 0, 3), X),
    in_pipeline("ColumnTransformer by slice of names, single name, drop",
                [columns((StandardScaler(), slice("bmi", "s5")), ("drop", ["age"]),
                         (make_pipeline(SimpleImputer(), MinMaxScaler()), ["age"]))],
                (1, 2, 3, 0)),
    in_pipeline("ColumnTransformer by functions",
                [make_column_transformer(
                    (StandardScaler(), numbers),
                    (ONE_HOT, make_column_selector(dtype_exclude=np.number)),
                    remainder="drop")], (0, 2, 1, 1, 3, 3, 3, 3), PATIENTS),
    in_pipeline("ColumnTransformer of pipelines",
                [columns((make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
                          ["s5", "bmi"]),
                         (make_pipeline(OrdinalEncoder(), ONE_HOT), ["pressure"]))],
                (4, 2, 4, 2, 3, 3, 3, 3), _with_holes(PATIENTS, "bmi", "s5")),
    in_pipeline("a ColumnTransformer after one that renames",
                [columns((StandardScaler(), ["bp"]), remainder="passthrough").set_output(
                    transform="pandas"),
                 columns((MinMaxScaler(), ["remainder__s5", "t0__bp"]))], (3, 2)),
    in_pipeline("OneClassSVM behind a scaler", [StandardScaler()], IDENTITY,
                final=OneClassSVM(gamma=0.3), own=decision),
    in_pipeline("PCA", [StandardScaler(), PCA(3), StandardScaler()], (0, 1, 2),
                features=("pca0", "pca1", "pca2"), warns="PCA combines columns"),
    in_pipeline("PCA, PolynomialFeatures",
                [PCA(2), PolynomialFeatures(include_bias=False), StandardScaler()],
                (0, 1, 2, 3, 4),
                features=("pca0", "pca1", "pca0^2", "pca0 pca1", "pca1^2"),
                warns="PolynomialFeatures combines columns"),
    in_pipeline("FunctionTransformer of one's own",
                [FunctionTransformer(doubled), StandardScaler()], IDENTITY,
                features=tuple(DIABETES.columns), warns="FunctionTransformer combines columns"),
    ModelCase(
        "pipeline in a pipeline",
        lambda: make_pipeline(
            columns((StandardScaler(), ["s5", "bmi"])),
            make_pipeline(MinMaxScaler(), SVR(C=20.0, gamma=0.3)),
        ).fit(DIABETES, TARGET),
        DIABETES[:4], predict,
        lambda m: [support(m[-1][-1], lambda r: m[-1][0].transform(m[0].transform(r)), (3, 1))],
    ),
    ModelCase(
        "SVC 3 classes behind a scaler",
        lambda: make_pipeline(StandardScaler(), SVC(gamma=0.2)).fit(WINE_FRAME, CULTIVAR),
        WINE_FRAME[::18], lambda m, rows: class_decision(m[-1], m[0].transform(rows)),
        lambda m: [in_classes(
            machine(m[-1].support_vectors_, by_pairs(m[-1], CULTIVAR), m[-1].intercept_,
                    pairwise(rbf_kernel, 0.2), prepare=m[0].transform), 3)],
        CLASSES, n_outputs=3,
    ),
    ModelCase(
        "GPR behind a scaler, ARD, normalize_y",
        lambda: make_pipeline(
            StandardScaler(),
            GaussianProcessRegressor(gp.RBF([1.0, 2.0, 3.0, 1.5]) + gp.WhiteKernel(0.5),
                                     normalize_y=True, optimizer=None),
        ).fit(DIABETES, TARGET),
        DIABETES[:4], predict,
        lambda m: [machine(m[-1].X_train_, m[-1].alpha_ * TARGET.std(), TARGET.mean(),
                           tree(m[-1].kernel_), prepare=m[0].transform)],
    ),
]  # fmt: skip
