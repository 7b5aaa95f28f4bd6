// What variance_kernel.cpp works on, as plain data that the code of every instruction set shares.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pkex {

// A tile of pairs of atoms. A pair has the factors a = left right where a player is absent, and
// a + c where it is present. Its values are integrals over t of c_j prod_{i != j} (a_i + t c_i): at
// t = 0 and t = 1, and where there are rules by the nodes of one of them.
struct VarianceTile {
    std::ptrdiff_t players, rows, points, sets;
    const double* changes;  // c, shape (players, rows, points), contiguous; or null, where they are
    // products of columns: c_j = sum over r from starts[j] to starts[j + 1] of left[r] right[r]
    const std::int64_t* starts;
    const double* left_columns;  // shape (columns, rows)
    std::ptrdiff_t left_column;
    const double* right_columns;  // shape (columns, points)
    std::ptrdiff_t right_column;
    const double* left;  // of rows, shape (players, rows), rows contiguous; so are the others
    std::ptrdiff_t left_player;
    const double* right;  // of points
    std::ptrdiff_t right_player;
    const double* left_weights;  // shape (sets, rows)
    std::ptrdiff_t left_set;
    const double* right_weights;  // shape (sets, points)
    std::ptrdiff_t right_set;
    std::ptrdiff_t n_rules;     // a pair takes the first one whose limit is not below
    const std::int64_t* sizes;  // the sum of |c| / max(|a|, |a + c|)
    const double* limits;       // of which the last is infinite
    const double* nodes;        // of all rules, one after the other
    const double* shares;       // and their weights
    double* to;                 // (sets, 3 players + 1): values, and products of all a + c
    std::uint8_t* used;         // a flag for each rule
};

}  // namespace pkex
