// Tiles of the general game whose factors of present and absent players have ratios near 1: as
// games of their ratios, by series (signed_series.hpp) or by the sweep of the neutral game.
//
// With the signed exponents e of the players of a vector of pairs, K terms, and R = sum r_i,
//
//     S_k = sum_i e_i^k,    P_l = w_l exp(-R - S_1/2 + sum_k logs_lk S_k),    c_k = sum_l P_l
//     shares_lk,
//
// and the value of player j is -sum_k c_k e_j^k. A sweep takes the deficits 1 - exp(-e), which are
// negative where a present player has the larger factor, and exp(-R) as part of the weights.
//
// The rule is chosen as elsewhere in the general game, relative to W = prod max(a_i, p_i), where
// lam is sum (1 - exp(-|e_i|)); as 1 - exp(-y) <= y - y^2/2 + y^3/6, it is at most
//
//     sum |e_i| - (1/2 - max |e_i| / 6) sum e_i^2.
//
// W itself is exp(-(R + S - sum |e_i|) / 2), with S = sum s_i = R + S_1.
#pragma once

#include "near_one.hpp"
#include "pairs.hpp"
#include "signed_exponents.hpp"
#include "tree.hpp"

namespace PKEX_NAMESPACE {

using pkex::kSignedTerms;

// Beyond these a pair is left to the sweep over both factors: growing products must not overflow,
// lam is overestimated, and exponentials of all worths are to be normal numbers.
constexpr double kMostRatio = 2.5;       // of a single player, in size
constexpr double kMostSizes = 16.0;      // of all together
constexpr double kMostExponent = 650.0;  // of the worth of all players, and of none

constexpr double kTailExponent = 6.931471805599453;  // -log kTail

// The coefficients c of one or several vectors of pairs, times their `scale`; `base` is added to
// the logarithms. Mirrored nodes share the even and the odd part of L, and of the sums.
template <int Terms, int Vectors>
void combine_mirrored(const Rung& rung, const Series& series, const Vec* scale, const Vec* base,
                      const PowerSums* sums, Vec (*c)[Terms]) {
    for (int i = 0; i < Vectors; ++i) {
        for (int k = 0; k < Terms; ++k) c[i][k] = splat(0.0);
    }
    constexpr int kLogs = log_terms(Terms);
    const Index mirrors = rung.size / 2;
    for (Index node = 0; node < mirrors; ++node) {
        const double* logs = series.logs + node * kLogs;
        const double* shares = series.shares + node * Terms;
        Vec sum[Vectors], difference[Vectors];
        for (int i = 0; i < Vectors; ++i) {
            Vec odd = logs[0] * sums[i][0], even = base[i] + logs[1] * sums[i][1];
            for (int k = 2; k < kLogs; k += 2) odd += logs[k] * sums[i][k];
            for (int k = 3; k < kLogs; k += 2) even += logs[k] * sums[i][k];
            const Vec low = normal_exponential(even + odd) * (rung.weights[node] * scale[i]);
            const Vec high =
                normal_exponential(even - odd) * (rung.weights[rung.size - 1 - node] * scale[i]);
            sum[i] = low + high;
            difference[i] = low - high;
        }
        for (int i = 0; i < Vectors; ++i) {
            for (int k = 0; k < Terms; k += 2) c[i][k] += shares[k] * sum[i];
            for (int k = 1; k < Terms; k += 2) c[i][k] += shares[k] * difference[i];
        }
    }
    if (rung.size % 2 == 0) return;
    const double* logs = series.logs + mirrors * kLogs;
    const double* shares = series.shares + mirrors * Terms;
    for (int i = 0; i < Vectors; ++i) {
        Vec even = base[i] + logs[1] * sums[i][1];
        for (int k = 3; k < kLogs; k += 2) even += logs[k] * sums[i][k];
        const Vec value = normal_exponential(even) * (rung.weights[mirrors] * scale[i]);
        for (int k = 0; k < Terms; k += 2) c[i][k] += shares[k] * value;
    }
}

// What a vector of pairs costs with a series, in the units of near_one.hpp; as measured, a quarter
// more than the operations are, since the sums of long series do not fit the registers.
inline Index signed_cost(Index players, const Rung& rung, int terms) {
    return (rung.size * (terms + 20) + players * (2 * terms + 4)) * 5 / 4;
}

class NearRatio {
public:
    NearRatio(const Program& program, const Workspace& space) : program_(program), space_(space) {}

