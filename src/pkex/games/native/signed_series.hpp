// The series of near_one_series.hpp for exponents of both signs, in mirrored pairs of nodes.
//
// In the general game a factor a + t (p - a) is a (1 + t (p/a - 1)). Where both are exponentials,
// p = exp(-s) and a = exp(-r), that is a times a factor of the neutral game with the exponent
// e = s - r, of either sign. About the centre, eta = 1 - 2t,
//
//     1 - t (1 - exp(-e)) = exp(-e/2) (cosh(e/2) + eta sinh(e/2)),
//
// so with L(e) = log(cosh(e/2) + eta sinh(e/2)) = l(e) + e/2, and g as there, a node of weight w
// adds
//
//     -w exp(-sum_i (s_i + r_i)/2 + sum_i L(e_i)) g(e_j),    g(e) = 2 sinh(e/2) exp(-L(e)),
//
// to the value of player j. Changing the signs of eta and e leaves L as it is and changes the sign
// of g: the coefficients of L(e) / e at -eta are those at eta with the signs -, +, -, ..., and
// those of g(e) / e with +, -, +, ... So two mirrored nodes need the coefficients of one.
//
// They follow from g' = 1 - eta g - (1 - eta^2)/4 g^2 and L' = eta/2 + (1 - eta^2)/4 g, and are cut
// to K terms of the Chebyshev series on
// [-limit, limit]. As e^n on [-1, 1] is 2^(1-n) sum_k C(n, (n-k)/2) T_k(e) over the k of the parity
// of n, with half the term k = 0, and the n-th coefficient of g(e) / e is at most 8.01 pi^(-n-2) in
// size (see there), that leaves out of g(e) / e at most
//
//     sum_(n >= K) 8.01 pi^(-n-2) limit^n 2^(1-n) sum_(K <= k <= n, k = n mod 2) C(n, (n-k)/2),
//
// which the limits below make 2^-52. The logarithms have K terms as well, or K - 1 from K = 10 on,
// and leave out less than 2^-54, or 3.1 * 2^-52.
#pragma once

#include <vector>

#include "near_one_series.hpp"

namespace pkex {

constexpr int kSignedSeries = 9;
constexpr int kSignedTerms[kSignedSeries] = {6, 7, 8, 9, 10, 11, 12, 13, 14};
constexpr double kSignedLimits[kSignedSeries] = {0.014256, 0.034005, 0.065247, 0.108274, 0.162293,
                                                 0.225887, 0.297364, 0.374990, 0.457127};

// The kSignedSeries series of a symmetric rule: the coefficients of the nodes of its lower half,
// whose distances eta from the centre are given in the order of the nodes, and of the centre, 0,
// where there is one. Made once for all that use it and kept; null where |log(t / (1-t))| > 5.3.
const Series* signed_series_of(const std::vector<double>& distances);

}  // namespace pkex
