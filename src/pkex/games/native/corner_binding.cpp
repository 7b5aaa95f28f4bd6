// Takes corners of cells and a square of nodes, checks them, and integrates without the GIL.

#include "corner_binding.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "checks.hpp"
#include "dispatch.hpp"
#include "memory.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using pkex::Backend;
using pkex::Cells;
using pkex::CellSquare;
using pkex::Index;
using pkex::require;
using pkex::require_aligned;
using pkex::require_shape;

template <int Axes>
using Array = nb::ndarray<const double, nb::ndim<Axes>, nb::c_contig, nb::device::cpu>;
template <int Axes>
using Result = nb::ndarray<double, nb::ndim<Axes>, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

const std::int64_t* places_of(const Places& places, const char* name, Index count, Index size) {
    require(Index(places.shape(0)) == count,
            std::string(name) + " must have " + std::to_string(count) + " places.");
    require_aligned(places, name);
    for (Index i = 0; i < count; ++i) {
        require(places.data()[i] >= 0 && places.data()[i] < size,
                std::string(name) + " must be places in beside.");
    }
    return places.data();
}

Cells cells_of(const Array<2>& both, const Array<3>& beside, const Array<2>& none,
               const Places& left, const Places& right, const Places& first, const Places& second) {
    Cells cells = {};
    cells.players = Index(both.shape(0));
    cells.rows = Index(both.shape(1));
    cells.pairs = Index(none.shape(1));
    cells.points = Index(beside.shape(1));
    cells.others = Index(beside.shape(2));
    require(cells.players > 0 && cells.pairs > 0, "there must be players and pairs.");
    require_shape(both, "both", {cells.players, cells.rows});
    require_shape(beside, "beside", {cells.players, cells.points, cells.others});
    require_shape(none, "none", {cells.players, cells.pairs});
    cells.both = both.data();
    cells.beside = beside.data();
    cells.none = none.data();
    cells.left = places_of(left, "left", cells.rows, cells.points);
    cells.right = places_of(right, "right", cells.rows, cells.points);
    cells.first = places_of(first, "first", cells.pairs, cells.others);
    cells.second = places_of(second, "second", cells.pairs, cells.others);
    return cells;
}

CellSquare square_of(const Cells& cells, const Array<2>& square, const Array<1>& shares) {
    CellSquare of = {};
    of.cells = cells;
    of.nodes = Index(square.shape(1));
    require_shape(square, "square", {13, of.nodes});
    require(of.nodes > 0 && of.nodes % pkex::kPaddedNodes == 0,
            "the nodes of square must be padded.");
    require_shape(shares, "shares", {cells.pairs});
    of.square = square.data();
    of.shares = shares.data();
    return of;
}

const Backend& backend_of(const std::string& isa) {
    return isa.empty() ? pkex::default_backend() : pkex::backend_named(isa);
}

void measure_cells(const Array<2>& both, const Array<3>& beside, const Array<2>& none,
                   const Places& left, const Places& right, const Places& first,
                   const Places& second, const Places& firsts, const Places& seconds,
                   const Result<2>& to, const std::string& isa) {
    pkex::CellExtents of = {};
    of.cells = cells_of(both, beside, none, left, right, first, second);
    of.n_firsts = Index(firsts.shape(0));
    of.n_seconds = Index(seconds.shape(0));
    of.firsts = places_of(firsts, "firsts", of.n_firsts, of.cells.others);
    of.seconds = places_of(seconds, "seconds", of.n_seconds, of.cells.others);
    require_shape(to, "to", {3, of.cells.rows});
    of.to = to.data();
    const Backend& backend = backend_of(isa);
    const nb::gil_scoped_release released;
    backend.measure_cells(of);
}

void integrate_cells(const Array<2>& both, const Array<3>& beside, const Array<2>& none,
                     const Places& left, const Places& right, const Places& first,
                     const Places& second, const Array<2>& square, const Array<1>& shares,
                     const Result<2>& sums, const std::string& isa) {
    CellSquare of =
        square_of(cells_of(both, beside, none, left, right, first, second), square, shares);
    require_shape(sums, "sums", {of.cells.rows, of.cells.players});
    of.sums = sums.data();
    const Backend& backend = backend_of(isa);
    const nb::gil_scoped_release released;
    thread_local pkex::Memory memory;
    backend.integrate_cells(of, memory.take(backend.cell_workspace(of)));
    memory.give_back();
}

void multiply_cells(const Array<2>& both, const Array<3>& beside, const Array<2>& none,
                    const Places& left, const Places& right, const Places& first,
                    const Places& second, const Array<2>& square, const Array<1>& shares,
                    const Result<3>& matrices, const std::string& isa) {
    CellSquare of =
        square_of(cells_of(both, beside, none, left, right, first, second), square, shares);
    require_shape(matrices, "matrices", {of.cells.rows, of.cells.players, of.cells.players});
    of.matrices = matrices.data();
    const Backend& backend = backend_of(isa);
    const nb::gil_scoped_release released;
    thread_local pkex::Memory memory;
    backend.multiply_cells(of, memory.take(backend.product_workspace(of)));
    memory.give_back();
}

}  // namespace

void pkex::bind_corners(nb::module_& module) {
    module.def("measure_cells", &measure_cells, "both"_a.noconvert(), "beside"_a.noconvert(),
               "none"_a.noconvert(), "left"_a.noconvert(), "right"_a.noconvert(),
               "first"_a.noconvert(), "second"_a.noconvert(), "firsts"_a.noconvert(),
               "seconds"_a.noconvert(), "to"_a.noconvert(), "isa"_a = "");
    module.def("integrate_cells", &integrate_cells, "both"_a.noconvert(), "beside"_a.noconvert(),
               "none"_a.noconvert(), "left"_a.noconvert(), "right"_a.noconvert(),
               "first"_a.noconvert(), "second"_a.noconvert(), "square"_a.noconvert(),
               "shares"_a.noconvert(), "sums"_a.noconvert(), "isa"_a = "");
    module.def("multiply_cells", &multiply_cells, "both"_a.noconvert(), "beside"_a.noconvert(),
               "none"_a.noconvert(), "left"_a.noconvert(), "right"_a.noconvert(),
               "first"_a.noconvert(), "second"_a.noconvert(), "square"_a.noconvert(),
               "shares"_a.noconvert(), "matrices"_a.noconvert(), "isa"_a = "");
}
