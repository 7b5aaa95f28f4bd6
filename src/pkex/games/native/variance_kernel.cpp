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
constexpr int kRows = 8;   // whose covariances with a vector of points are sums at once
constexpr double kEnds[2] = {0.0, 1.0}, kOnes[2] = {1.0, 1.0};

struct Space {
    Vec *absent, *changes, *chain, *values, *sums;
    Vec *right, *left;  // columns of a tile, as they are read, and of some rows
};

// How many vectors each part of the work space holds, in this order, and all of them.
struct Sizes {
    Index absent, changes, chain, values, sums, right, left, all;
};

Sizes sizes_of(const VarianceTile& tile) {
    const Index columns = tile.changes ? 0 : Index(tile.starts[tile.players]);
    Sizes sizes = {};
    sizes.absent = tile.players;
    sizes.changes = kRows * tile.players;
    sizes.chain = kNodes * tile.players;
    sizes.values = 3 * tile.players;
    sizes.sums = tile.sets * (3 * tile.players + 1);
    sizes.right = columns * ((tile.points + kLanes - 1) / kLanes);
    sizes.left = columns * kRows / kLanes;
    sizes.all = sizes.absent + sizes.changes + sizes.chain + sizes.values + sizes.sums +
                sizes.right + sizes.left;
    return sizes;
}

Space space_in(double* memory, const VarianceTile& tile) {
    const Sizes sizes = sizes_of(tile);
    Space space = {};
    space.absent = reinterpret_cast<Vec*>(memory);
    space.changes = space.absent + sizes.absent;
    space.chain = space.changes + sizes.changes;
    space.values = space.chain + sizes.chain;
    space.sums = space.values + sizes.values;
    space.right = space.sums + sizes.sums;
    space.left = space.right + sizes.right;
    return space;
}

PKEX_INLINE Vec read(const double* from, int count) {
    return count == kLanes ? load(from) : load_part(from, count);
}

