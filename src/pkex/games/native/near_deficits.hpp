// Half deficits of exponents in the shortest way that their size allows; see deficit_series.hpp.
#pragma once

#include "deficit_series.hpp"
#include "math.hpp"
#include "power_sums.hpp"

namespace PKEX_NAMESPACE {

using pkex::DeficitSeries;

template <int Terms>
struct NearDeficit {
    Vec c[Terms];

    explicit NearDeficit(const double* coefficients) {
        for (int k = 0; k < Terms; ++k) c[k] = splat(coefficients[k]);
    }

    PKEX_INLINE Vec operator()(Vec s) const { return polynomial(c, s); }
};

inline bool covers(const DeficitSeries& series, double most) {
    return most <= series.limits[series.count - 1];
}

// Call `function` with a formula for exponents up to `most` in size.
template <class Function>
void with_deficit(const DeficitSeries& series, double most, const Function& function) {
    if (!covers(series, most)) return function([](Vec s) { return half_deficit(s); });
    int i = 0;
    while (series.limits[i] < most) ++i;
    with_terms(pkex::kFewestDeficitTerms + i, [&](auto terms) {
        function(NearDeficit<decltype(terms)::value>(series.coefficients[i]));
    });
}

}  // namespace PKEX_NAMESPACE
