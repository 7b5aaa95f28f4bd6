// Ratios R_j = u_j / f_j of pairs at nodes, with u_j = a_j - p_j and f_j = a_j - x u_j: what all
// pairs of players are a matrix product of. See games/interactions for the derivation, and for the
// proof that a factor may be kept away from 0.
//
// A group of pairs stands in the lanes of a few registers, with as many nodes beside it as the
// registers hold. Its drops and absent factors are read twice, for the products P of all f_j and
// for the ratios; nothing but the ratios is written. gram.hpp multiplies them while they are in the
// nearest cache.
#pragma once

#include <cmath>

#include "program.hpp"
#include "vec.hpp"

namespace PKEX_NAMESPACE {

using pkex::Extents;
using pkex::Index;
using pkex::RatioTile;

constexpr int kGroupVectors = int(pkex::kRatioGroup) / kLanes;
constexpr int kGroupNodes = 8 / kGroupVectors;  // so that eight products are under way

// What is made of a tile: the ratios and the products apart; the ratios times the roots of their
// weights, and weighted sums of ratios; or these sums alone.
enum class Ratio { kPlain, kHalves, kSums };

// The lanes from `first` on of `pairs` numbers; those beyond repeat the last.
inline Vec load_lanes(const double* from, Index first, Index pairs) {
    if (first + kLanes <= pairs) return load(from + first);
    return first < pairs ? load_part(from + first, int(pairs - first)) : splat(from[pairs - 1]);
}

// The same of weights; those beyond are 0.
inline Vec load_weights(const double* from, Index first, Index pairs) {
    if (first + kLanes <= pairs) return load(from + first);
    double lanes[kLanes];
    for (int i = 0; i < kLanes; ++i) lanes[i] = first + i < pairs ? from[first + i] : 0.0;
    return load(lanes);
}

template <bool Part>
Vec load_pairs(const double* from, int count) {
    return Part ? load_part(from, count) : load(from);
}

template <bool Part>
void store_pairs(double* to, Vec value, int count) {
    if (!Part) return store(to, value);
    double lanes[kLanes];
    store(lanes, value);
    for (int i = 0; i < count; ++i) to[i] = lanes[i];
}

// The sums of changes relative to the larger factor, of a vector of pairs.
template <bool Part>
void measure_tail(const Extents& pairs, Index point, Index place, Index n_pairs, int count) {
    Vec relative = splat(0.0);
    for (Index j = 0; j < pairs.players; ++j) {
        const double* present = pairs.present + j * pairs.present_player + point;
        const double* absent = pairs.absent + j * pairs.absent_player + place;
        const Vec most = larger(absolute(load_pairs<Part>(present, count)),
                                absolute(load_pairs<Part>(absent, count)));
        const Vec u = absolute(load_pairs<Part>(pairs.drops + j * n_pairs + place, count));
        relative += select(most > 0.0, u / most, splat(0.0));
    }
    store_pairs<Part>(pairs.relative + place, relative, count);
}

// `Size` vectors of pairs of one repeat from `point` on, or with `Part` the first `count` lanes of
// one.
template <bool General, bool Part, int Size>
void measure_pairs(const Extents& pairs, Index repeat, Index point, int count) {
    const Index at = repeat * pairs.points + point;
    const Index n_pairs = pairs.repeats * pairs.points;
    Vec lam[Size], widest[Size], totals[Size], worth[Size], lowest[Size], highest[Size];
    for (int i = 0; i < Size; ++i) {
        lam[i] = widest[i] = splat(0.0);
        totals[i] = worth[i] = splat(1.0);
        lowest[i] = splat(HUGE_VAL);
        highest[i] = splat(-HUGE_VAL);
    }
    for (Index j = 0; j < pairs.players; ++j) {
        const double* present = pairs.present + j * pairs.present_player + point;
        const double* deficits = pairs.present_deficits + j * pairs.present_deficits_player + point;
        for (int i = 0; i < Size; ++i) {
            const Vec p = load_pairs<Part>(present + i * kLanes, count);
            Vec u = load_pairs<Part>(deficits + i * kLanes, count);
            if (General) {
                const Index place = at + i * kLanes;
                const Vec a =
                    load_pairs<Part>(pairs.absent + j * pairs.absent_player + place, count);
                const Vec v = load_pairs<Part>(
                    pairs.absent_deficits + j * pairs.absent_deficits_player + place, count);
                u = select(p + a > 1.0, u - v, a - p);  // from the smaller numbers, with the digits
                store_pairs<Part>(pairs.drops + j * n_pairs + place, u, count);
                worth[i] *= larger(absolute(p), absolute(a));
                lowest[i] = smaller(lowest[i], a);
                highest[i] = larger(highest[i], a);
            }
            lam[i] += absolute(u);
            widest[i] = larger(widest[i], absolute(u));
            totals[i] *= p;
            lowest[i] = smaller(lowest[i], p);
            highest[i] = larger(highest[i], p);
        }
    }
    for (int i = 0; i < Size; ++i) {
        const Index place = at + i * kLanes;
        store_pairs<Part>(pairs.lam + place, lam[i], count);
        store_pairs<Part>(pairs.widest + place, widest[i], count);
        store_pairs<Part>(pairs.totals + place, totals[i], count);
        store_pairs<Part>(pairs.lowest + place, lowest[i], count);
        store_pairs<Part>(pairs.highest + place, highest[i], count);
        if (!General) continue;
        store_pairs<Part>(pairs.worth + place, worth[i], count);
        if (any(worth[i] < pairs.tail)) {
            measure_tail<Part>(pairs, point + i * kLanes, place, n_pairs, count);
        }
    }
}

template <bool General>
void measure_all(const Extents& pairs) {
    for (Index repeat = 0; repeat < pairs.repeats; ++repeat) {
        Index point = 0;
        for (; point + 2 * kLanes <= pairs.points; point += 2 * kLanes) {
            measure_pairs<General, false, 2>(pairs, repeat, point, kLanes);
        }
        for (; point + kLanes <= pairs.points; point += kLanes) {
            measure_pairs<General, false, 1>(pairs, repeat, point, kLanes);
        }
        const int left = int(pairs.points - point);
        if (left) measure_pairs<General, true, 1>(pairs, repeat, point, left);
    }
}

// A group of pairs at `Nodes` nodes.
template <Ratio What, bool General, bool Positive, int Nodes>
struct GroupRatios {
    const RatioTile& tile;
    Index first;              // pair
    const double* nodes;      // of this group
    Vec drop[kGroupVectors];  // of one player
    Vec start[kGroupVectors];
    Vec least[kGroupVectors];

