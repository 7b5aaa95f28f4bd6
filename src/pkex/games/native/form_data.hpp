// What form_kernel.cpp works on, as plain data that the code of every instruction set shares.
#pragma once

#include <cstddef>

namespace pkex {

// sums[c] += sum over i < rows and p < points of strip[i, p] moved[i, c] moved[p, c]
//
// The strip has the entries of some rows of a matrix, from the first of these rows on.
struct FormStrip {
    const float* strip;  // (rows, points), contiguous
    std::ptrdiff_t rows, points;
    const float* moved;  // (points, columns), contiguous
    std::ptrdiff_t columns;
    double* sums;  // (columns)
};

}  // namespace pkex
