#include "series_binding.hpp"

#include <nanobind/ndarray.h>

#include "checks.hpp"
#include "deficit_series.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace pkex {
namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;

// Series: number of terms, limit, and the coefficients of logarithms and of shares,
// node by node. Empty where there are none.
nb::list listed_series(const Series* all, std::size_t nodes, int count, const int* terms,
                       const double* limits) {
    nb::list result;
    const auto listed = [&](const double* numbers, int of_node) {
        nb::list list;
        for (std::size_t k = 0; k < nodes * std::size_t(of_node); ++k) list.append(numbers[k]);
        return list;
    };
    for (int i = 0; all && i < count; ++i) {
        result.append(nb::make_tuple(terms[i], limits[i], listed(all[i].logs, log_terms(terms[i])),
                                     listed(all[i].shares, terms[i])));
    }
    return result;
}

nb::list series(const Vector& nodes) {
    const auto given = as_vector<double>(nodes);
    return listed_series(series_of(given), given.size(), kSeries, kSeriesTerms, kSeriesLimits);
}

// Those for exponents of both signs, of nodes at these distances from the centre.
nb::list signed_series(const Vector& distances) {
    const auto given = as_vector<double>(distances);
    return listed_series(signed_series_of(given), given.size(), kSignedSeries, kSignedTerms,
                         kSignedLimits);
}

// Series of half deficits: limit and coefficients.
nb::list deficits(bool both_signs) {
    const DeficitSeries& all = both_signs ? signed_deficit_series() : deficit_series();
    nb::list result;
    for (int i = 0; i < all.count; ++i) {
        nb::list list;
        for (int k = 0; k < kFewestDeficitTerms + i; ++k) list.append(all.coefficients[i][k]);
        result.append(nb::make_tuple(all.limits[i], list));
    }
    return result;
}

}  // namespace

void bind_series(nb::module_& module) {
    module.def("series", &series, "nodes"_a.noconvert());
    module.def("deficit_series", &deficits, "both_signs"_a);
    module.def("signed_series", &signed_series, "distances"_a.noconvert());
}

}  // namespace pkex
