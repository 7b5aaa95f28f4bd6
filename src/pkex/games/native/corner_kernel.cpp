// Products of factors in two variables for one instruction set; compiled once for each as
// kernel.cpp is. A lane is a node, so that the corners of a cell are the same in all lanes and are
// read where they stand. The formulas are in corners.py.

#include "corner_kernel.hpp"

#include "gram.hpp"

namespace PKEX_NAMESPACE {
namespace {

using pkex::CellExtents;
using pkex::Cells;
using pkex::CellSquare;
using pkex::Index;

constexpr int kWide = 4;  // vectors of nodes whose products are chains of their own
constexpr Index kTableColumns = 128;

template <int Count>
struct Vectors {
    static constexpr int kCount = Count;
};

inline double size_of(double value) { return value < 0.0 ? -value : value; }

struct Range {
    double largest, smallest;
    void meet(double value) {
        largest = value > largest ? value : largest;
        smallest = value < smallest ? value : smallest;
    }
};

Range range_of(const double* from, Index count) {
    Range range = {from[0], from[0]};
    Vec high = splat(from[0]), low = high;
    Index i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        high = larger(high, load(from + i));
        low = smaller(low, load(from + i));
    }
    for (int k = 0; k < kLanes; ++k) {
        range.meet(lane(high, k));
        range.meet(lane(low, k));
    }
    for (; i < count; ++i) range.meet(from[i]);
    return range;
}

// The corners of one cell, player by player.
struct Corners {
    const double *both, *one, *other, *none;
    Index both_step, beside_step, none_step;

    Corners(const Cells& of, Index n, Index m)
        : both(of.both + n),
          one(of.beside + of.left[n] * of.others + of.second[m]),
          other(of.beside + of.right[n] * of.others + of.first[m]),
          none(of.none + m),
          both_step(of.rows),
          beside_step(of.points * of.others),
          none_step(of.pairs) {}

    // Their sum with four numbers for each lane.
    PKEX_INLINE Vec weigh(Index j, const Vec* by) const {
        return by[0] * splat(both[j * both_step]) + by[1] * splat(one[j * beside_step]) +
               by[2] * splat(other[j * beside_step]) + by[3] * splat(none[j * none_step]);
    }

    // What is left of `start` without it; the products are merged into the differences.
    PKEX_INLINE Vec rest(Index j, const Vec* by, Vec start) const {
        start = start - by[0] * splat(both[j * both_step]);
        start = start - by[1] * splat(one[j * beside_step]);
        start = start - by[2] * splat(other[j * beside_step]);
        return start - by[3] * splat(none[j * none_step]);
    }

    // The derivative of a factor in both variables, which is the same everywhere.
    PKEX_INLINE double change(Index j) const {
        return (one[j * beside_step] + other[j * beside_step]) -
               (both[j * both_step] + none[j * none_step]);
    }
};

// The largest sum of what background rows, one by one, are away from both at the points.
double measure_sides(const Cells& of, Index n, Index point, const std::int64_t* rows, Index count,
                     Range& range) {
    double most = 0.0;
    for (Index i = 0; i < count; ++i) {
        const double* beside = of.beside + point * of.others + rows[i];
        double sum = 0.0;
        for (Index j = 0; j < of.players; ++j) {
            const double deficit = beside[j * of.points * of.others];
            sum += size_of(of.both[j * of.rows + n] - deficit);
            range.meet(deficit);
        }
        most = sum > most ? sum : most;
    }
    return most;
}

// The largest sum of what the pairs of a row are away from one at the points.
double measure_pairs(const Cells& of, Index n) {
    double most = 0.0;
    for (Index m = 0; m < of.pairs; ++m) {
        const Corners at(of, n, m);
        double in_t = 0.0, in_s = 0.0;
        for (Index j = 0; j < of.players; ++j) {
            const double none = at.none[j * at.none_step];
            in_t += size_of(at.one[j * at.beside_step] - none);
            in_s += size_of(at.other[j * at.beside_step] - none);
        }
        most = in_t > most ? in_t : most;
        most = in_s > most ? in_s : most;
    }
    return most;
}

// The nodes of a group: `Wide` vectors from `first` on.
template <int Wide>
struct Group {
    Vec by[Wide][4];

