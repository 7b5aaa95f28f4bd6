// Takes a matrix, places in it and values of pairs, checks them, and contracts without the GIL.

#include "lookup_binding.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "checks.hpp"
#include "dispatch.hpp"
#include "memory.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using pkex::Index;
using pkex::require;
using pkex::require_shape;

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::device::cpu>;
using Values = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Sums = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Sizes = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

const std::int32_t* places_of(const Places& places, const char* name, Index count, Index sets,
                              Index size, const char* of) {
    require(Index(places.shape(0)) == sets && Index(places.shape(1)) == count,
            std::string(name) + " must have the sets of sums, and a place for each of the values.");
    require(count < 2 || places.stride(1) == 1,
            std::string("the last axis of ") + name + " must be contiguous.");
    pkex::require_aligned(places, name);
    // The highest bit says that a place, or what is left above it, is negative: vectors of every
    // instruction set have that, and no comparison of unsigned numbers.
    const std::uint32_t last = std::uint32_t(std::min(size - 1, Index(INT32_MAX)));
    std::uint32_t bits = 0;
    for (Index s = 0; s < sets; ++s) {
        const std::int32_t* of_set = places.data() + s * places.stride(0);
        for (Index i = 0; i < count; ++i) {
            const std::uint32_t place = std::uint32_t(of_set[i]);
            bits |= place | (last - place);
        }
    }
    require(count * sets == 0 || (size > 0 && bits >> 31 == 0),
            std::string(name) + " must be numbers of " + of + " of the matrix.");
    return places.data();
}

void contract_looked_up(const Matrix& matrix, const Places& left, const Places& right,
                        const Values& values, const Sums& sums, const std::string& isa) {
    pkex::LookedUp tile = {};
    tile.size = Index(matrix.shape(1));
    require(tile.size <= INT32_MAX, "matrix must have fewer columns than 2^31.");
    tile.matrix = matrix.data();
    tile.n_values = Index(values.shape(0));
    tile.rows = Index(values.shape(1));
    tile.points = Index(values.shape(2));
    tile.sets = Index(sums.shape(1));
    require_shape(values, "values", {tile.n_values, tile.rows, tile.points});
    require_shape(sums, "sums", {tile.n_values, tile.sets});
    tile.values = values.data();
    tile.sums = sums.data();
    tile.left = places_of(left, "left", tile.rows, tile.sets, Index(matrix.shape(0)), "rows");
    tile.right = places_of(right, "right", tile.points, tile.sets, tile.size, "columns");
    tile.left_set = left.stride(0);
    tile.right_set = right.stride(0);
    if (tile.sets == 0) return;
    std::fill_n(tile.sums, tile.n_values * tile.sets, 0.0);
    if (tile.rows * tile.points == 0) return;
    const pkex::Backend& backend = isa.empty() ? pkex::default_backend() : pkex::backend_named(isa);
    const nb::gil_scoped_release released;
    thread_local pkex::Memory memory;
    backend.contract_looked_up(tile, memory.take(backend.lookup_workspace(tile)));
    memory.give_back();
}

void sum_sizes(const Values& values, const Sizes& sums, const std::string& isa) {
    require_shape(sums, "sums", {Index(values.shape(0))});
    const pkex::Backend& backend = isa.empty() ? pkex::default_backend() : pkex::backend_named(isa);
    const Index n_values = Index(values.shape(0));
    const Index count = Index(values.shape(1)) * Index(values.shape(2));
    const nb::gil_scoped_release released;
    backend.sum_sizes(values.data(), n_values, count, sums.data());
}

}  // namespace

void pkex::bind_lookup(nb::module_& module) {
    module.def("contract_looked_up", &contract_looked_up, "matrix"_a.noconvert(),
               "left"_a.noconvert(), "right"_a.noconvert(), "values"_a.noconvert(),
               "sums"_a.noconvert(), "isa"_a = "");
    module.def("sum_sizes", &sum_sizes, "values"_a.noconvert(), "sums"_a.noconvert(), "isa"_a = "");
}
