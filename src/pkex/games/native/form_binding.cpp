// Takes a strip of a matrix and columns, checks them, and adds up forms without the GIL.

#include "form_binding.hpp"

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

using Matrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Sums = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void add_form(const Matrix& strip, const Matrix& moved, const Sums& sums, const std::string& isa) {
    pkex::FormStrip of = {};
    of.rows = Index(strip.shape(0));
    of.points = Index(strip.shape(1));
    of.columns = Index(moved.shape(1));
    pkex::require_aligned(strip, "strip");
    require(of.rows <= of.points, "strip must have as many points as rows, or more.");
    require_shape(moved, "moved", {of.points, of.columns});
    require_shape(sums, "sums", {of.columns});
    of.strip = strip.data();
    of.moved = moved.data();
    of.sums = sums.data();
    if (of.rows == 0) return;
    const pkex::Backend& backend = isa.empty() ? pkex::default_backend() : pkex::backend_named(isa);
    const nb::gil_scoped_release released;
    backend.add_form(of);
}

}  // namespace

void pkex::bind_forms(nb::module_& module) {
    module.def("add_form", &add_form, "strip"_a.noconvert(), "moved"_a.noconvert(),
               "sums"_a.noconvert(), "isa"_a = "");
}