    PKEX_INLINE Group(const CellSquare& of, Index part, Index first) {
        for (int v = 0; v < Wide; ++v) {
            for (int k = 0; k < 4; ++k) {
                by[v][k] = load(of.square + (4 * part + k) * of.nodes + first + v * kLanes);
            }
        }
    }
};

template <int Wide>
PKEX_INLINE void load_weights(const CellSquare& of, Index first, Vec* to) {
    for (int v = 0; v < Wide; ++v) to[v] = load(of.square + 12 * of.nodes + first + v * kLanes);
}

// Adds the products of all factors but one, times weights and shares, for the cells of a row.
template <int Wide>
void integrate_group(const CellSquare& of, Index first, Index n, Vec* chain, Vec* sums) {
    const Cells& cells = of.cells;
    const Group<Wide> at(of, 0, first);
    Vec weights[Wide];
    load_weights<Wide>(of, first, weights);
    for (Index m = 0; m < cells.pairs; ++m) {
        const Corners corners(cells, n, m);
        Vec product[Wide];
        for (int v = 0; v < Wide; ++v) product[v] = splat(1.0);
        Vec* to = chain;
        for (Index j = 0; j < cells.players; ++j, to += 2 * Wide) {
            for (int v = 0; v < Wide; ++v) {
                const Vec factor = corners.rest(j, at.by[v], splat(1.0));
                to[2 * v] = product[v];
                to[2 * v + 1] = factor;
                product[v] *= factor;
            }
        }
        for (int v = 0; v < Wide; ++v) product[v] = weights[v];
        for (Index j = cells.players; j-- > 0;) {
            to -= 2 * Wide;
            Vec sum = to[0] * product[0];
            product[0] *= to[1];
            for (int v = 1; v < Wide; ++v) {
                sum += to[2 * v] * product[v];
                product[v] *= to[2 * v + 1];
            }
            sums[j] += splat(of.shares[m] * corners.change(j)) * sum;
        }
    }
}

// Where the ratios of some cells of a row are, and the sums of their products; in doubles.
struct Table {
    Index cells, stride;  // cells of a table, and how far players are apart
    Index right, sums, chain, size;

    explicit Table(const CellSquare& of) {
        const Index players = of.cells.players;
        cells = kTableColumns / of.nodes > 1 ? kTableColumns / of.nodes : 1;
        stride = cells * of.nodes + pkex::kPaddedNodes;  // not the same places of the cache
        const Index lefts = rounded_up(players, kLeft), rights = rounded_up(players, kRight);
        right = lefts * stride;
        sums = right + rights * stride;
        chain = sums + lefts * rights * kLanes;
        size = chain + kWide * players * kLanes;
    }
};

// Writes derivatives divided by their factors, those in t times the products of all factors.
template <int Wide>
void form_group(const CellSquare& of, Index first, Index n, Index m, const Table& table,
                double* to) {
    const Group<Wide> at(of, 0, first), in_t(of, 1, first), in_s(of, 2, first);
    const Corners corners(of.cells, n, m);
    Vec* chain = reinterpret_cast<Vec*>(to + table.chain);
    double* left = to + m % table.cells * of.nodes + first;
    double* right = left + table.right;
    Vec worth[Wide];
    load_weights<Wide>(of, first, worth);
    for (int v = 0; v < Wide; ++v) worth[v] *= splat(of.shares[m]);
    for (Index j = 0; j < of.cells.players; ++j) {
        for (int v = 0; v < Wide; ++v) {
            const Vec factor = corners.rest(j, at.by[v], splat(1.0));
            chain[j * Wide + v] = select(factor > 0.0, -1.0 / factor, splat(0.0));
            worth[v] *= factor;
        }
    }
    for (Index j = 0; j < of.cells.players; ++j, left += table.stride, right += table.stride) {
        for (int v = 0; v < Wide; ++v) {
            const Vec inverse = chain[j * Wide + v];
            store(left + v * kLanes, corners.weigh(j, in_t.by[v]) * inverse * worth[v]);
            store(right + v * kLanes, corners.weigh(j, in_s.by[v]) * inverse);
        }
    }
}

// Calls `block(i, j)` for all blocks of the products of two players, in their order.
template <class Block>
void each_product(Index players, const Block& block) {
    for (Index i = 0; i < players; i += kLeft) {
        for (Index j = 0; j < players; j += kRight) block(i, j);
    }
}

// Calls `go` with the number of vectors, at compile time, for all groups of nodes.
template <class Go>
PKEX_INLINE void each_group(Index nodes, const Go& go) {
    Index first = 0;
    for (; first + kWide * kLanes <= nodes; first += kWide * kLanes) {
        go(Vectors<kWide>(), first);
    }
    switch ((nodes - first) / kLanes) {
        case 1: return go(Vectors<1>(), first);
        case 2: return go(Vectors<2>(), first);
        case 3: return go(Vectors<3>(), first);
        default: return;
    }
}

}  // namespace

