// What the hot loop does with one vector of pairs besides the sweep: sums and checks over the
// players, the polynomials that go into it, and the values that come out of it.
#pragma once

#include "four_players.hpp"
#include "sweep.hpp"
#include "workspace.hpp"

namespace PKEX_NAMESPACE {

constexpr double kSlack = 0x1p-50;  // how far a factor may leave its range by its own rounding

// Nodes counted from t = 1/2 are off by up to 2^-55, which changes a value by lam 2^-55 relatively:
// up to here less than what the certificates allow for the rounding of nodes.
constexpr double kCentredLam = 8.0;

// Of a factor, in the place of none: so small that it changes nothing, and can be divided by.
constexpr double kTinyChange = 0x1p-1000;

// Adds up the values of one weight set.
struct Add {
    Vec* sums;
    PKEX_INLINE void operator()(Index player, Vec value) const { sums[player] += value; }
};

// The players of one vector of pairs: v, and in the general game the factors a of absent players
// and p of present ones.
template <bool General>
struct Players {
    const Vec* v;
    const Vec* a;
    const Vec* p;
    Index count;

    PKEX_INLINE Vec absent(Index j) const {
        if constexpr (General) {
            return a[j];
        } else {
            return splat(1.0);
        }
    }

    PKEX_INLINE Vec present(Index j) const {
        if constexpr (General) {
            return p[j];
        } else {
            return 1.0 - 2.0 * v[j];
        }
    }

    // Whether a factor of any lane lies outside [lower, 1].
    bool out_of_range(double lower) const {
        Vec low = splat(1.0), high = splat(1.0);
        const auto widen = [&](Vec factor) {
            low = select(factor < low, factor, low);
            high = select(factor > high, factor, high);
        };
        for (Index j = 0; j < count; ++j) {
            widen(present(j));
            if (General) widen(absent(j));
        }
        for (int i = 0; i < kLanes; ++i) {
            if (lane(low, i) < lower - kSlack || lane(high, i) > 1.0 + kSlack) return true;
        }
        return false;
    }

    // sum |a - p| / max(|a|, |p|): lam of the game in which the larger one of the two is 1.
    Vec relative_lam() const {
        Vec sum = splat(0.0);
        for (Index j = 0; j < count; ++j) {
            const Vec size = larger(absolute(absent(j)), absolute(present(j)));
            sum += select(size > 0.0, 2.0 * absolute(v[j]) / size, splat(0.0));
        }
        return sum;
    }

    // The scale of the rounding errors, for factors of any size: prod max(1, |a|, |p|) (1 + lam).
    Vec magnitude(Vec lam) const {
        Vec result = 1.0 + lam;
        for (Index j = 0; j < count; ++j) {
            const Vec a_size = absolute(absent(j)), p_size = absolute(present(j));
            const Vec larger = select(p_size > a_size, p_size, a_size);
            result *= select(larger > 1.0, larger, splat(1.0));
        }
        return result;
    }
};

// The absent factors of the points from `point` on, in arrays that the caller gave.
template <bool Part>
struct FromArrays {
    const Block& block;
    Index point;
    int count;

    PKEX_INLINE Both operator()(Index j) const {
        return {0.5 * read(block.absent_deficits + j * block.absent_deficits_player),
                read(block.absent + j * block.absent_player)};
    }
    PKEX_INLINE Vec read(const double* from) const {
        return Part ? load_part(from + point, count) : load(from + point);
    }
};

// Those of a row, which were evaluated.
struct FromRow {
    const Vec* halves;
    const Vec* factors;
    PKEX_INLINE Both operator()(Index j) const { return {halves[j], factors[j]}; }
};

// Below this worth of all coalitions a pair of the general game is in the tail: there lam and the
// magnitude are relative to the largest worth, so that errors are small beside that and not beside
// 1. Elsewhere that would cost divisions and gain no more than ten bits.
constexpr double kTail = 0x1p-10;
constexpr double kFloor = 0x1p-960;  // magnitude of a tail that underflows

// What the choice of a rule needs to know of the players of a vector of pairs, summed up in four
// chains. In the neutral game only the first entry of half_lam is used.
struct Extent {
    Vec half_lam[4] = {splat(0.0), splat(0.0), splat(0.0), splat(0.0)};
    Vec largest_worth[4] = {splat(1.0), splat(1.0), splat(1.0), splat(1.0)};
    Vec low = splat(1.0), high = splat(0.0);

