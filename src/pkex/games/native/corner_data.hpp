// What corner_kernel.cpp works on, as plain data that the code of every instruction set shares.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pkex {

// A cell is a row of `rows`, which names two points, with a pair of background rows. Its corners
// are the deficits of the factors of each player with both at the points, one, the other and none:
//
//     both[j, n],  one = beside[j, left[n], second[m]],  other = beside[j, right[n], first[m]],
//     none[j, m]
struct Cells {
    std::ptrdiff_t players, rows, pairs;
    std::ptrdiff_t points, others;       // of `beside`: others are background rows
    const double* both;                  // (players, rows), all arrays contiguous
    const double* beside;                // (players, points, others)
    const double* none;                  // (players, pairs)
    const std::int64_t *left, *right;    // (rows,)
    const std::int64_t *first, *second;  // (pairs,)
};

// Of each row the largest lam of all of its cells, and its largest and smallest deficit. Some of
// the sums are of one background row alone: `firsts` and `seconds` have those that there are, once.
struct CellExtents {
    Cells cells;
    const std::int64_t *firsts, *seconds;
    std::ptrdiff_t n_firsts, n_seconds;
    double* to;  // (3, rows)
};

constexpr std::ptrdiff_t kPaddedNodes = 8;  // the nodes of a square are a multiple of these

// Products of factors at the nodes of a square, where a factor is 1 minus the corners times `at`
// and its derivatives are minus the corners times `in_t` and `in_s`.
struct CellSquare {
    Cells cells;
    const double* square;  // at (4, nodes), in_t, in_s, weights (nodes,); those of padding are 0
    std::ptrdiff_t nodes;
    const double* shares;  // (pairs,)
    double* sums;          // (rows, players)
    double* matrices;      // (rows, players, players)
};

}  // namespace pkex
