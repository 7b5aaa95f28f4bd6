// Takes arrays of players and pairs, checks them, and forms what interactions need without the GIL.

#include "ratio_binding.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "checks.hpp"
#include "conditional_binding.hpp"
#include "dispatch.hpp"
#include "memory.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using pkex::Backend;
using pkex::Index;
using pkex::require;
using pkex::require_shape;

using Factors = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Order = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<double, nb::ndim<2>, nb::device::cpu>;
using Result = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

const Backend& chosen(const std::string& isa) {
    return isa.empty() ? pkex::default_backend() : pkex::backend_named(isa);
}

const double* rows_of(const Factors& array, const char* name, Index players, Index count) {
    require_shape(array, name, {players, count});
    require(count < 2 || array.stride(1) == 1, std::string(name) + " must have contiguous rows.");
    return array.data();
}

// `measures` are seven rows: see Extents.
void measure(const Factors& present, const Factors& present_deficits,
             const std::optional<Factors>& absent, const std::optional<Factors>& absent_deficits,
             const std::optional<Result>& drops, const Result& measures, double tail,
             const std::string& isa) {
    pkex::Extents pairs = {};
    pairs.players = Index(present.shape(0));
    pairs.points = Index(present.shape(1));
    require(pairs.points > 0, "there must be a pair.");
    require(absent.has_value() == absent_deficits.has_value() &&
                absent.has_value() == drops.has_value(),
            "absent factors must be given in both forms, and with room for drops.");
    pairs.present = rows_of(present, "present", pairs.players, pairs.points);
    pairs.present_player = present.stride(0);
    pairs.present_deficits =
        rows_of(present_deficits, "present_deficits", pairs.players, pairs.points);
    pairs.present_deficits_player = present_deficits.stride(0);
    pairs.repeats = 1;
    if (absent && absent_deficits && drops) {
        const Index count = Index(absent->shape(1));
        require(count % pairs.points == 0, "absent factors must repeat the points.");
        pairs.repeats = count / pairs.points;
        pairs.absent = rows_of(*absent, "absent", pairs.players, count);
        pairs.absent_player = absent->stride(0);
        pairs.absent_deficits = rows_of(*absent_deficits, "absent_deficits", pairs.players, count);
        pairs.absent_deficits_player = absent_deficits->stride(0);
        require_shape(*drops, "drops", {pairs.players, count});
        pairs.drops = drops->data();
    }
    const Index count = pairs.repeats * pairs.points;
    require_shape(measures, "measures", {7, count});
    double** to[] = {&pairs.lam,    &pairs.relative, &pairs.widest, &pairs.worth,
                     &pairs.totals, &pairs.lowest,   &pairs.highest};
    for (Index i = 0; i < 7; ++i) *to[i] = measures.data() + i * count;
    pairs.tail = tail;
    const Backend& backend = chosen(isa);
    const nb::gil_scoped_release released;
    backend.measure(pairs);
}

// With weights the sums of ratios, and the ratios times the roots of their weights where there is
// room for them; else the ratios and the products.
void ratios(const Factors& drops, const std::optional<Factors>& absent, const Order& order,
            const Vector& nodes, const std::optional<Vector>& shares,
            const std::optional<Vector>& weights, const std::optional<Table>& table,
            const std::optional<Result>& products, const std::optional<Result>& sums,
            const std::optional<Result>& gram, bool positive, double tau, double nothing,
            const std::string& isa) {
    pkex::RatioTile tile = {};
    tile.players = Index(drops.shape(0));
    tile.pairs = Index(drops.shape(1));
    require(tile.pairs > 0, "there must be a pair.");
    tile.drops = rows_of(drops, "drops", tile.players, tile.pairs);
    tile.drops_player = drops.stride(0);
    if (absent) {
        tile.absent = rows_of(*absent, "absent", tile.players, tile.pairs);
        tile.absent_player = absent->stride(0);
    }
    tile.groups = Index(order.shape(0));
    tile.order = order.data();
    const Index there = (tile.pairs + pkex::kRatioGroup - 1) / pkex::kRatioGroup;
    for (Index g = 0; g < tile.groups; ++g) {
        require(tile.order[g] >= 0 && tile.order[g] < there, "order must name groups that exist.");
    }
    tile.n_nodes = Index(nodes.shape(0));
    tile.nodes = nodes.data();
    const Index columns = tile.groups * tile.n_nodes * pkex::kRatioGroup;
    require(weights.has_value() == shares.has_value() && weights.has_value() == sums.has_value() &&
                weights.has_value() != products.has_value() && (weights || table),
            "weights go with shares and sums, and without them ratios go with products.");
    if (table) {
        require_shape(*table, "ratios", {tile.players, columns});
        require(columns < 2 || table->stride(1) == 1, "ratios must have contiguous rows.");
        tile.ratios = table->data();
        tile.ratios_player = table->stride(0);
    }
    if (weights && shares && sums) {
        require_shape(*weights, "weights", {tile.pairs});
        require_shape(*shares, "shares", {tile.n_nodes});
        require_shape(*sums, "sums", {tile.players + 1});
        tile.weights = weights->data();
        tile.shares = shares->data();
        tile.sums = sums->data();
    } else if (products) {
        require_shape(*products, "products", {columns});
        tile.products = products->data();
    }
    if (gram) {
        require(weights && !table, "products of ratios go with weights, and without the ratios.");
        require_shape(*gram, "gram", {tile.players, tile.players});
        tile.gram = gram->data();
    }
    tile.positive = positive;
    tile.tau = tau;
    tile.nothing = nothing;
    const Backend& backend = chosen(isa);
    const nb::gil_scoped_release released;
    thread_local pkex::Memory memory;
    backend.ratios(tile, memory.take(backend.ratio_workspace(tile)));
    memory.give_back();
}

}  // namespace

void pkex::bind_ratios(nb::module_& module) {
    module.attr("RATIO_GROUP") = int(kRatioGroup);
    module.def("measure", &measure, "present"_a.noconvert(), "present_deficits"_a.noconvert(),
               "absent"_a.noconvert().none(), "absent_deficits"_a.noconvert().none(),
               "drops"_a.noconvert().none(), "measures"_a.noconvert(), "tail"_a, "isa"_a = "");
    module.def("ratios", &ratios, "drops"_a.noconvert(), "absent"_a.noconvert().none(),
               "order"_a.noconvert(), "nodes"_a.noconvert(), "shares"_a.noconvert().none(),
               "weights"_a.noconvert().none(), "ratios"_a.noconvert().none(),
               "products"_a.noconvert().none(), "sums"_a.noconvert().none(),
               "gram"_a.noconvert().none(), "positive"_a, "tau"_a, "nothing"_a, "isa"_a = "");
    bind_conditional(module);
}
