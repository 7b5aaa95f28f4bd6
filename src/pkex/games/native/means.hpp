// Weighted means of factors over rows, where every player has one column: a factor's sums over all
// rows stay in registers, and nothing but the results is written.
#pragma once

#include "factors.hpp"

namespace PKEX_NAMESPACE {

using pkex::Evaluated;

constexpr int kMeanTile = kLanes == 8 ? 4 : 2;  // vectors of points, as many as fit the registers

// The points from `point` on: `Size` vectors, or with `Part` the first `count` lanes of one.
template <class Kernel, int Size, bool Part>
void mean_of_run(const Factor* factor, const Factor* end, const Block& block, const Evaluated& to,
                 Index point, int count) {
    for (; factor != end; ++factor) {
        const Kernel kernel(*factor);
        const double* column = block.z + factor->column * block.z_column + point;
        const double* x = block.x + factor->column * block.x_column;
        Vec z[Size], values[Size], halves[Size];
        for (int i = 0; i < Size; ++i) {
            z[i] = Part ? load_part(column, count) : load(column + i * kLanes);
            values[i] = halves[i] = splat(0.0);
        }
        for (Index row = 0; row < block.rows; ++row, x += block.x_row) {
            const Vec left = splat(*x), share = splat(to.shares[row]);
            for (int i = 0; i < Size; ++i) {
                const Both both = kernel.both(left, z[i]);
                values[i] += share * both.value;
                halves[i] += share * both.half;
            }
        }
        const Index at = factor->player * block.points + point;
        for (int i = 0; i < Size; ++i) {
            double lanes[2][kLanes];
            store(lanes[0], values[i]);
            store(lanes[1], 2.0 * halves[i]);
            for (int k = 0; k < (Part ? count : kLanes); ++k) {
                to.values[at + i * kLanes + k] += lanes[0][k];
                to.deficits[at + i * kLanes + k] += lanes[1][k];
            }
        }
    }
}

template <class Kernel>
void means_of_run(const Factor* begin, const Factor* end, const Block& block, const Evaluated& to) {
    Index point = 0;
    for (; point + kMeanTile * kLanes <= block.points; point += kMeanTile * kLanes) {
        mean_of_run<Kernel, kMeanTile, false>(begin, end, block, to, point, kLanes);
    }
    for (; point + kLanes <= block.points; point += kLanes) {
        mean_of_run<Kernel, 1, false>(begin, end, block, to, point, kLanes);
    }
    if (point < block.points) {
        mean_of_run<Kernel, 1, true>(begin, end, block, to, point, int(block.points - point));
    }
}

// Whether every player has a single factor, none of them evaluated by the caller.
inline bool has_plain_players(const Program& program) {
    bool plain = program.n_factors == program.n_players;
    for (Index i = 0; i < program.n_runs; ++i) plain &= program.runs[i].kind != Kind::kGiven;
    return plain;
}

inline void add_means(const Program& program, const Block& block, const Evaluated& to) {
    for (Index i = 0; i < program.n_runs; ++i) {
        const Run& run = program.runs[i];
        with_formula(run.kind, [&](auto formula) {
            means_of_run<typename decltype(formula)::Kernel>(program.factors + run.begin,
                                                             program.factors + run.end, block, to);
        });
    }
}

}  // namespace PKEX_NAMESPACE
