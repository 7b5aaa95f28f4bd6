// Weights looked up for many permutations and contracted with the values of pairs, for one
// instruction set; compiled once for each as kernel.cpp is.
//
// A matrix product whose right operand is looked up, a few sets at a time. A row of the tile and a
// set read one row of the matrix, here and there. The matrix is too large for caches near the
// processor and the next row is anywhere in it: while a row is looked up, the next one is asked
// for, line by line. What was looked up stays in a near cache while all values are multiplied with
// it; lanes are points, so nothing has to be moved.

#include "lookup_kernel.hpp"

#include "vec.hpp"

namespace PKEX_NAMESPACE {
namespace {

using pkex::Index;
using pkex::LookedUp;

constexpr int kSets = kLanes == 8 ? 6 : 3;  // looked up together:
constexpr int kValues = 4;                  // with so many values the sums that registers hold
constexpr Index kStep = 512;                // points multiplied at once
constexpr Index kLine = 8;                  // doubles

// For loops that look up: processors whose vector instructions for that must not reveal what others
// looked up (Downfall) run these several times slower than plain loads.
#if defined(__GNUC__) && !defined(__clang__)
#define PKEX_SCALAR __attribute__((optimize("no-tree-vectorize"), noinline))
#else
#define PKEX_SCALAR inline
#endif

#if defined(__GNUC__)
PKEX_INLINE void fetch(const double* from) { __builtin_prefetch(from); }
#else
PKEX_INLINE void fetch(const double*) {}
#endif

Index rounded_up(Index count, Index size) { return (count + size - 1) / size * size; }

// Looks up the entries of a row of the matrix, and asks for those of the next one.
PKEX_SCALAR void look_up(const double* row, const double* next, Index size,
                         const std::int32_t* columns, Index points, double* to) {
    const Index steps = (points + kLine - 1) / kLine;
    const Index lines = (size / kLine + steps) / steps;  // to fetch in each step
    for (Index begin = 0; begin < points; begin += kLine) {
        for (Index line = 0; line < lines; ++line, next += kLine) fetch(next);
        const Index end = begin + kLine < points ? begin + kLine : points;
        for (Index p = begin; p < end; ++p) to[p] = row[columns[p]];
    }
}

// Values and weights of some points, a multiple of the lanes; how far values and sets are apart.
struct Operands {
    const double* values;
    Index value;
    const double* weights;
    Index set;
    Index points;

    Operands from(Index k) const { return {values, value, weights + k * set, set, points}; }
};

// sums[i, k] += sum over points of values[v + i, p] weights[k, p]
template <int Values, int Sets>
PKEX_INLINE void multiply(const Operands& of, Index v, double* sums, Index stride) {
    Vec sum[Values][Sets];
    for (int i = 0; i < Values; ++i) {
        for (int k = 0; k < Sets; ++k) sum[i][k] = splat(0.0);
    }
    const double* values = of.values + v * of.value;
    for (Index p = 0; p < of.points; p += kLanes) {
        Vec w[Sets];
        for (int k = 0; k < Sets; ++k) w[k] = load(of.weights + k * of.set + p);
        for (int i = 0; i < Values; ++i) {
            const Vec factor = load(values + i * of.value + p);
            for (int k = 0; k < Sets; ++k) sum[i][k] += factor * w[k];
        }
    }
    for (int i = 0; i < Values; ++i) {
        for (int k = 0; k < Sets; ++k) sums[(v + i) * stride + k] += sum_of_lanes(sum[i][k]);
    }
}

template <int Sets>
void multiply_all(const Operands& of, Index n_values, double* sums, Index stride) {
    Index v = 0;
    for (; v + kValues <= n_values; v += kValues) multiply<kValues, Sets>(of, v, sums, stride);
    for (; v < n_values; ++v) multiply<1, Sets>(of, v, sums, stride);
}

}  // namespace

Index lookup_workspace(const LookedUp& tile) { return kSets * rounded_up(tile.points, kLanes); }

void contract_looked_up(const LookedUp& tile, double* memory) {
    const Index points = tile.points, whole = points / kLanes * kLanes;
    const Index set = rounded_up(points, kLanes), value = tile.rows * points;
    for (Index row = 0; row < tile.rows; ++row) {
        const std::int32_t* left = tile.left + row;
        const auto row_of = [&](Index s) {
            return tile.matrix + Index(left[(s < tile.sets ? s : 0) * tile.left_set]) * tile.size;
        };
        const double* values = tile.values + row * points;
        for (Index first = 0; first < tile.sets; first += kSets) {
            const Index count = tile.sets - first < kSets ? tile.sets - first : kSets;
            for (Index k = 0; k < count; ++k) {
                look_up(row_of(first + k), row_of(first + k + 1), tile.size,
                        tile.right + (first + k) * tile.right_set, points, memory + k * set);
            }
            for (Index begin = 0; begin < whole; begin += kStep) {
                const Index some = whole - begin < kStep ? whole - begin : kStep;
                const Operands of = {values + begin, value, memory + begin, set, some};
                if (count == kSets) {
                    multiply_all<kSets>(of, tile.n_values, tile.sums + first, tile.sets);
                    continue;
                }
                for (Index k = 0; k < count; ++k) {
                    multiply_all<1>(of.from(k), tile.n_values, tile.sums + first + k, tile.sets);
                }
            }
            for (Index p = whole; p < points; ++p) {
                for (Index v = 0; v < tile.n_values; ++v) {
                    for (Index k = 0; k < count; ++k) {
                        tile.sums[v * tile.sets + first + k] +=
                            values[v * value + p] * memory[k * set + p];
                    }
                }
            }
        }
    }
}

}  // namespace PKEX_NAMESPACE