void measure_cells(const CellExtents& of) {
    const Cells& cells = of.cells;
    const Range between = range_of(cells.none, cells.players * cells.pairs);
    for (Index n = 0; n < cells.rows; ++n) {
        Range range = between;
        for (Index j = 0; j < cells.players; ++j) range.meet(cells.both[j * cells.rows + n]);
        const double in_t = measure_sides(cells, n, cells.right[n], of.firsts, of.n_firsts, range);
        const double in_s = measure_sides(cells, n, cells.left[n], of.seconds, of.n_seconds, range);
        const double side = in_t > in_s ? in_t : in_s, pair = measure_pairs(cells, n);
        of.to[n] = side > pair ? side : pair;
        of.to[cells.rows + n] = range.largest;
        of.to[2 * cells.rows + n] = range.smallest;
    }
}

Index cell_workspace(const CellSquare& of) { return (2 * kWide + 1) * of.cells.players * kLanes; }

void integrate_cells(const CellSquare& of, double* memory) {
    const Index players = of.cells.players;
    Vec* sums = reinterpret_cast<Vec*>(memory);
    Vec* chain = sums + players;
    for (Index n = 0; n < of.cells.rows; ++n) {
        for (Index j = 0; j < players; ++j) sums[j] = splat(0.0);
        each_group(of.nodes, [&](auto wide, Index first) {
            integrate_group<decltype(wide)::kCount>(of, first, n, chain, sums);
        });
        for (Index j = 0; j < players; ++j) of.sums[n * players + j] = sum_of_lanes(sums[j]);
    }
}

Index product_workspace(const CellSquare& of) { return Table(of).size; }

void multiply_cells(const CellSquare& of, double* memory) {
    const Table table(of);
    const Index players = of.cells.players, pairs = of.cells.pairs;
    for (Index i = 0; i < table.chain; ++i) memory[i] = 0.0;  // and players that are none stay 0
    for (Index n = 0; n < of.cells.rows; ++n) {
        for (Index i = table.sums; i < table.chain; ++i) memory[i] = 0.0;
        for (Index begin = 0; begin < pairs; begin += table.cells) {
            const Index end = begin + table.cells < pairs ? begin + table.cells : pairs;
            for (Index m = begin; m < end; ++m) {
                each_group(of.nodes, [&](auto wide, Index first) {
                    form_group<decltype(wide)::kCount>(of, first, n, m, table, memory);
                });
            }
            double* to = memory + table.sums;
            each_product(players, [&](Index i, Index j) {
                add_block(memory + i * table.stride, memory + table.right + j * table.stride,
                          table.stride, (end - begin) * of.nodes, to);
                to += kLeft * kRight * kLanes;
            });
        }
        const double* from = memory + table.sums;
        each_product(players, [&](Index i, Index j) {
            for (Index k = 0; k < kLeft * kRight; ++k, from += kLanes) {
                const Index row = i + k / kRight, column = j + k % kRight;
                if (row >= players || column >= players) continue;
                double* to = of.matrices + (n * players + row) * players + column;
                *to = 0.0;
                for (int lane = 0; lane < kLanes; ++lane) *to += from[lane];
            }
        });
    }
}

}  // namespace PKEX_NAMESPACE
