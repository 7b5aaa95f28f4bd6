// Tiles whose factors are all near 1, without a sweep: see near_one_series.hpp.
//
// For a vector of pairs with the exponents s of its players, and K terms,
//
//     S_k = sum_i s_i^k,    P_l = w_l exp(sum_k logs_lk S_k),    c_k = sum_l P_l shares_lk,
//
// the value of player j is -sum_k c_k s_j^k: about K multiply-adds for a factor on either side of
// the nodes.
#pragma once

#include "math.hpp"
#include "program.hpp"

namespace PKEX_NAMESPACE {

using pkex::Index;
using pkex::kMostTerms;
using pkex::kSeriesTerms;
using pkex::log_terms;
using pkex::Program;
using pkex::Rung;
using pkex::Series;

constexpr int kSeriesTile = 2;  // vectors of a tile, few as their exponents are read three times

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

// The coefficients c of one or several vectors of pairs, times their `scale`.
template <int Terms, int Vectors>
void combine(const Rung& rung, const Series& series, const Vec* scale,
             const Vec (*sums)[kMostTerms], Vec (*c)[Terms]) {
    for (int i = 0; i < Vectors; ++i) {
        for (int k = 0; k < Terms; ++k) c[i][k] = splat(0.0);
    }
    constexpr int kLogs = log_terms(Terms);
    for (Index node = 0; node < rung.size; ++node) {
        const double* logs = series.logs + node * kLogs;
        const double* shares = series.shares + node * Terms;
        Vec value[Vectors];
        for (int i = 0; i < Vectors; ++i) {
            Vec even = logs[0] * sums[i][0], odd = logs[1] * sums[i][1];
            for (int k = 2; k < kLogs; k += 2) even += logs[k] * sums[i][k];
            for (int k = 3; k < kLogs; k += 2) odd += logs[k] * sums[i][k];
            value[i] = normal_exponential(even + odd) * (rung.weights[node] * scale[i]);
        }
        for (int i = 0; i < Vectors; ++i) {
            for (int k = 0; k < Terms; ++k) c[i][k] += shares[k] * value[i];
        }
    }
}

// The first rung that covers a sum of deficits.
inline Index covering(const Program& program, double lam) {
    Index step = 0;
    while (step + 1 < program.n_rungs && program.rungs[step].limit < lam) ++step;
    return step;
}

// What a vector of pairs costs with a series and with a sweep, in operations.
inline Index series_cost(Index players, const Rung& rung, int terms) {
    return rung.size * (2 * terms + 20) + players * (2 * terms + 4);
}

inline Index sweep_cost(Index players, const Rung& rung) { return players * (30 + 3 * rung.size); }

class NearOne {
public:
    NearOne(const Program& program, const Vec* exponents, Index stride)
        : program_(program), exponents_(exponents), stride_(stride) {}

    // Choose rule and series for the exponents of a tile, of which `most` are the largest. Return
    // the index of the rung, or -1 where a sweep is cheaper. Where an exponent is not finite, no
    // rule with series covers their sum.
    Index choose(int vectors, double most) {
        int i = 0;
        while (i < pkex::kSeries && pkex::kSeriesLimits[i] < most) ++i;
        if (i == pkex::kSeries) return -1;
        const Index players = program_.n_players;
        double lam = 0.0;
        for (int k = 0; k < vectors; ++k) {
            with_terms(kSeriesTerms[i], [&](auto terms) {
                constexpr int kLogs = log_terms(decltype(terms)::value);
                power_sums<kLogs>(exponents_ + k * stride_, players, sums_[k]);
            });
            // 1 - e^-s <= s - s^2 / 2 + s^3 / 6
            const Vec* sums = sums_[k];
            const double sum = largest((sums[0] - 0.5 * sums[1]) + (1.0 / 6.0) * sums[2]);
            lam = sum > lam ? sum : lam;
        }
        const Index step = covering(program_, lam);
        rung_ = program_.rungs + step;
        if (!rung_->series) return -1;
        series_ = rung_->series + i;
        terms_ = kSeriesTerms[i];
        return series_cost(players, *rung_, terms_) < sweep_cost(players, *rung_) ? step : -1;
    }

    Vec product(int vector) const { return normal_exponential(-sums_[vector][0]); }

    // Add the values of all players, each times -scale, to `to`.
    void add(int vectors, const Vec* scale, Vec* to) const {
        vectors == 1 ? add<1>(scale, to) : add<kSeriesTile>(scale, to);
    }

    // Hand the values of one vector to `take`.
    template <class Take>
    void solve(int vector, Vec scale, const Take& take) const {
        with_terms(terms_, [&](auto terms) {
            constexpr int kTerms = decltype(terms)::value;
            Vec c[1][kTerms];
            const Vec negative = -scale;
            combine<kTerms, 1>(*rung_, *series_, &negative, sums_ + vector, c);
            const Vec* s = exponents_ + vector * stride_;
            for (Index j = 0; j < program_.n_players; ++j) take(j, polynomial(c[0], s[j]));
        });
    }

private:
    template <int Terms>
    PKEX_INLINE static Vec polynomial(const Vec (&c)[Terms], Vec s) {
        Vec value = c[Terms - 1];
        for (int k = Terms - 2; k >= 0; --k) value = value * s + c[k];
        return value * s;
    }

    template <int Vectors>
    void add(const Vec* scale, Vec* to) const {
        with_terms(terms_, [&](auto terms) {
            constexpr int kTerms = decltype(terms)::value;
            Vec c[Vectors][kTerms], negative[Vectors];
            for (int i = 0; i < Vectors; ++i) negative[i] = -scale[i];
            combine<kTerms, Vectors>(*rung_, *series_, negative, sums_, c);
            for (Index j = 0; j < program_.n_players; ++j) {
                Vec sum = to[j];
                for (int i = 0; i < Vectors; ++i) {
                    sum += polynomial(c[i], exponents_[i * stride_ + j]);
                }
                to[j] = sum;
            }
        });
    }

    const Program& program_;
    const Vec* exponents_;
    Index stride_;
    const Rung* rung_ = nullptr;
    const Series* series_ = nullptr;
    int terms_ = 0;
    Vec sums_[kSeriesTile][kMostTerms];
};

}  // namespace PKEX_NAMESPACE
