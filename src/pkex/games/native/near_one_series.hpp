// Factors near 1: polynomials in their exponents, which leave the nodes a matter of the pair.
//
// Where the factors are exponentials, k_i = exp(-s_i), a node t of weight w adds
//
//     -w exp(sum_i l(s_i)) g(s_j),    l(s) = log(1 - t u),    g(s) = u / (1 - t u),    u = 1 - e^-s
//
// to the value of player j. Both functions are analytic near the real axis, whatever t: the poles
// of g lie at log(t / (1-t)) + i pi (2k+1), and l' = t (1-t) g - t. So for small exponents they are
// short polynomials. The power sums of the exponents then give the logarithms at all nodes, and
// summing over the nodes leaves one polynomial for the values of all players (near_one.hpp):
// neither an exponential nor a node is evaluated for the single factor.
//
// The coefficients follow from g' = 1 + (2t-1) g - t (1-t) g^2. The residues of g are
// 1 / (t (1-t)), so with x = log(t / (1-t)) the n-th coefficient is at most
//
//     (2 + 2 cosh x) sum_k |x + i pi (2k+1)|^(-n-1) <= 8.01 pi^(-n-1)    for n >= 7, |x| <= 5.3.
//
// g(s) / s is shortened to K terms on [0, limit] by cutting its Chebyshev series: as s^n on [0, 1]
// is 2^(1-2n) sum_k C(2n, n-k) T*_k(s), with half the term k = 0, that leaves out at most
//
//     sum_(n >= K) 8.01 pi^(-n-2) limit^n 2^(1-2n) sum_(K <= k <= n) C(2n, n-k),
//
// and the limits below make this 2^-52, where g(s) / s itself is at least 0.69. The coefficients of
// l(s) / s are smaller by t (1-t) / (n+1): K terms leave out less than 2^-55, and K - 1 terms, as
// are taken from K = 10 on, less than 3 * 2^-52. Times the sum of the exponents that is the
// relative error of the products: less than what adding up the exponents may lose.
#pragma once

#include <vector>

namespace pkex {

constexpr int kSeries = 8;
constexpr int kSeriesTerms[kSeries] = {6, 7, 8, 9, 10, 11, 12, 14};
constexpr double kSeriesLimits[kSeries] = {0.02836, 0.06718, 0.12751, 0.20857,
                                           0.30718, 0.41902, 0.53963, 0.79156};
constexpr int kMostTerms = 14;

// The terms of the logarithms in a series of so many terms.
constexpr int log_terms(int terms) { return terms < 10 ? terms : terms - 1; }

struct Series {
    const double* logs;    // (nodes, log_terms): l(s) / s in powers of s
    const double* shares;  // (nodes, terms): g(s) / s
};

// The kSeries series of a rule, made once for all that use it and kept; null where |x| > 5.3, as it
// is for rules of more than 16 nodes.
const Series* series_of(const std::vector<double>& nodes);

}  // namespace pkex