    PKEX_INLINE void add(int chain, Vec a, Vec p, Vec v) {
        const Vec below = smaller(a, p), above = larger(a, p);
        low = smaller(low, below);
        high = larger(high, above);
        half_lam[chain] += absolute(v);
        largest_worth[chain] *= larger(above, -below);
    }

    Vec lam() const { return 2.0 * ((half_lam[0] + half_lam[1]) + (half_lam[2] + half_lam[3])); }

    // Of max(|a|, |p|) over the players: the largest worth that a coalition may have.
    Vec product() const {
        return (largest_worth[0] * largest_worth[1]) * (largest_worth[2] * largest_worth[3]);
    }

    bool out_of_range(double lower) const {
        return any(low < lower - kSlack) || any(high > 1.0 + kSlack);
    }
};

// Half of lam = sum |u|; `stride` is a multiple of four.
inline Vec half_lam(const Vec* v, Index stride) {
    Vec sum[4] = {splat(0.0), splat(0.0), splat(0.0), splat(0.0)};
    for (Index j = 0; j < stride; j += 4) {
        for (int i = 0; i < 4; ++i) sum[i] += absolute(v[j + i]);
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// A source of polynomials: makes them, and the product of all present factors on the way.
template <bool General, bool Centred>
struct Fresh {
    Players<General> players;
    Vec product[4] = {splat(1.0), splat(1.0), splat(1.0), splat(1.0)};

    explicit Fresh(const Players<General>& given) : players(given) {}

    PKEX_INLINE void read(Index four, Vec* c) {
        const Vec* v = players.v + 4 * four;
        const Vec* a = players.a + 4 * four;
        multiply<General>(two_players<General>(v, a), two_players<General>(v + 2, a + 2), c);
        if constexpr (Centred) recenter(c);
        for (int i = 0; i < 4; ++i) product[i] *= players.present(4 * four + i);
    }

    Vec total() const { return (product[0] * product[1]) * (product[2] * product[3]); }
};

// A sink of moments: makes the values of four players at a time and hands them to `take`.
template <bool General, bool Centred, class Take>
struct Finish {
    Players<General> players;
    Take take;

    PKEX_INLINE void write(Index four, Vec* m) const {
        if constexpr (Centred) decenter(m);
        Vec value[4];
        leave_one_out<General>(players.v + 4 * four, players.a + 4 * four, m, value);
        for (int i = 0; i < 4; ++i) take(4 * four + i, value[i]);
    }
};

// Source and sink for rules of more nodes than fit a group: arrays that outlive it.
struct Stored {
    const Vec* polynomials;

    PKEX_INLINE void read(Index four, Vec* c) const {
        for (int k = 0; k < kCoefficients; ++k) c[k] = polynomials[four * kCoefficients + k];
    }
};

struct Gather {
    Vec* moments;

    PKEX_INLINE void write(Index four, const Vec* m) const {
        for (int k = 0; k < kMoments; ++k) moments[four * kMoments + k] += m[k];
    }
};

// Evaluate the values of all players with a rule and hand them to `take`, each times -scale / 2;
// return the product of the present factors.
template <bool General, bool Centred, class Take>
Vec solve_in_groups(const Players<General>& players, const Rung& rung, Vec scale,
                    const Workspace& space, const Take& take) {
    Fresh<General, Centred> fresh(players);
    for (Index four = 0; four < space.fours; ++four) {
        fresh.read(four, space.polynomials + four * kCoefficients);
        for (int k = 0; k < kMoments; ++k) space.moments[four * kMoments + k] = splat(0.0);
    }
    Stored stored = {space.polynomials};
    const Gather gather = {space.moments};
    if constexpr (Centred) {
        sweep_mirrored(rung, scale, space.fours, space.chain, stored, gather);
    } else {
        sweep_single(rung, scale, space.fours, space.chain, stored, gather);
    }
    const Finish<General, Centred, Take> finish = {players, take};
    for (Index four = 0; four < space.fours; ++four) {
        finish.write(four, space.moments + four * kMoments);
    }
    return fresh.total();
}

template <bool General, class Take>
Vec solve(const Players<General>& players, const Rung& rung, bool centred, Vec scale,
          const Workspace& space, const Take& take) {
    if (!centred) return solve_in_groups<General, false>(players, rung, scale, space, take);
    if (rung.size > kGroup + 1) {
        return solve_in_groups<General, true>(players, rung, scale, space, take);
    }
    Fresh<General, true> fresh(players);
    const Finish<General, true, Take> finish = {players, take};
    sweep_mirrored(rung, scale, space.fours, space.chain, fresh, finish);
    return fresh.total();
}

}  // namespace PKEX_NAMESPACE