    // Choose how the pairs of a tile are solved, by their signed exponents in space.ratios. One of
    // `present` and `absent` is given: the sums of the exponents s or r of each vector. Return the
    // index of the rung, or -1 where the tile is left to a sweep over both factors; so it is where
    // an exponent is not finite.
    Index choose(int vectors, const SignedSums& given, const Vec* present, const Vec* absent) {
        const double most = largest(given.most);
        double sizes = 0.0;
        for (int k = 0; k < vectors; ++k) sizes = greater(sizes, largest(given.sizes[k]));
        if (!(most <= kMostRatio && sizes <= kMostSizes)) return -1;
        terms_ = terms_for(most, program_.rungs[covering(program_, sizes)]);
        if (!terms_ && !program_.exponentials) return -1;
        double lam = 0.0, exponent = 0.0;
        for (int k = 0; k < vectors; ++k) {
            terms_ ? sum_powers(k) : take_deficits(k, most);
            const Vec s1 = sums_[k][0], s2 = sums_[k][1];
            const Vec s = present ? present[k] : absent[k] + s1;
            absent_[k] = present ? present[k] - s1 : absent[k];
            present_[k] = s;
            tail_[k] = 0.5 * ((s + absent_[k]) - given.sizes[k]);
            lam = greater(lam, largest(given.sizes[k] - (0.5 - most * (1.0 / 6.0)) * s2));
            exponent = greater(exponent, largest(larger(s, absent_[k])));
        }
        if (!(exponent <= kMostExponent)) return -1;
        const Index step = covering(program_, lam);
        rung_ = program_.rungs + step;
        centred_ = rung_->mirrored && sizes <= kCentredLam;
        return step;
    }

    // Whether the pairs of the tile are solved by series, and not by a sweep.
    bool has_series() const { return terms_ != 0; }

    // The worth of all players.
    Vec product(int vector) const { return normal_exponential(-present_[vector]); }

    // The scale of errors: 1, or in the tail the largest worth that a coalition may have.
    Vec magnitude(int vector) const {
        const Vec tail = tail_[vector];
        if (!any(tail > kTailExponent)) return splat(1.0);
        return select(tail > kTailExponent, normal_exponential(-tail), splat(1.0));
    }

    // Add the values of all players, each times `scale`, to `to`.
    void add(int vectors, const Vec* scale, Vec* to) const {
        if (terms_) {
            vectors == 1 ? add<1>(scale, to) : add<kSeriesTile>(scale, to);
            return;
        }
        if (program_.tree) {
            vectors == 1 ? add_tree<1>(scale, to) : add_tree<kSeriesTile>(scale, to);
            return;
        }
        for (int i = 0; i < vectors; ++i) sweep(i, scale[i], Add{to});
    }

    // Hand the values of one vector to `take`.
    template <class Take>
    void solve(int vector, Vec scale, const Take& take) const {
        if (!terms_) return sweep(vector, scale, take);
        with_terms(terms_, [&](auto terms) {
            constexpr int kTerms = decltype(terms)::value;
            Vec c[1][kTerms];
            coefficients<kTerms, 1>(&scale, vector, c);
            const Vec* e = exponents(vector);
            for (Index j = 0; j < program_.n_players; ++j) take(j, polynomial(c[0], e[j]));
        });
    }

    // Hand the integrals of some players of one vector, solved by series, to `take`: values without
    // p - a = -a (1 - exp(-e)). In the place of e = 0 stands an e that changes nothing either, and
    // that does not underflow when it is multiplied by a or by a value.
    template <class Source, class Take>
    void integrate(int vector, Vec scale, const pkex::Wanted& wanted, const Source& absent,
                   const Take& take) const {
        with_terms(terms_, [&](auto terms) {
            constexpr int kTerms = decltype(terms)::value;
            Vec c[1][kTerms];
            coefficients<kTerms, 1>(&scale, vector, c);
            for (Index i = 0; i < wanted.count; ++i) {
                const Index j = wanted.players[i];
                const Vec given = exponents(vector)[j];
                const Vec e = select(given == 0.0, splat(0x1p-60), given);
                const Vec change = (-2.0 * absent(j).value) * half_deficit(e);
                take(j, polynomial(c[0], e) / change);
            }
        });
    }

private:
    static double greater(double left, double right) { return right > left ? right : left; }

