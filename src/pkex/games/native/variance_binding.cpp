// Takes the factors and weights of a tile of pairs, checks them, and sums up without the GIL.

#include "variance_binding.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "checks.hpp"
#include "dispatch.hpp"
#include "memory.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using pkex::Index;
using pkex::require;
using pkex::require_shape;

using Changes = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Sums = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

const double* table_of(const Table& table, const char* name, Index rows, Index columns) {
    require_shape(table, name, {rows, columns});
    require(columns < 2 || table.stride(1) == 1,
            std::string("the last axis of ") + name + " must be contiguous.");
    return table.data();
}

void take_starts(const Counts& starts, pkex::VarianceTile& tile) {
    require_shape(starts, "starts", {tile.players + 1});
    tile.starts = starts.data();
    bool ascending = tile.starts[0] == 0;
    for (Index j = 0; j < tile.players; ++j) {
        ascending = ascending && tile.starts[j] <= tile.starts[j + 1];
    }
    require(ascending, "starts must ascend from 0.");
}

// The changes are given, or else columns whose products they are, and where those of each player
// begin and end.
void sum_variances(const std::optional<Changes>& changes, const std::optional<Table>& left_columns,
                   const std::optional<Table>& right_columns, const std::optional<Counts>& starts,
                   const Table& left, const Table& right, const Table& left_weights,
                   const Table& right_weights, const Counts& sizes, const Numbers& limits,
                   const Numbers& nodes, const Numbers& shares, const Sums& to, const Flags& used,
                   const std::string& isa) {
    pkex::VarianceTile tile = {};
    tile.players = Index(left.shape(0));
    tile.rows = Index(left.shape(1));
    tile.points = Index(right.shape(1));
    tile.sets = Index(to.shape(0));
    tile.n_rules = Index(sizes.shape(0));
    require(tile.players > 0, "left must have a player.");
    if (changes) {
        require_shape(*changes, "changes", {tile.players, tile.rows, tile.points});
        tile.changes = changes->data();
    } else {
        if (!left_columns || !right_columns || !starts) {
            throw std::invalid_argument("changes or columns must be given.");
        }
        take_starts(*starts, tile);
        const Index columns = Index(tile.starts[tile.players]);
        tile.left_columns = table_of(*left_columns, "left_columns", columns, tile.rows);
        tile.left_column = left_columns->stride(0);
        tile.right_columns = table_of(*right_columns, "right_columns", columns, tile.points);
        tile.right_column = right_columns->stride(0);
    }
    require_shape(to, "to", {tile.sets, 3 * tile.players + 1});
    require_shape(limits, "limits", {tile.n_rules});
    require(Index(used.shape(0)) == tile.n_rules, "used must have a flag for each rule.");
    require(tile.n_rules == 0 || std::isinf(limits.data()[tile.n_rules - 1]),
            "the last of the limits must be infinite.");
    require_shape(sizes, "sizes", {tile.n_rules});
    Index count = 0;
    for (Index i = 0; i < tile.n_rules; ++i) {
        const std::int64_t size = sizes.data()[i];
        require(size > 0, "sizes must be positive.");
        require(size <= Index(nodes.shape(0)) - count, "nodes must be those of all sizes.");
        count += Index(size);
    }
    require_shape(nodes, "nodes", {count});
    require_shape(shares, "shares", {count});
    tile.left = table_of(left, "left", tile.players, tile.rows);
    tile.left_player = left.stride(0);
    tile.right = table_of(right, "right", tile.players, tile.points);
    tile.right_player = right.stride(0);
    tile.left_weights = table_of(left_weights, "left_weights", tile.sets, tile.rows);
    tile.left_set = left_weights.stride(0);
    tile.right_weights = table_of(right_weights, "right_weights", tile.sets, tile.points);
    tile.right_set = right_weights.stride(0);
    tile.sizes = sizes.data();
    tile.limits = limits.data();
    tile.nodes = nodes.data();
    tile.shares = shares.data();
    tile.to = to.data();
    tile.used = used.data();
    std::fill_n(tile.used, tile.n_rules, std::uint8_t(0));
    const pkex::Backend& backend = isa.empty() ? pkex::default_backend() : pkex::backend_named(isa);
    const nb::gil_scoped_release released;
    thread_local pkex::Memory memory;
    backend.sum_variances(tile, memory.take(backend.variances_workspace(tile)));
    memory.give_back();
}

}  // namespace

void pkex::bind_variances(nb::module_& module) {
    module.def("sum_variances", &sum_variances, "changes"_a.noconvert().none(),
               "left_columns"_a.noconvert().none(), "right_columns"_a.noconvert().none(),
               "starts"_a.noconvert().none(), "left"_a.noconvert(), "right"_a.noconvert(),
               "left_weights"_a.noconvert(), "right_weights"_a.noconvert(), "sizes"_a.noconvert(),
               "limits"_a.noconvert(), "nodes"_a.noconvert(), "shares"_a.noconvert(),
               "to"_a.noconvert(), "used"_a.noconvert(), "isa"_a = "");
}
