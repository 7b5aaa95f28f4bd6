// Weights looked up for many permutations and contracted with the values of pairs, for one
// instruction set; compiled once for each as kernel.cpp is.
//
// A matrix product whose right operand is looked up, some sets at a time. A row of the tile and a
// set read one row of the matrix, here and there. The matrix is too large for caches near the
// processor and the next row is anywhere in it: while a row is looked up, the next one is asked
// for, line by line. What was looked up for a few sets is turned so that lanes are sets, and stays
// in a near cache while all values are multiplied with it. So the sums are never added up across
// lanes.

#include "lookup_kernel.hpp"

#include "vec.hpp"

namespace PKEX_NAMESPACE {
namespace {

using pkex::Index;
using pkex::LookedUp;

constexpr int kPanels = 3;  // vectors of sets looked up together:
constexpr Index kSets = kPanels * kLanes;
constexpr int kValues = kLanes == 8 ? 8 : 4;  // with so many values the sums that registers hold
constexpr Index kStep = 128;                  // points multiplied at once
constexpr Index kLine = 8;                    // doubles

// For loops that look up: processors whose vector instructions for that must not reveal what others
// looked up (Downfall) run these several times slower than plain loads.
#if defined(__GNUC__) && !defined(__clang__)
#define PKEX_SCALAR __attribute__((optimize("no-tree-vectorize"), noinline))
#else
#define PKEX_SCALAR inline
#endif

#if defined(__GNUC__)
#define PKEX_UNROLL _Pragma("GCC unroll 8")
PKEX_INLINE void fetch(const double* from) { __builtin_prefetch(from); }
#else
#define PKEX_UNROLL
PKEX_INLINE void fetch(const double*) {}
#endif

Index rounded_up(Index count, Index size) { return (count + size - 1) / size * size; }

// Looks up the entries of a row of the matrix, and asks for those of the next one.
PKEX_SCALAR void look_up(const double* row, const double* next, Index size,
                         const std::int32_t* columns, Index points, double* to) {
    const Index lines = (size + points - 1) / points;  // to fetch in each step
    Index begin = 0;
    for (; begin + kLine <= points; begin += kLine) {
        for (Index line = 0; line < lines; ++line, next += kLine) fetch(next);
        PKEX_UNROLL
        for (Index k = 0; k < kLine; ++k) to[begin + k] = row[columns[begin + k]];
    }
    for (; begin < points; ++begin) to[begin] = row[columns[begin]];
}

// Looks up the weights of a vector of sets, one set after the other, and then turns them so that
// those of a point stand side by side. Sets that are missing have zeros.
template <class RowOf>
void look_up_panel(const LookedUp& tile, const RowOf& row_of, Index first, double* apart,
                   double* panel) {
    const Index points = tile.points;
    for (Index k = 0; k < kLanes; ++k) {
        double* to = apart + k * points;
        if (first + k < tile.sets) {
            look_up(row_of(first + k), row_of(first + k + 1), tile.size,
                    tile.right + (first + k) * tile.right_set, points, to);
        } else {
            for (Index p = 0; p < points; ++p) to[p] = 0.0;
        }
    }
    for (Index p = 0; p < points; ++p) {
        for (Index k = 0; k < kLanes; ++k) panel[p * kLanes + k] = apart[k * points + p];
    }
}

// Values and weights of some points; how far values, panels, and sums of values are apart.
struct Operands {
    const double* values;
    Index value;
    const double* weights;
    Index panel;
    Index points;
    double* sums;
    Index stride;
};

// sums[v + i, k] += sum over points of values[v + i, p] weights[k, p]
template <int Values, int Panels>
PKEX_INLINE void multiply(const Operands& of, Index v) {
    double* sums = of.sums + v * of.stride;
    const double* values = of.values + v * of.value;
    Vec sum[Values][Panels];
    for (int i = 0; i < Values; ++i) {
        for (int k = 0; k < Panels; ++k) sum[i][k] = load(sums + i * of.stride + k * kLanes);
    }
    for (Index p = 0; p < of.points; ++p) {
        Vec w[Panels];
        for (int k = 0; k < Panels; ++k) w[k] = load(of.weights + k * of.panel + p * kLanes);
        for (int i = 0; i < Values; ++i) {
            const Vec factor = splat(values[i * of.value + p]);
            for (int k = 0; k < Panels; ++k) sum[i][k] += factor * w[k];
        }
    }
    for (int i = 0; i < Values; ++i) {
        for (int k = 0; k < Panels; ++k) store(sums + i * of.stride + k * kLanes, sum[i][k]);
    }
}

template <int Panels>
void multiply_all(const Operands& of, Index n_values) {
    Index v = 0;
    for (; v + kValues <= n_values; v += kValues) multiply<kValues, Panels>(of, v);
    if (v + 6 <= n_values) {  // few values at once read weights as often as many
        multiply<6, Panels>(of, v);
        v += 6;
    }
    for (; v + 2 <= n_values; v += 2) multiply<2, Panels>(of, v);
    if (v < n_values) multiply<1, Panels>(of, v);
}

Index stride_of(const LookedUp& tile) { return rounded_up(tile.sets, kLanes); }

}  // namespace

Index lookup_workspace(const LookedUp& tile) {
    return stride_of(tile) * tile.n_values + (kSets + kLanes) * tile.points;
}

void contract_looked_up(const LookedUp& tile, double* memory) {
    const Index points = tile.points, stride = stride_of(tile), panel = points * kLanes;
    double* sums = memory;
    double* weights = sums + stride * tile.n_values;
    double* apart = weights + kSets * points;
    for (Index i = 0; i < stride * tile.n_values; ++i) sums[i] = 0.0;
    for (Index row = 0; row < tile.rows; ++row) {
        const std::int32_t* left = tile.left + row;
        const auto row_of = [&](Index s) {
            return tile.matrix + Index(left[(s < tile.sets ? s : 0) * tile.left_set]) * tile.size;
        };
        for (Index first = 0; first < stride; first += kSets) {
            const Index count = stride - first < kSets ? stride - first : kSets;
            for (Index k = 0; k < count; k += kLanes) {
                look_up_panel(tile, row_of, first + k, apart, weights + k * points);
            }
            for (Index begin = 0; begin < points; begin += kStep) {
                const Index some = points - begin < kStep ? points - begin : kStep;
                const double* values = tile.values + row * points + begin;
                const Operands of = {
                    values, tile.rows * points, weights + begin * kLanes, panel, some, sums + first,
                    stride};
                if (count == kSets) {
                    multiply_all<kPanels>(of, tile.n_values);
                } else if (count == 2 * kLanes) {
                    multiply_all<2>(of, tile.n_values);
                } else {
                    multiply_all<1>(of, tile.n_values);
                }
            }
        }
    }
    for (Index v = 0; v < tile.n_values; ++v) {
        for (Index s = 0; s < tile.sets; ++s) tile.sums[v * tile.sets + s] = sums[v * stride + s];
    }
}

void sum_sizes(const double* values, Index n_values, Index count, double* sums) {
    constexpr int kChains = 4;
    for (Index v = 0; v < n_values; ++v, values += count) {
        Vec sum[kChains];
        for (int i = 0; i < kChains; ++i) sum[i] = splat(0.0);
        Index at = 0;
        for (; at + kChains * kLanes <= count; at += kChains * kLanes) {
            for (int i = 0; i < kChains; ++i) sum[i] += absolute(load(values + at + i * kLanes));
        }
        double total = sum_of_lanes((sum[0] + sum[1]) + (sum[2] + sum[3]));
        for (; at < count; ++at) total += values[at] < 0.0 ? -values[at] : values[at];
        sums[v] = total;
    }
}

}  // namespace PKEX_NAMESPACE