    PKEX_INLINE void take(Index player) {
        const double* drops = tile.drops + player * tile.drops_player;
        for (int v = 0; v < kGroupVectors; ++v) {
            drop[v] = load_lanes(drops, first + v * kLanes, tile.pairs);
            start[v] = splat(1.0);
            if (General) {
                start[v] = load_lanes(tile.absent + player * tile.absent_player, first + v * kLanes,
                                      tile.pairs);
            }
            const Vec end = start[v] - drop[v];
            const Vec most =
                Positive ? larger(start[v], end) : larger(absolute(start[v]), absolute(end));
            least[v] = larger(tile.tau * most, splat(tile.nothing));
        }
    }

    PKEX_INLINE Vec factor(int v, double node) const {
        const Vec f = start[v] - node * drop[v];
        if (Positive) return larger(f, least[v]);
        return select(absolute(f) < least[v], least[v], f);
    }

    // `column` is the first one of these nodes; `sums` has a vector for each player, and one more.
    void run(const double* shares, Index column, double* sums) {
        Vec product[Nodes][kGroupVectors], scale[Nodes][kGroupVectors];
        for (int n = 0; n < Nodes; ++n) {
            for (int v = 0; v < kGroupVectors; ++v) product[n][v] = splat(1.0);
        }
        for (Index j = 0; j < tile.players; ++j) {
            take(j);
            for (int n = 0; n < Nodes; ++n) {
                for (int v = 0; v < kGroupVectors; ++v) product[n][v] *= factor(v, nodes[n]);
            }
        }
        Vec total = splat(0.0);
        for (int v = 0; v < kGroupVectors; ++v) {
            const Vec weight = What == Ratio::kPlain
                                   ? splat(1.0)
                                   : load_weights(tile.weights, first + v * kLanes, tile.pairs);
            for (int n = 0; n < Nodes; ++n) {
                if (What == Ratio::kPlain) {
                    double* to = tile.products + column + n * pkex::kRatioGroup + v * kLanes;
                    store(to, product[n][v]);
                    continue;
                }
                product[n][v] *= weight * splat(shares[n]);
                total += product[n][v];
                if (What != Ratio::kHalves) continue;
                scale[n][v] = root(absolute(product[n][v]));
                product[n][v] = select(product[n][v] < 0.0, -scale[n][v], scale[n][v]);
            }
        }
        if (What != Ratio::kPlain) {
            double* last = sums + tile.players * kLanes;
            store(last, load(last) + total);
        }
        for (Index j = 0; j < tile.players; ++j) {
            take(j);
            double* to = tile.ratios + j * tile.ratios_player + column;
            Vec sum = What == Ratio::kPlain ? splat(0.0) : load(sums + j * kLanes);
            for (int n = 0; n < Nodes; ++n) {
                for (int v = 0; v < kGroupVectors; ++v) {
                    Vec ratio = drop[v] / factor(v, nodes[n]);
                    if (What == Ratio::kHalves) ratio *= scale[n][v];
                    if (What != Ratio::kSums) store(to + n * pkex::kRatioGroup + v * kLanes, ratio);
                    if (What != Ratio::kPlain) sum += ratio * product[n][v];
                }
            }
            if (What != Ratio::kPlain) store(sums + j * kLanes, sum);
        }
    }
};

template <Ratio What, bool General, bool Positive>
void ratios_of(const RatioTile& tile, double* sums) {
    for (Index g = 0; g < tile.groups; ++g) {
        const Index first = Index(tile.order[g]) * pkex::kRatioGroup;
        Index node = 0;
        const auto take = [&](auto group, Index count) {
            group.run(tile.shares + node, (g * tile.n_nodes + node) * pkex::kRatioGroup, sums);
            node += count;
        };
        while (node < tile.n_nodes) {
            const Index left = tile.n_nodes - node;
            const double* nodes = tile.nodes + node;
            if (left >= kGroupNodes) {
                take(
                    GroupRatios<What, General, Positive, kGroupNodes>{
                        tile, first, nodes, {}, {}, {}},
                    kGroupNodes);
            } else if (left >= 4) {
                take(GroupRatios<What, General, Positive, 4>{tile, first, nodes, {}, {}, {}}, 4);
            } else if (left >= 2) {
                take(GroupRatios<What, General, Positive, 2>{tile, first, nodes, {}, {}, {}}, 2);
            } else {
                take(GroupRatios<What, General, Positive, 1>{tile, first, nodes, {}, {}, {}}, 1);
            }
        }
        if (What != Ratio::kPlain) continue;
        for (Index k = tile.pairs - first; k < pkex::kRatioGroup; ++k) {  // pairs that it lacks
            for (Index n = 0; n < tile.n_nodes; ++n) {
                tile.products[(g * tile.n_nodes + n) * pkex::kRatioGroup + k] = 0.0;
            }
        }
    }
}

}  // namespace PKEX_NAMESPACE
