// What distance_kernel.cpp works on, as plain data that the code of every instruction set shares.
#pragma once

#include <cstddef>

namespace pkex {

// With d = x[r, j] - z[p, j]:
//
// squares[r, p] = sum over j of (a_j d)^2, sums[r, p] = sum of b_j |d|, others[r, p] = sum of
// (c_j d)^2
struct Distances {
    const double* x;
    std::ptrdiff_t x_row, x_column;  // how far rows and columns are apart
    const double* z;                 // points of a column contiguous
    std::ptrdiff_t z_column;
    const double* scales;  // a, b and c, shape (3, columns), contiguous
    std::ptrdiff_t rows, points, columns;
    double* to;  // squares, sums and others, shape (3, rows, points), contiguous
};

}  // namespace pkex
