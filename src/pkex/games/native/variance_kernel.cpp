// The variances of sums of atoms, pair by pair (see variance_data.hpp), for one instruction set;
// compiled once for each as kernel.cpp is. Lanes are points.
//
// Values are products over all players but one, from prefixes and suffixes, of some nodes at a time
// as independent chains. Each is a multiple of the player's own change, so that small ones keep
// their digits.

#include "variance_kernel.hpp"

#include "vec.hpp"

namespace PKEX_NAMESPACE {
namespace {

using pkex::Index;
using pkex::VarianceTile;

constexpr int kNodes = 4;  // most of a group, whose chains registers hold
constexpr double kEnds[2] = {0.0, 1.0}, kOnes[2] = {1.0, 1.0};

struct Space {
    Vec *absent, *changes, *chain, *values, *sums;
    Index size;  // in doubles

    Space(const VarianceTile& tile, double* memory) {
        Vec* next = reinterpret_cast<Vec*>(memory);
        const auto take = [&](Index count) {
            Vec* taken = next;
            if (memory) next += count;
            size += count * kLanes;
            return taken;
        };
        size = 0;
        absent = take(tile.players);
        changes = take(tile.players);
        chain = take(kNodes * tile.players);
        values = take(3 * tile.players);
        sums = take(tile.sets * (3 * tile.players + 1));
    }
};

PKEX_INLINE Vec read(const double* from, int count) {
    return count == kLanes ? load(from) : load_part(from, count);
}

// Hand the products of all factors but one, at some nodes and times their shares, to `take`; return
// the product of all at the last node.
template <int Count, class Take>
PKEX_INLINE Vec sweep(const Space& space, Index players, const double* nodes, const double* shares,
                      const Take& take) {
    Vec t[Count], prefix[Count], suffix[Count];
    for (int i = 0; i < Count; ++i) {
        t[i] = splat(nodes[i]);
        prefix[i] = splat(1.0);
        suffix[i] = splat(shares[i]);
    }
    for (Index j = 0; j < players; ++j) {
        const Vec a = space.absent[j], c = space.changes[j];
        for (int i = 0; i < Count; ++i) {
            space.chain[j * Count + i] = prefix[i];
            prefix[i] *= a + t[i] * c;
        }
    }
    for (Index j = players; j-- > 0;) {
        const Vec a = space.absent[j], c = space.changes[j];
        Vec outside[Count];
        for (int i = 0; i < Count; ++i) {
            outside[i] = space.chain[j * Count + i] * suffix[i];
            suffix[i] *= a + t[i] * c;
        }
        take(j, c, outside);
    }
    return prefix[Count - 1];
}

template <int Count>
void add_nodes(const Space& space, Index players, const double* nodes, const double* shares) {
    Vec* values = space.values + 2 * players;
    sweep<Count>(space, players, nodes, shares, [&](Index j, Vec c, const Vec* outside) {
        Vec sum = outside[0];
        for (int i = 1; i < Count; ++i) sum += outside[i];
        values[j] += c * sum;
    });
}

// Add the values by a rule, in groups of nodes of nearly equal size.
void integrate(const Space& space, Index players, Index size, const double* nodes,
               const double* shares) {
    const Index groups = (size + kNodes - 1) / kNodes;
    for (Index group = 0; group < groups; ++group) {
        const Index first = size * group / groups;
        const double *t = nodes + first, *w = shares + first;
        switch (size * (group + 1) / groups - first) {
            case 1: add_nodes<1>(space, players, t, w); break;
            case 2: add_nodes<2>(space, players, t, w); break;
            case 3: add_nodes<3>(space, players, t, w); break;
            default: add_nodes<4>(space, players, t, w); break;
        }
    }
}

// Take the factors of a vector of pairs, and return what they choose a rule by.
double take_factors(const VarianceTile& tile, const Space& space, Index row, Index point,
                    int count) {
    Vec lam = splat(0.0);
    for (Index j = 0; j < tile.players; ++j) {
        const double* from = tile.changes + (j * tile.rows + row) * tile.points + point;
        const Vec c = read(from, count);
        const Vec right = read(tile.right + j * tile.right_player + point, count);
        const Vec a = tile.left[j * tile.left_player + row] * right;
        space.absent[j] = a;
        space.changes[j] = c;
        if (tile.n_rules > 1) {
            const Vec most = larger(absolute(a), absolute(a + c));
            lam += select(most > 0.0, absolute(c) / most, splat(0.0));
        }
    }
    return largest(lam);
}

void add_pairs(const VarianceTile& tile, const Space& space, Index row, Index point, int count) {
    const Index d = tile.players;
    const double lam = take_factors(tile, space, row, point, count);
    const Vec total = sweep<2>(space, d, kEnds, kOnes, [&](Index j, Vec c, const Vec* outside) {
        space.values[j] = c * outside[0];
        space.values[d + j] = c * outside[1];
        space.values[2 * d + j] = splat(0.0);
    });
    if (tile.n_rules > 0) {
        Index rule = 0, first = 0;
        while (rule + 1 < tile.n_rules && !(lam <= tile.limits[rule])) first += tile.sizes[rule++];
        tile.used[rule] = 1;
        integrate(space, d, tile.sizes[rule], tile.nodes + first, tile.shares + first);
    }
    for (Index set = 0; set < tile.sets; ++set) {
        const double* of_points = tile.right_weights + set * tile.right_set + point;
        double lanes[kLanes] = {};  // 0 where there is no pair
        for (int i = 0; i < count; ++i) lanes[i] = of_points[i];
        const Vec weight = tile.left_weights[set * tile.left_set + row] * load(lanes);
        Vec* sums = space.sums + set * (3 * d + 1);
        for (Index k = 0; k < 3 * d; ++k) sums[k] += weight * space.values[k];
        sums[3 * d] += weight * total;
    }
}

}  // namespace

Index variances_workspace(const VarianceTile& tile) { return Space(tile, nullptr).size; }

void sum_variances(const VarianceTile& tile, double* memory) {
    const Space space(tile, memory);
    const Index count = tile.sets * (3 * tile.players + 1);
    for (Index k = 0; k < count; ++k) space.sums[k] = splat(0.0);
    for (Index row = 0; row < tile.rows; ++row) {
        for (Index point = 0; point < tile.points; point += kLanes) {
            const Index left = tile.points - point;
            add_pairs(tile, space, row, point, left < kLanes ? int(left) : kLanes);
        }
    }
    for (Index k = 0; k < count; ++k) tile.to[k] = sum_of_lanes(space.sums[k]);
}

}  // namespace PKEX_NAMESPACE
