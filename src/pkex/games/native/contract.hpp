// Many weight sets: the pair values of a tile of points, contracted with the weights.
//
//     sums[row, set] += sum over the points of the tile of values[row, point] * weights[point, set]
//
// a small matrix product; four rows and two vectors of sets are held in registers at a time.
#pragma once

#include "program.hpp"
#include "vec.hpp"

namespace PKEX_NAMESPACE {

using pkex::Index;

template <int Width>
void contract_four(const double* values, Index stride, Index points, const double* weights,
                   double* sums, Index sets) {
    Vec sum[4][Width];
    for (int i = 0; i < 4; ++i) {
        for (int k = 0; k < Width; ++k) sum[i][k] = load(sums + i * sets + k * kLanes);
    }
    for (Index point = 0; point < points; ++point) {
        Vec w[Width];
        for (int k = 0; k < Width; ++k) w[k] = load(weights + point * sets + k * kLanes);
        for (int i = 0; i < 4; ++i) {
            const Vec value = splat(values[i * stride + point]);
            for (int k = 0; k < Width; ++k) sum[i][k] += value * w[k];
        }
    }
    for (int i = 0; i < 4; ++i) {
        for (int k = 0; k < Width; ++k) store(sums + i * sets + k * kLanes, sum[i][k]);
    }
}

// `rows` is a multiple of 4, `sets` of the number of lanes; `stride` parts the rows of the values.
inline void contract(const double* values, Index rows, Index stride, Index points,
                     const double* weights, double* sums, Index sets) {
    for (Index row = 0; row < rows; row += 4) {
        const double* from = values + row * stride;
        double* to = sums + row * sets;
        Index set = 0;
        for (; set + 2 * kLanes <= sets; set += 2 * kLanes) {
            contract_four<2>(from, stride, points, weights + set, to + set, sets);
        }
        if (set < sets) contract_four<1>(from, stride, points, weights + set, to + set, sets);
    }
}

}  // namespace PKEX_NAMESPACE
