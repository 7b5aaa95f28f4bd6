// What lookup_kernel.cpp works on, as plain data that the code of every instruction set shares.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pkex {

// sums[v, s] = sum over r and p of values[v, r, p] matrix[left[s, r], right[s, p]]
//
// for many sets s: the values of a tile of pairs, under the weights of permutations of a target.
struct LookedUp {
    const double* matrix;  // (any, size), contiguous
    std::ptrdiff_t size;
    const std::int32_t* left;   // (sets, rows), those of a set contiguous
    const std::int32_t* right;  // (sets, points)
    std::ptrdiff_t left_set, right_set;
    const double* values;  // (n_values, rows, points), contiguous
    std::ptrdiff_t n_values, rows, points, sets;
    double* sums;  // (n_values, sets), contiguous
};

}  // namespace pkex
