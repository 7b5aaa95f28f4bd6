// The exponents of ratios: e = s - r for p = exp(-s) and a = exp(-r), of the players of a tile.
//
// Against a row b of a background, what a column has to do with x and z alone is kept for all rows
// (`base`), and what it has to do with x and b alone for all points (`Against`). For two kinds the
// difference has a form of its own, which keeps the digits where x is near b:
//
//     rbf         a (x-z)^2 - a (b-z)^2   = a (b-x) (2 (z-x) - (b-x))
//     laplacian   a |x-z| - a |b-z|       = +-a times 2 (z-x) - (b-x), cut off at |b-x| on both
//     sides
//
// with the sign of b - x. In the first, roundings cost at most 4 units of s + r and 3 of e. The
// others subtract. Where b equals x, e is 0. Against means, r is given.
#pragma once

#include "factors.hpp"
#include "power_sums.hpp"

namespace PKEX_NAMESPACE {

using pkex::kTiledPoints;
static_assert(kTiledPoints % (kSeriesTile * kLanes) == 0, "a tile lies within one of the caller's");

// What a factor needs to know of a background row.
struct Against {
    double first, second;
};

// What is kept of a factor of the row, and its exponent.
struct Base {
    Vec kept, exponent;
};

template <class Kernel>
struct Difference {
    static constexpr bool kReadsPoint = true;
    PKEX_INLINE static Against against(const Kernel&, double, double b) { return {b, 0.0}; }
    PKEX_INLINE static Base base(const Kernel& kernel, Vec x, Vec z) {
        const Vec s = kernel.exponent(x, z);
        return {s, s};
    }
    PKEX_INLINE static Vec of(const Kernel& kernel, const Against& against, Vec kept, Vec z) {
        return kept - kernel.exponent(splat(against.first), z);
    }
};

template <>
struct Difference<Rbf> {
    static constexpr bool kReadsPoint = false;
    PKEX_INLINE static Against against(const Rbf& kernel, double x, double b) {
        return {kernel.a * (b - x), b - x};
    }
    PKEX_INLINE static Base base(const Rbf& kernel, Vec x, Vec z) {
        const Vec d = z - x;
        return {d + d, scaled_square(d, kernel.a)};
    }
    PKEX_INLINE static Vec of(const Rbf&, const Against& against, Vec kept, Vec) {
        return (kept - against.second) * against.first;
    }
};

template <>
struct Difference<Laplacian> {
    static constexpr bool kReadsPoint = false;
    PKEX_INLINE static Against against(const Laplacian& kernel, double x, double b) {
        return {b < x ? -kernel.a : kernel.a, b - x};
    }
    PKEX_INLINE static Base base(const Laplacian& kernel, Vec x, Vec z) {
        const Vec d = z - x;
        return {d + d, absolute(d) * kernel.a};
    }
    PKEX_INLINE static Vec of(const Laplacian&, const Against& against, Vec kept, Vec) {
        const Vec most = absolute(splat(against.second));
        return larger(smaller(kept - against.second, most), -most) * against.first;
    }
};

// Sums over the players of one or several vectors of pairs.
struct SignedSums {
    Vec most = splat(0.0);        // the largest |e|, of all vectors; a NaN may be lost
    Vec sizes[kSeriesTile] = {};  // sums of |e|

    PKEX_INLINE void add(int vector, Vec e) {
        const Vec size = absolute(e);
        most = larger(most, size);
        sizes[vector] += size;
    }
};

// Call `function` with the runs of a program, all of which have exponents, and their formulas.
template <class Function>
PKEX_INLINE void each_run(const Program& program, const Function& function) {
    for (Index i = 0; i < program.n_runs; ++i) {
        with_formula(program.runs[i].kind, [&](auto formula) {
            if constexpr (decltype(formula)::kExponential) function(program.runs[i], formula);
        });
    }
}

// What the `count` background rows from `first` on have to do with a row x: (rows, factors).
inline void meet(const Program& program, const Block& background, Index first, Index count,
                 const double* x, Against* to) {
    each_run(program, [&](const Run& run, auto formula) {
        using Kernel = typename decltype(formula)::Kernel;
        for (Index f = run.begin; f < run.end; ++f) {
            const Factor& factor = program.factors[f];
            const Kernel kernel(factor);
            const double* b = background.x + factor.column * background.x_column;
            for (Index i = 0; i < count; ++i) {
                const double value = b[(first + i) * background.x_row];
                to[i * program.n_factors + f] = Difference<Kernel>::against(kernel, x[f], value);
            }
        }
    });
}

// A tile of points: `Size` vectors, or with `Part` some lanes of one.
template <int Size, bool Part>
struct SignedTile {
    const Program& program;
    const Block& block;
    Tile tile;

