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
#include "power_sums.hpp"
#include "program.hpp"

namespace PKEX_NAMESPACE {

using pkex::Index;
using pkex::kSeriesTerms;
using pkex::log_terms;
using pkex::Program;
using pkex::Rung;
using pkex::Series;

// The coefficients c of one or several vectors of pairs, times their `scale`.
template <int Terms, int Vectors>
void combine(const Rung& rung, const Series& series, const Vec* scale, const PowerSums* sums,
             Vec (*c)[Terms]) {
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

    static Vec magnitude(int) { return splat(1.0); }

    // Add the values of all players, each times `scale`, to `to`.
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
    template <int Vectors>
    void add(const Vec* scale, Vec* to) const {
        with_terms(terms_, [&](auto terms) {
            constexpr int kTerms = decltype(terms)::value;
            Vec c[Vectors][kTerms], negative[Vectors];
            for (int i = 0; i < Vectors; ++i) negative[i] = -scale[i];
            combine<kTerms, Vectors>(*rung_, *series_, negative, sums_, c);
            add_polynomials<kTerms, Vectors>(c, exponents_, stride_, program_.n_players, to);
        });
    }

    const Program& program_;
    const Vec* exponents_;
    Index stride_;
    const Rung* rung_ = nullptr;
    const Series* series_ = nullptr;
    int terms_ = 0;
    PowerSums sums_[kSeriesTile];
};

}  // namespace PKEX_NAMESPACE
