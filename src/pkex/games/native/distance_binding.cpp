// Takes two tables and scales of their columns, checks them, and measures without the GIL.

#include "distance_binding.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "checks.hpp"
#include "dispatch.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using pkex::Index;
using pkex::require;
using pkex::require_shape;

using Table = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using Scales = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Sums = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void measure_distances(const Table& x, const Table& z, const Scales& scales, const Sums& to,
                       const std::string& isa) {
    pkex::Distances of = {};
    of.rows = Index(x.shape(0));
    of.points = Index(z.shape(0));
    of.columns = Index(x.shape(1));
    require_shape(x, "x", {of.rows, of.columns});
    require_shape(z, "z", {of.points, of.columns});
    require_shape(scales, "scales", {3, of.columns});
    require_shape(to, "to", {3, of.rows, of.points});
    require(of.points < 2 || z.stride(0) == 1, "the columns of z must be contiguous.");
    of.x = x.data();
    of.x_row = x.stride(0);
    of.x_column = x.stride(1);
    of.z = z.data();
    of.z_column = z.stride(1);
    of.scales = scales.data();
    of.to = to.data();
    const pkex::Backend& backend = isa.empty() ? pkex::default_backend() : pkex::backend_named(isa);
    const nb::gil_scoped_release released;
    backend.measure_distances(of);
}

}  // namespace

void pkex::bind_distances(nb::module_& module) {
    module.def("measure_distances", &measure_distances, "x"_a.noconvert(), "z"_a.noconvert(),
               "scales"_a.noconvert(), "to"_a.noconvert(), "isa"_a = "");
}
