// Entries of a matrix looked up for many permutations of its rows and columns.
#pragma once

#include <algorithm>

#include "program.hpp"

namespace pkex {

// Numbers of rows or of columns for each of several sets, those of a set contiguous.
struct Places {
    const std::int64_t* data;
    Index sets, count, stride;

    const std::int64_t* of(Index set) const { return data + set * stride; }

    // Whether all of them are numbers of a matrix of this size.
    bool within(Index size) const {
        std::uint64_t largest = 0;
        for (Index s = 0; s < sets; ++s) {
            for (Index i = 0; i < count; ++i) {
                largest = std::max(largest, std::uint64_t(of(s)[i]));  // that of negative ones is
            }
        }
        return count * sets == 0 || largest < std::uint64_t(size);
    }
};

#if defined(__GNUC__)
inline void fetch(const double* from) { __builtin_prefetch(from); }
#else
inline void fetch(const double*) {}
#endif

// Writes matrix[left[s][r], right[s][p]] to `out` (sets, rows, points); the matrix is contiguous.
//
// A set and a row read one row of the matrix, here and there. The matrix is too large for caches
// near the processor and the next row is anywhere in it, so what takes time is waiting for memory:
// while a row is looked up, the next one is asked for, line by line. Sets are the outer loop, as
// their columns are the same for all rows.
inline void look_up(const double* matrix, Index size, const Places& left, const Places& right,
                    double* out) {
    constexpr Index kLine = 8;  // doubles
    const Index rows = left.count, points = right.count;
    const Index steps = (points + kLine - 1) / kLine;
    const Index lines = steps ? (size / kLine + steps - 1) / steps : 0;  // to fetch in each step
    for (Index s = 0; s < left.sets; ++s) {
        const std::int64_t* columns = right.of(s);
        for (Index r = 0; r < rows; ++r) {
            const double* row = matrix + Index(left.of(s)[r]) * size;
            const bool last = r + 1 == rows;
            const Index after = Index(!last               ? left.of(s)[r + 1]
                                      : s + 1 < left.sets ? left.of(s + 1)[0]
                                                          : 0);
            const double* next = matrix + after * size;
            for (Index begin = 0; begin < points; begin += kLine) {
                for (Index line = 0; line < lines; ++line, next += kLine) fetch(next);
                const Index end = std::min(begin + kLine, points);
                for (Index p = begin; p < end; ++p) out[p] = row[columns[p]];
            }
            out += points;
        }
    }
}

}  // namespace pkex
