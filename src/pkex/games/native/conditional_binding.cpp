// Takes the arrays of conditional games, checks them, and sums without the GIL.

#include "conditional_binding.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "checks.hpp"
#include "dispatch.hpp"
#include "memory.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using pkex::Backend;
using pkex::Index;
using pkex::require;
using pkex::require_shape;

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Rules = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Result = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

const Backend& chosen(const std::string& isa) {
    return isa.empty() ? pkex::default_backend() : pkex::backend_named(isa);
}

// `out` has a row for each player, then the totals and the magnitudes.
pkex::ConditionalSums sums_of(const Matrix& weights, const Vector& nodes, const Vector& shares,
                              const Result& out, Index players) {
    pkex::ConditionalSums sums = {};
    sums.points = Index(weights.shape(0));
    sums.sets = Index(weights.shape(1));
    sums.nodes = Index(nodes.shape(0));
    require(sums.points > 0 && sums.nodes > 0, "there must be a point and a node.");
    require_shape(shares, "shares of nodes", {sums.nodes});
    require_shape(out, "out", {players + 2, sums.sets});
    sums.t = nodes.data();
    sums.u = shares.data();
    sums.weights = weights.data();
    sums.values = out.data();
    sums.totals = out.data() + players * sums.sets;
    sums.magnitudes = sums.totals + sums.sets;
    return sums;
}

void sum_blocks(const Counts& sizes, const Counts& widths, const Matrix& z, const Vector& means,
                const Vector& factors, const Vector& shares, const Matrix& worths,
                const Vector& nodes, const Vector& node_shares, const Matrix& weights,
                const Result& out, const std::string& isa) {
    pkex::ConditionalBlocks game = {};
    game.blocks = Index(sizes.shape(0));
    require(game.blocks > 0, "there must be a block.");
    require_shape(widths, "widths", {game.blocks});
    Index columns = 0, n_means = 0, n_factors = 0, n_shares = 0, given = 0;
    for (Index c = 0; c < game.blocks; ++c) {
        const Index size = sizes.data()[c], width = widths.data()[c];
        require(size >= 1 && size <= 20 && width >= 0, "a block has 1 to 20 players.");
        const Index count = Index(1) << size;
        game.players += size;
        columns += width;
        n_means += width ? count * width : 0;
        n_factors += width ? count * width * width : 0;
        n_shares += width ? count : 0;
        given += width ? 0 : count;
    }
    game.sums = sums_of(weights, nodes, node_shares, out, game.players);
    require_shape(z, "z", {columns, game.sums.points});
    require_shape(means, "means", {n_means});
    require_shape(factors, "factors", {n_factors});
    require_shape(shares, "shares", {n_shares});
    require_shape(worths, "worths", {given, game.sums.points});
    game.sizes = sizes.data();
    game.widths = widths.data();
    game.z = z.data();
    game.means = means.data();
    game.factors = factors.data();
    game.shares = shares.data();
    game.worths = worths.data();
    const Backend& backend = chosen(isa);
    const nb::gil_scoped_release released;
    thread_local pkex::Memory memory;
    backend.sum_blocks(game, memory.take(backend.blocks_workspace(game)));
    memory.give_back();
}

void sum_chain(const Matrix& z, const Vector& x, const Vector& scales, const Vector& slopes,
               const Rules& gaps, const Vector& nodes, const Vector& node_shares,
               const Matrix& weights, const Result& out, const std::string& isa) {
    pkex::ConditionalChain game = {};
    game.players = Index(z.shape(0));
    require(game.players > 0, "there must be a player.");
    game.sums = sums_of(weights, nodes, node_shares, out, game.players);
    require_shape(z, "z", {game.players, game.sums.points});
    require_shape(x, "x", {game.players});
    require_shape(scales, "scales", {game.players});
    require_shape(slopes, "slopes", {game.players});
    require_shape(gaps, "gaps", {5, game.players + 1, game.players + 2});
    game.z = z.data();
    game.x = x.data();
    game.scales = scales.data();
    game.slopes = slopes.data();
    game.gaps = gaps.data();
    const Backend& backend = chosen(isa);
    const nb::gil_scoped_release released;
    thread_local pkex::Memory memory;
    backend.sum_chain(game, memory.take(backend.chain_workspace(game)));
    memory.give_back();
}

}  // namespace

void pkex::bind_conditional(nb::module_& module) {
    module.def("sum_blocks", &sum_blocks, "sizes"_a.noconvert(), "widths"_a.noconvert(),
               "z"_a.noconvert(), "means"_a.noconvert(), "factors"_a.noconvert(),
               "shares"_a.noconvert(), "worths"_a.noconvert(), "nodes"_a.noconvert(),
               "node_shares"_a.noconvert(), "weights"_a.noconvert(), "out"_a.noconvert(),
               "isa"_a = "");
    module.def("sum_chain", &sum_chain, "z"_a.noconvert(), "x"_a.noconvert(),
               "scales"_a.noconvert(), "slopes"_a.noconvert(), "gaps"_a.noconvert(),
               "nodes"_a.noconvert(), "node_shares"_a.noconvert(), "weights"_a.noconvert(),
               "out"_a.noconvert(), "isa"_a = "");
}
