// What both kinds of series have in common: power sums of exponents before the nodes, and
// polynomials in them behind (near_one.hpp, near_ratio.hpp).
#pragma once

#include "program.hpp"
#include "vec.hpp"

namespace PKEX_NAMESPACE {

using pkex::Index;
using pkex::kMostTerms;

constexpr int kSeriesTile = 2;  // vectors of a tile, few as their exponents are read three times

using PowerSums = Vec[kMostTerms];

template <int Value>
struct Count {
    static constexpr int value = Value;
};

// Call `function` with the number of terms of a series as a constant.
template <class Function>
PKEX_INLINE void with_terms(int terms, const Function& function) {
    switch (terms) {
        case 6: return function(Count<6>{});
        case 7: return function(Count<7>{});
        case 8: return function(Count<8>{});
        case 9: return function(Count<9>{});
        case 10: return function(Count<10>{});
        case 11: return function(Count<11>{});
        case 12: return function(Count<12>{});
        case 13: return function(Count<13>{});
        default: return function(Count<kMostTerms>{});
    }
}

// The sums over the players of the powers 1 to Size: the lower half of the powers are made, the
// upper half only enter the sums. power[k] is s^(k+1), the product of two powers that are half as
// high, (k-1)/2 + k/2 = k-1: chains of logarithmic length.
template <int Size>
void power_sums(const Vec* s, Index players, Vec* to) {
    constexpr int kHalf = (Size + 1) / 2;
    Vec sum[Size], power[kHalf];
    for (int k = 0; k < Size; ++k) sum[k] = splat(0.0);
    for (Index j = 0; j < players; ++j) {
        power[0] = s[j];
        for (int k = 1; k < kHalf; ++k) power[k] = unfused(power[(k - 1) / 2] * power[k / 2]);
        for (int k = 0; k < kHalf; ++k) sum[k] += power[k];
        for (int k = kHalf; k < Size; ++k) sum[k] += power[kHalf - 1] * power[k - kHalf];
    }
    for (int k = 0; k < Size; ++k) to[k] = sum[k];
}

template <int Terms>
PKEX_INLINE Vec polynomial(const Vec (&c)[Terms], Vec s) {
    Vec value = c[Terms - 1];
    for (int k = Terms - 2; k >= 0; --k) value = value * s + c[k];
    return value * s;
}

// Add the polynomials of one or several vectors of pairs at the exponents of all players.
template <int Terms, int Vectors>
void add_polynomials(const Vec (*c)[Terms], const Vec* exponents, Index stride, Index players,
                     Vec* to) {
    for (Index j = 0; j < players; ++j) {
        Vec sum = to[j];
        for (int i = 0; i < Vectors; ++i) sum += polynomial(c[i], exponents[i * stride + j]);
        to[j] = sum;
    }
}

}  // namespace PKEX_NAMESPACE