    Vec* exponents(int vector) const { return space_.ratios + vector * space_.stride; }

    // The number of terms of the series, or 0 where the exponents are too large, or a sweep with
    // such a rule cheaper.
    int terms_for(double most, const Rung& rung) {
        int i = 0;
        while (i < pkex::kSignedSeries && pkex::kSignedLimits[i] < most) ++i;
        if (i == pkex::kSignedSeries || !rung.signed_series) return 0;
        series_ = i;
        const Index players = program_.n_players;
        const int terms = kSignedTerms[i];
        return signed_cost(players, rung, terms) < sweep_cost(players, rung) ? terms : 0;
    }

    void sum_powers(int vector) {
        with_terms(terms_, [&](auto terms) {
            constexpr int kLogs = log_terms(decltype(terms)::value);
            power_sums<kLogs>(exponents(vector), program_.n_players, sums_[vector]);
        });
    }

    // Turn the exponents into half deficits, and sum them and their squares.
    void take_deficits(int vector, double most) {
        if (!program_.signed_deficits) {
            return take_deficits(vector, [](Vec e) { return half_deficit(e); });
        }
        with_deficit(*program_.signed_deficits, most,
                     [&](const auto& deficit) { take_deficits(vector, deficit); });
    }

    template <class Deficit>
    void take_deficits(int vector, const Deficit& deficit) {
        Vec* e = exponents(vector);
        Vec sum[2] = {splat(0.0), splat(0.0)}, square[2] = {splat(0.0), splat(0.0)};
        for (Index j = 0; j < space_.stride; j += 2) {
            for (int i = 0; i < 2; ++i) {
                const Vec here = e[j + i];
                sum[i] += here;
                square[i] += here * here;
                e[j + i] = deficit(here);
            }
        }
        sums_[vector][0] = sum[0] + sum[1];
        sums_[vector][1] = square[0] + square[1];
    }

    template <class Take>
    void sweep(int vector, Vec scale, const Take& take) const {
        const Players<false> players = {exponents(vector), nullptr, nullptr, program_.n_players};
        const Vec part = change(vector, scale);
        if (program_.tree) {
            solve_tree(players, program_, space_, part, take);
        } else {
            ::PKEX_NAMESPACE::solve(players, *rung_, centred_, part, space_, take);
        }
    }

    // -2 times the scale of the values of the game of ratios.
    Vec change(int vector, Vec scale) const {
        return (-2.0 * scale) * normal_exponential(-absent_[vector]);
    }

    template <int Vectors>
    void add_tree(const Vec* scale, Vec* to) const {
        Vec part[Vectors];
        for (int v = 0; v < Vectors; ++v) part[v] = change(v, scale[v]);
        const auto passes = passes_of<Vectors>(space_.ratios, 0, program_, space_);
        passes.rise();
        passes.fall(part, Add{to});
    }

    template <int Terms, int Vectors>
    void coefficients(const Vec* scale, int first, Vec (*c)[Terms]) const {
        Vec negative[Vectors], base[Vectors];
        for (int i = 0; i < Vectors; ++i) {
            negative[i] = -scale[i];
            base[i] = -0.5 * (present_[first + i] + absent_[first + i]);
        }
        const Series& series = rung_->signed_series[series_];
        combine_mirrored<Terms, Vectors>(*rung_, series, negative, base, sums_ + first, c);
    }

    template <int Vectors>
    void add(const Vec* scale, Vec* to) const {
        with_terms(terms_, [&](auto terms) {
            constexpr int kTerms = decltype(terms)::value;
            Vec c[Vectors][kTerms];
            coefficients<kTerms, Vectors>(scale, 0, c);
            add_polynomials<kTerms, Vectors>(c, exponents(0), space_.stride, program_.n_players,
                                             to);
        });
    }

    const Program& program_;
    const Workspace& space_;
    const Rung* rung_ = nullptr;
    int terms_ = 0, series_ = 0;  // 0 terms where a sweep is made
    bool centred_ = false;
    Vec present_[kSeriesTile], absent_[kSeriesTile];  // sums of s and r
    Vec tail_[kSeriesTile];                           // -log W
    PowerSums sums_[kSeriesTile];
};

}  // namespace PKEX_NAMESPACE
