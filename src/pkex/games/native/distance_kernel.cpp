// Three distances of the rows of two tables at once, for one instruction set; compiled once for
// each as kernel.cpp is. Lanes are points, whose sums over the columns stay in registers.

#include "distance_kernel.hpp"

#include <cstring>

#include "vec.hpp"

namespace PKEX_NAMESPACE {
namespace {

using pkex::Distances;
using pkex::Index;

constexpr int kVectors = kLanes == 8 ? 6 : 3;  // of points, whose three sums registers hold

// The distances of row r and the points from `begin` on; of a single vector so many are there.
template <int Vectors>
PKEX_INLINE void measure_row(const Distances& of, Index r, Index begin, Index count) {
    Vec sum[3][Vectors];
    for (int k = 0; k < 3; ++k) {
        for (int v = 0; v < Vectors; ++v) sum[k][v] = splat(0.0);
    }
    const double* a = of.scales;
    const double* b = a + of.columns;
    const double* c = b + of.columns;
    for (Index j = 0; j < of.columns; ++j) {
        const double* z = of.z + j * of.z_column + begin;
        const Vec x = splat(of.x[r * of.x_row + j * of.x_column]);
        const Vec first = splat(a[j]), second = splat(b[j]), third = splat(c[j]);
        for (int v = 0; v < Vectors; ++v) {
            const Vec point =
                count == Vectors * kLanes ? load(z + v * kLanes) : load_part(z, int(count));
            const Vec d = x - point, one = first * d, other = third * d;
            sum[0][v] += one * one;
            sum[1][v] += second * absolute(d);
            sum[2][v] += other * other;
        }
    }
    for (int k = 0; k < 3; ++k) {
        double* to = of.to + (k * of.rows + r) * of.points + begin;
        for (int v = 0; v < Vectors; ++v) {
            double lanes[kLanes];
            store(lanes, sum[k][v]);
            const Index here = count - v * kLanes < kLanes ? count - v * kLanes : kLanes;
            std::memcpy(to + v * kLanes, lanes, sizeof(double) * std::size_t(here));
        }
    }
}

}  // namespace

void measure_distances(const Distances& of) {
    constexpr Index kStep = kVectors * kLanes;
    for (Index r = 0; r < of.rows; ++r) {
        Index begin = 0;
        for (; begin + kStep <= of.points; begin += kStep) {
            measure_row<kVectors>(of, r, begin, kStep);
        }
        for (; begin < of.points; begin += kLanes) {
            measure_row<1>(of, r, begin, of.points - begin < kLanes ? of.points - begin : kLanes);
        }
    }
}

}  // namespace PKEX_NAMESPACE
