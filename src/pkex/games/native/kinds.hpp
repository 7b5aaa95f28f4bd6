// The kinds of column kernels that the hot loop knows: the one table of them.
//
// A row gives the name of the class with the formula (factors.hpp), the name by which Python knows
// the kind, whether the formula is an exponential k = exp(-s) that tells its exponent s, and, in
// the comment, what the parameters are that Python packs. The numbers of the kinds, their names,
// and the choice of the formula for a run of factors are all made from it. To add a kernel: a row
// here, a class in factors.hpp, and a line in `_CODES` in __init__.py.
#pragma once

#include <cstdint>

// clang-format off
#define PKEX_KERNELS(ROW)                                                                \
    ROW(Rbf,         "rbf",         true)  /* a = 1 / (2 l^2) */                         \
    ROW(Laplacian,   "laplacian",   true)  /* a = 1 / l */                               \
    ROW(Cauchy,      "cauchy",      false) /* a = 1 / l^2 */                             \
    ROW(Matern15,    "matern-1.5",  false) /* a = sqrt(3) / l */                         \
    ROW(Matern25,    "matern-2.5",  false) /* a = sqrt(5) / l */                         \
    ROW(Chi2,        "chi2",        true)  /* a = gamma */                               \
    ROW(Periodic,    "periodic",    true)  /* a = 2 / l^2, b = period */                 \
    ROW(Categorical, "categorical", true)  /* a = 1 - mismatch, b = mismatch; see Factor */
// clang-format on

namespace pkex {

enum class Kind : std::int32_t {
    kNone,   // factor 1, for players without columns
    kGiven,  // evaluated by the caller; `column` counts them
#define PKEX_ROW(formula, name, exponential) k##formula,
    PKEX_KERNELS(PKEX_ROW)
#undef PKEX_ROW
};

// Their names, in the order of their numbers.
constexpr const char* kKindNames[] = {"none", "given",
#define PKEX_ROW(formula, name, exponential) name,
                                      PKEX_KERNELS(PKEX_ROW)
#undef PKEX_ROW
};
constexpr int kKinds = sizeof kKindNames / sizeof *kKindNames;

constexpr bool has_exponent(Kind kind) {
    switch (kind) {
        case Kind::kNone: return true;
        case Kind::kGiven: return false;
#define PKEX_ROW(formula, name, exponential) \
    case Kind::k##formula: return exponential;
            PKEX_KERNELS(PKEX_ROW)
#undef PKEX_ROW
    }
    return false;
}

}  // namespace pkex