// Hand the products of all factors but one, at some nodes and times their shares, to `take`; return
// the product of all at the last node.
template <int Count, class Take>
PKEX_INLINE Vec sweep(const Space& space, const Vec* changes, Index players, const double* nodes,
                      const double* shares, const Take& take) {
    Vec t[Count], prefix[Count], suffix[Count];
    for (int i = 0; i < Count; ++i) {
        t[i] = splat(nodes[i]);
        prefix[i] = splat(1.0);
        suffix[i] = splat(shares[i]);
    }
    for (Index j = 0; j < players; ++j) {
        const Vec a = space.absent[j], c = changes[j];
        for (int i = 0; i < Count; ++i) {
            space.chain[j * Count + i] = prefix[i];
            prefix[i] *= a + t[i] * c;
        }
    }
    for (Index j = players; j-- > 0;) {
        const Vec a = space.absent[j], c = changes[j];
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
void add_nodes(const Space& space, const Vec* changes, Index players, const double* nodes,
               const double* shares) {
    Vec* values = space.values + 2 * players;
    sweep<Count>(space, changes, players, nodes, shares, [&](Index j, Vec c, const Vec* outside) {
        Vec sum = outside[0];
        for (int i = 1; i < Count; ++i) sum += outside[i];
        values[j] += c * sum;
    });
}

// Add the values by a rule, in groups of nodes of nearly equal size.
void integrate(const Space& space, const Vec* changes, Index players, Index size,
               const double* nodes, const double* shares) {
    const Index groups = (size + kNodes - 1) / kNodes;
    for (Index group = 0; group < groups; ++group) {
        const Index first = size * group / groups;
        const double *t = nodes + first, *w = shares + first;
        switch (size * (group + 1) / groups - first) {
            case 1: add_nodes<1>(space, changes, players, t, w); break;
            case 2: add_nodes<2>(space, changes, players, t, w); break;
            case 3: add_nodes<3>(space, changes, players, t, w); break;
            default: add_nodes<4>(space, changes, players, t, w); break;
        }
    }
}

// Copy columns of the points to where they are read one after the other.
void pack_points(const VarianceTile& tile, const Space& space) {
    const Index columns = Index(tile.starts[tile.players]);
    Vec* to = space.right;
    for (Index point = 0; point < tile.points; point += kLanes) {
        const Index left = tile.points - point;
        const int count = left < kLanes ? int(left) : kLanes;
        for (Index r = 0; r < columns; ++r) {
            *to++ = read(tile.right_columns + r * tile.right_column + point, count);
        }
    }
}

// The same of some rows; those that are not there are as the last one.
void pack_rows(const VarianceTile& tile, const Space& space, Index row, int count) {
    const Index columns = Index(tile.starts[tile.players]);
    double* to = reinterpret_cast<double*>(space.left);
    for (Index r = 0; r < columns; ++r) {
        const double* from = tile.left_columns + r * tile.left_column + row;
        for (int i = 0; i < kRows; ++i) *to++ = from[i < count ? i : count - 1];
    }
}

// The covariances of some rows with a vector of points, for each row those of all players.
void multiply_columns(const VarianceTile& tile, const Space& space, Index point) {
    const Vec* right = space.right + point / kLanes * Index(tile.starts[tile.players]);
    const double* left = reinterpret_cast<const double*>(space.left);
    for (Index j = 0; j < tile.players; ++j) {
        Vec sum[kRows];
        for (int i = 0; i < kRows; ++i) sum[i] = splat(0.0);
        for (Index r = Index(tile.starts[j]); r < Index(tile.starts[j + 1]); ++r) {
            const Vec value = right[r];
            for (int i = 0; i < kRows; ++i) sum[i] += left[r * kRows + i] * value;
        }
        for (int i = 0; i < kRows; ++i) space.changes[i * tile.players + j] = sum[i];
    }
}

void read_changes(const VarianceTile& tile, Index row, Index point, int count, Vec* to) {
    for (Index j = 0; j < tile.players; ++j) {
        to[j] = read(tile.changes + (j * tile.rows + row) * tile.points + point, count);
    }
}

// Take the factors of a vector of pairs, and return what they choose a rule by.
double take_factors(const VarianceTile& tile, const Space& space, const Vec* changes, Index row,
                    Index point, int count) {
    Vec lam = splat(0.0);
    for (Index j = 0; j < tile.players; ++j) {
        const Vec right = read(tile.right + j * tile.right_player + point, count);
        const Vec a = tile.left[j * tile.left_player + row] * right, c = changes[j];
        space.absent[j] = a;
        if (tile.n_rules > 1) {
            const Vec most = larger(absolute(a), absolute(a + c));
            lam += select(most > 0.0, absolute(c) / most, splat(0.0));
        }
    }
    return largest(lam);
}

void add_pairs(const VarianceTile& tile, const Space& space, const Vec* changes, Index row,
               Index point, int count) {
    const Index d = tile.players;
    const double lam = take_factors(tile, space, changes, row, point, count);
    const auto ends = [&](Index j, Vec c, const Vec* outside) {
        space.values[j] = c * outside[0];
        space.values[d + j] = c * outside[1];
        space.values[2 * d + j] = splat(0.0);
    };
    const Vec total = sweep<2>(space, changes, d, kEnds, kOnes, ends);
    if (tile.n_rules > 0) {
        Index rule = 0, first = 0;
        while (rule + 1 < tile.n_rules && !(lam <= tile.limits[rule])) first += tile.sizes[rule++];
        tile.used[rule] = 1;
        integrate(space, changes, d, tile.sizes[rule], tile.nodes + first, tile.shares + first);
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

Index variances_workspace(const VarianceTile& tile) { return kLanes * sizes_of(tile).all; }

void sum_variances(const VarianceTile& tile, double* memory) {
    const Space space = space_in(memory, tile);
    const Index count = tile.sets * (3 * tile.players + 1);
    for (Index k = 0; k < count; ++k) space.sums[k] = splat(0.0);
    if (!tile.changes) pack_points(tile, space);
    for (Index row = 0; row < tile.rows; row += kRows) {
        const int rows = tile.rows - row < kRows ? int(tile.rows - row) : kRows;
        if (!tile.changes) pack_rows(tile, space, row, rows);
        for (Index point = 0; point < tile.points; point += kLanes) {
            const int part = tile.points - point < kLanes ? int(tile.points - point) : kLanes;
            if (!tile.changes) multiply_columns(tile, space, point);
            for (int i = 0; i < rows; ++i) {
                Vec* changes = space.changes + i * tile.players;
                if (tile.changes) read_changes(tile, row + i, point, part, changes);
                add_pairs(tile, space, changes, row + i, point, part);
            }
        }
    }
    for (Index k = 0; k < count; ++k) tile.to[k] = sum_of_lanes(space.sums[k]);
}

}  // namespace PKEX_NAMESPACE