    // Keep what the factors have to do with a row, (factors, vectors); sum up their exponents, with
    // what each addition rounds off, as many of them make a number that exp is taken of.
    void keep(const double* x, Vec* bases, Vec* sums) const {
        Vec lost[Size];
        for (int i = 0; i < Size; ++i) sums[i] = lost[i] = splat(0.0);
        each_run(program, [&](const Run& run, auto formula) {
            using Kernel = typename decltype(formula)::Kernel;
            for (Index f = run.begin; f < run.end; ++f) {
                const Kernel kernel(program.factors[f]);
                const Vec left = splat(x[f]);
                for (int i = 0; i < Size; ++i) {
                    const Base base = Difference<Kernel>::base(kernel, left, point(f, i));
                    bases[f * Size + i] = base.kept;
                    const Vec exponent = unfused(base.exponent), sum = sums[i] + exponent;
                    const Vec before = sum - exponent;
                    lost[i] += (sums[i] - before) + (exponent - (sum - before));
                    sums[i] = sum;
                }
            }
        });
        for (int i = 0; i < Size; ++i) sums[i] += lost[i];
    }

    // The signed exponents against a background row.
    SignedSums against(const Against* row, const Vec* bases, Vec* to, Index stride) const {
        const auto go = [&](auto plain) {
            return evaluate<decltype(plain)::value != 0>(
                [&](auto formula, Index f, Vec* e) {
                    using Kernel = typename decltype(formula)::Kernel;
                    using Taken = Difference<Kernel>;
                    const Kernel kernel(program.factors[f]);
                    for (int i = 0; i < Size; ++i) {
                        const Vec z = Taken::kReadsPoint ? point(f, i) : splat(0.0);
                        e[i] = Taken::of(kernel, row[f], bases[f * Size + i], z);
                    }
                },
                to, stride);
        };
        return program.plain ? go(Count<1>{}) : go(Count<0>{});
    }

    // Those against the exponents of means that the caller gave.
    SignedSums against_means(const double* x, Vec* to, Index stride) const {
        const double* means = means_of_tile();
        const auto go = [&](auto plain) {
            constexpr bool kPlain = decltype(plain)::value != 0;
            return evaluate<kPlain>(
                [&](auto formula, Index f, Vec* e) {
                    using Kernel = typename decltype(formula)::Kernel;
                    const Factor& factor = program.factors[f];
                    const Kernel kernel(factor);
                    const Vec left = splat(x[f]);
                    const double* mean = means + factor.player * kTiledPoints;
                    for (int i = 0; i < Size; ++i) {
                        e[i] = kernel.exponent(left, point(f, i));
                        if (kPlain || factor.first) e[i] = e[i] - read(mean, i);
                    }
                },
                to, stride);
        };
        return program.plain ? go(Count<1>{}) : go(Count<0>{});
    }

    // The sums over the players of the exponents of the means.
    void sums_of_means(Vec* to) const {
        const double* sums = means_of_tile() + program.n_players * kTiledPoints;
        for (int i = 0; i < Size; ++i) to[i] = read(sums, i);
    }

private:
    PKEX_INLINE Vec read(const double* from, int vector) const {
        return Part ? load_part(from, tile.count) : load(from + vector * kLanes);
    }

    PKEX_INLINE Vec point(Index f, int vector) const {
        return read(block.z + program.factors[f].column * block.z_column + tile.point, vector);
    }

    // The exponents of the means: those of a player are kTiledPoints behind those of the one
    // before.
    const double* means_of_tile() const {
        return block.absent_exponents + tile.point / kTiledPoints * block.absent_exponents_tile +
               tile.point % kTiledPoints;
    }

    // Let `of` make the exponents of each factor; those of a player add up.
    template <bool Plain, class Of>
    PKEX_INLINE SignedSums evaluate(const Of& of, Vec* to, Index stride) const {
        SignedSums sums;
        each_run(program, [&](const Run& run, auto formula) {
            SignedSums local = sums;
            for (Index f = run.begin; f < run.end; ++f) {
                Vec e[Size];
                of(formula, f, e);
                const Factor& factor = program.factors[f];
                for (int i = 0; i < Size; ++i) {
                    Vec& place = to[i * stride + factor.player];
                    place = Plain || factor.first ? e[i] : place + e[i];
                    if (Plain) local.add(i, e[i]);
                }
            }
            sums = local;
        });
        for (Index j = 0; !Plain && j < program.n_players; ++j) {
            for (int i = 0; i < Size; ++i) sums.add(i, to[i * stride + j]);
        }
        return sums;
    }
};

}  // namespace PKEX_NAMESPACE
