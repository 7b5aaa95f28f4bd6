// Half deficits near 0, as polynomials of their exponents: what hierarchies take of factors near 1.
//
// The coefficients of v(s) / s, v(s) = (1 - exp(-s)) / 2, are (-1)^n / (2 (n+1)!): half of those of
// g(s) / s at a node t = 0. Cut to K terms as the series of near_one_series.hpp and
// signed_series.hpp are, on [0, limit] and on [-limit, limit], they leave out at most
//
//     sum_(n >= K) limit^n / (2 (n+1)!) 2^(1-2n) sum_(K <= k <= n) C(2n, n-k)    or
//     sum_(n >= K) limit^n / (2 (n+1)!) 2^(1-n) sum_(K <= k <= n, k = n mod 2) C(n, (n-k)/2),
//
// which the limits make 2^-55, where v(s) / s itself is at least 0.35. They are lower than the
// bound allows where Horner's scheme begins to lose digits: terms are exp(|s|) times their sum.
#pragma once

namespace pkex {

constexpr int kFewestDeficitTerms = 6;  // each next series has one more
constexpr int kDeficitSeries = 6, kSignedDeficitSeries = 8;
constexpr double kDeficitLimits[kDeficitSeries] = {0.02875, 0.07806, 0.16715,
                                                   0.30495, 0.49672, 0.74436};
constexpr double kSignedDeficitLimits[kSignedDeficitSeries] = {
    0.014407, 0.039227, 0.084368, 0.154846, 0.254076, 0.383982, 0.545267, 0.737729};

// Series for exponents up to `limits` in size, and their coefficients of v(s) / s.
struct DeficitSeries {
    int count;
    const double* limits;
    const double* coefficients[kSignedDeficitSeries];
};

// Those for exponents >= 0, and for exponents of both signs.
const DeficitSeries& deficit_series();
const DeficitSeries& signed_deficit_series();

}  // namespace pkex
