from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

class Config(TypedDict):
    compiler: str
    isa: str
    lanes: int
    isas: tuple[str, ...]

class Game:
    def __init__(
        self,
        *,
        kinds: Integers,
        columns: Integers,
        players: Integers,
        a: Floats,
        b: Floats,
        n_columns: int,
        n_given: int,
        n_players: int,
        sizes: Integers,
        limits: Floats,
        any_factors: Integers,
        nodes: Floats,
        weights: Floats,
        lower: float,
        fallback_nodes: Floats,
        fallback_weights: Floats,
        negligible: float = 0.0,
        isa: str = "",
    ) -> None: ...
    def explain(
        self,
        x: Floats,
        z: Floats,
        weights: Floats,
        values: Floats,
        totals: Floats,
        magnitudes: Floats,
        absent: Floats | None = None,
        absent_deficits: Floats | None = None,
        absent_exponents: Floats | None = None,
        given: Floats | None = None,
        given_values: Floats | None = None,
        background: Floats | None = None,
        shares: Floats | None = None,
        other_given: Floats | None = None,
        other_given_values: Floats | None = None,
    ) -> tuple[int, list[int]]: ...
    def add_pairs(
        self,
        x: Floats,
        z: Floats,
        scale: float,
        values: Floats,
        absent: Floats | None = None,
        absent_deficits: Floats | None = None,
        absent_exponents: Floats | None = None,
        given: Floats | None = None,
        given_values: Floats | None = None,
        integrals: NDArray[np.int64] | None = None,
    ) -> tuple[int, list[int], float]: ...
    def add_pairs_against(
        self,
        x: Floats,
        z: Floats,
        scale: float,
        values: Floats,
        absent: Floats,
        absent_deficits: Floats,
        given: Floats | None = None,
        given_values: Floats | None = None,
    ) -> tuple[int, list[int], float]: ...
    def factors(
        self,
        x: Floats,
        z: Floats,
        values: Floats,
        deficits: Floats,
        shares: Floats | None = None,
        given: Floats | None = None,
        given_values: Floats | None = None,
    ) -> None: ...
    def add_factors(
        self, x: Floats, z: Floats, scale: float, values: Floats, given: Floats | None = None
    ) -> None: ...
    def evaluate(self, x: Floats, z: Floats, sums: Floats, given: Floats | None = None) -> None: ...

def contract_looked_up(
    matrix: Floats,
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    values: Floats,
    sums: Floats,
    isa: str = "",
) -> None: ...
def sum_sizes(values: Floats, sums: Floats, isa: str = "") -> None: ...
def sum_variances(
    changes: Floats | None,
    left_columns: Floats | None,
    right_columns: Floats | None,
    starts: NDArray[np.int64] | None,
    left: Floats,
    right: Floats,
    left_weights: Floats,
    right_weights: Floats,
    sizes: NDArray[np.int64],
    limits: Floats,
    nodes: Floats,
    shares: Floats,
    to: Floats,
    used: NDArray[np.uint8],
    isa: str = "",
) -> None: ...
def add_form(
    strip: NDArray[np.float32], moved: NDArray[np.float32], sums: Floats, isa: str = ""
) -> None: ...
def measure_distances(x: Floats, z: Floats, scales: Floats, to: Floats, isa: str = "") -> None: ...
def measure_cells(
    both: Floats,
    beside: Floats,
    none: Floats,
    left: Integers,
    right: Integers,
    first: Integers,
    second: Integers,
    firsts: Integers,
    seconds: Integers,
    to: Floats,
    isa: str = "",
) -> None: ...
def integrate_cells(
    both: Floats,
    beside: Floats,
    none: Floats,
    left: Integers,
    right: Integers,
    first: Integers,
    second: Integers,
    square: Floats,
    shares: Floats,
    sums: Floats,
    isa: str = "",
) -> None: ...
def multiply_cells(
    both: Floats,
    beside: Floats,
    none: Floats,
    left: Integers,
    right: Integers,
    first: Integers,
    second: Integers,
    square: Floats,
    shares: Floats,
    matrices: Floats,
    isa: str = "",
) -> None: ...
def integrate_sparse(
    nodes: Floats,
    shares: Floats,
    slots_of_rows: Integers,
    entries_of_slots: Integers,
    points: Integers,
    at_entries: tuple[Floats, Floats, Floats],
    at_empty: tuple[Floats, Floats, Floats],
    first_at_entries: tuple[Floats, Floats, Floats],
    first_at_empty: tuple[Floats, Floats, Floats],
    log_products: Floats,
    changes: Floats | None,
    weights: Floats,
    values: Floats,
    rest: Floats,
) -> None: ...

RATIO_GROUP: int

def measure(
    present: Floats,
    present_deficits: Floats,
    absent: Floats | None,
    absent_deficits: Floats | None,
    drops: Floats | None,
    measures: Floats,
    tail: float,
    isa: str = "",
) -> None: ...
def ratios(
    drops: Floats,
    absent: Floats | None,
    order: NDArray[np.intp],
    nodes: Floats,
    shares: Floats | None,
    weights: Floats | None,
    ratios: Floats | None,
    products: Floats | None,
    sums: Floats | None,
    gram: Floats | None,
    positive: bool,
    tau: float,
    nothing: float,
    isa: str = "",
) -> None: ...
def plant(
    game: Game,
    members: NDArray[np.int64],
    sizes: NDArray[np.int64],
    ordered: NDArray[np.int64],
    rule_sizes: NDArray[np.int64],
    nodes: Floats,
    weights: Floats,
) -> None: ...
def function(name: str, values: Floats, to: Floats, isa: str = "") -> None: ...
def series(nodes: Floats) -> list[tuple[int, float, list[float], list[float]]]: ...
def signed_series(distances: Floats) -> list[tuple[int, float, list[float], list[float]]]: ...
def deficit_series(both_signs: bool) -> list[tuple[float, list[float]]]: ...
def multiply_add(steps: int, isa: str = "") -> float: ...
def kinds() -> tuple[str, ...]: ...
def config() -> Config: ...
def sum_blocks(
    *,
    sizes: Integers,
    widths: Integers,
    z: Floats,
    means: Floats,
    factors: Floats,
    shares: Floats,
    worths: Floats,
    nodes: Floats,
    node_shares: Floats,
    weights: Floats,
    out: Floats,
    isa: str = "",
) -> None: ...
def sum_chain(
    *,
    z: Floats,
    x: Floats,
    scales: Floats,
    slopes: Floats,
    gaps: Floats,
    nodes: Floats,
    node_shares: Floats,
    weights: Floats,
    out: Floats,
    isa: str = "",
) -> None: ...
