// What the loops of conditional games take: see conditional_blocks.py and conditional_chain.py.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pkex {

// The sums of one row. Blocks come one after the other; coalition T of a block of m players has the
// number sum 2^i over i in T.
struct ConditionalSums {
    std::ptrdiff_t points, nodes, sets;
    const double* t;        // nodes
    const double* u;        // their weights
    const double* weights;  // (points, sets)
    double* values;         // (players, sets)
    double* totals;         // (sets,)
    double* magnitudes;     // (sets,)
};

struct ConditionalBlocks {
    ConditionalSums sums;
    std::ptrdiff_t blocks, players;  // the players of all blocks
    const std::int64_t* sizes;       // players of each block
    const std::int64_t* widths;  // columns of a Gaussian block; 0 for one whose worths are given
    const double* z;             // columns of the Gaussian blocks (columns, points)
    const double* means;         // for each of these (2^size, width)
    const double* factors;       // (2^size, width, width), lower triangles
    const double* shares;        // (2^size,)
    const double* worths;        // of the others (2^size, points)
};

struct ConditionalChain {
    ConditionalSums sums;
    std::ptrdiff_t players;
    const double* z;       // (players, points)
    const double* x;       // (players,)
    const double* scales;  // roots of the precisions of the kernel
    const double* slopes;
    const double* gaps;  // gain, price, final, prior and share: (5, players + 1, players + 2)
};

}  // namespace pkex
