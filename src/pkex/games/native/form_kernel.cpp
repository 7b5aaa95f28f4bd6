// Quadratic forms of many columns in single precision, for one instruction set; compiled once for
// each as kernel.cpp is.
//
// A matrix product in single precision whose result is multiplied with the columns again, and added
// up in double precision. Lanes are columns.

#include "form_kernel.hpp"

#include "vec.hpp"

namespace PKEX_NAMESPACE {
namespace {

using pkex::FormStrip;
using pkex::Index;

constexpr int kVectors = 3;                 // of columns multiplied together, at most,
constexpr int kRows = kLanes == 8 ? 8 : 4;  // and rows: registers hold their sums
constexpr Index kSingles = 2 * kLanes;      // lanes of a vector

// Products added up in single precision: no more than DEPTH of forms.py, which bounds rely on.
constexpr Index kStep = 128;

// Where the loop below is merged into those around it, its sums leave the registers.
#if defined(__GNUC__)
#define PKEX_APART __attribute__((noinline))
#else
#define PKEX_APART
#endif

// sums[c] += sum over some rows i of moved[i, c] sum over points of strip[i, p] panel[p, c]
template <int Vectors>
PKEX_APART void multiply(const float* const* strip, Index points, const float* panel,
                         const float* const* moved, Index columns, double* sums) {
    constexpr Index kPanel = Vectors * kSingles;
    FloatVec sum[kRows][Vectors];
    for (int i = 0; i < kRows; ++i) {
        for (int k = 0; k < Vectors; ++k) sum[i][k] = splat_float(0.0F);
    }
    for (Index p = 0; p < points; ++p) {
        FloatVec other[Vectors];
        for (int k = 0; k < Vectors; ++k) other[k] = load_floats(panel + p * kPanel + k * kSingles);
        for (int i = 0; i < kRows; ++i) {
            const FloatVec weight = splat_float(strip[i][p]);
            for (int k = 0; k < Vectors; ++k) sum[i][k] += weight * other[k];
        }
    }
    for (int i = 0; i < kRows; ++i) {
        float row[kPanel];
        for (int k = 0; k < Vectors; ++k) store_floats(row + k * kSingles, sum[i][k]);
        for (Index c = 0; moved[i] && c < columns; ++c) sums[c] += double(moved[i][c]) * row[c];
    }
}

// Adds what the columns from `first` on have.
template <int Vectors>
void add_columns(const FormStrip& of, Index first, Index columns) {
    constexpr Index kPanel = Vectors * kSingles;
    alignas(64) float panel[kStep * kPanel];
    for (Index begin = 0; begin < of.points; begin += kStep) {
        const Index points = of.points - begin < kStep ? of.points - begin : kStep;
        for (Index p = 0; p < points; ++p) {
            const float* from = of.moved + (begin + p) * of.columns + first;
            float* to = panel + p * kPanel;
            for (Index c = 0; c < kPanel; ++c) to[c] = c < columns ? from[c] : 0.0F;
        }
        for (Index row = 0; row < of.rows; row += kRows) {
            const float* strip[kRows];
            const float* moved[kRows];
            for (int i = 0; i < kRows; ++i) {  // of missing ones the last stands there again
                const bool is_there = row + i < of.rows;
                strip[i] = of.strip + (is_there ? row + i : of.rows - 1) * of.points + begin;
                moved[i] = is_there ? of.moved + (row + i) * of.columns + first : nullptr;
            }
            multiply<Vectors>(strip, points, panel, moved, columns, of.sums + first);
        }
    }
}

}  // namespace

void add_form(const FormStrip& of) {
    Index vectors = (of.columns + kSingles - 1) / kSingles;  // still to do
    for (Index first = 0; first < of.columns;) {
        const Index panels = (vectors + kVectors - 1) / kVectors;
        const Index some = (vectors + panels - 1) / panels;  // panels about as wide as each other
        const Index left = of.columns - first, width = some * kSingles;
        const Index columns = left < width ? left : width;
        if (some == 3) {
            add_columns<3>(of, first, columns);
        } else if (some == 2) {
            add_columns<2>(of, first, columns);
        } else {
            add_columns<1>(of, first, columns);
        }
        first += columns;
        vectors -= some;
    }
}

}  // namespace PKEX_NAMESPACE
