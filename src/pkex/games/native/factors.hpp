// The deficits of the players, evaluated from the data: the one part that looks at every column.
//
// Each kind of column kernel is a small class with the formula, compiled into a loop of its own.
// What is stored is half of the deficit, v = (1 - k) / 2, because the sweep works with polynomials
// in 2t. The factors of a player with several columns are joined by
//
//     u <- u + w (1 - u),    in halves    v <- v + w' (1 - 2 v),
//
// which keeps the digits of small deficits. Kinds that are exponentials, k = exp(-s), also tell
// their exponent s; those of a player add up. The general game needs the factors themselves as
// well, with the digits of small ones: `both`.
#pragma once

#include "math.hpp"
#include "program.hpp"

namespace PKEX_NAMESPACE {

using pkex::Block;
using pkex::Factor;
using pkex::Index;
using pkex::Kind;
using pkex::Program;
using pkex::Run;

// d (d a) rather than (d d) a: no intermediate overflows or underflows unless the result does.
PKEX_INLINE Vec scaled_square(Vec d, double a) { return d * (d * a); }

struct None {
    explicit None(const Factor&) {}
    PKEX_INLINE Vec exponent(Vec, Vec) const { return splat(0.0); }
    PKEX_INLINE Vec operator()(Vec, Vec) const { return splat(0.0); }
    PKEX_INLINE Both both(Vec, Vec) const { return {splat(0.0), splat(1.0)}; }
};

struct Rbf {
    double a;
    explicit Rbf(const Factor& factor) : a(factor.a) {}
    PKEX_INLINE Vec exponent(Vec x, Vec z) const { return scaled_square(x - z, a); }
    PKEX_INLINE Vec operator()(Vec x, Vec z) const { return half_deficit(exponent(x, z)); }
    PKEX_INLINE Both both(Vec x, Vec z) const { return both_of_exponential(exponent(x, z)); }
};

struct Laplacian {
    double a;
    explicit Laplacian(const Factor& factor) : a(factor.a) {}
    PKEX_INLINE Vec exponent(Vec x, Vec z) const { return absolute(x - z) * a; }
    PKEX_INLINE Vec operator()(Vec x, Vec z) const { return half_deficit(exponent(x, z)); }
    PKEX_INLINE Both both(Vec x, Vec z) const { return both_of_exponential(exponent(x, z)); }
};

struct Cauchy {
    double a;
    explicit Cauchy(const Factor& factor) : a(factor.a) {}
    PKEX_INLINE Vec operator()(Vec x, Vec z) const {
        const Vec s = at_most(scaled_square(x - z, a), 1e300);  // inf / inf would be NaN
        return 0.5 * (s / (1.0 + s));
    }
    PKEX_INLINE Both both(Vec x, Vec z) const {
        const Vec s = scaled_square(x - z, a), value = 1.0 / (1.0 + s);
        return {select(s < 1.0, 0.5 * (s * value), 0.5 - 0.5 * value), value};
    }
};

constexpr double kInverseFactorials[] = {// 1/19! to 1/3!
                                         1.0 / 121645100408832000.0,
                                         1.0 / 6402373705728000.0,
                                         1.0 / 355687428096000.0,
                                         1.0 / 20922789888000.0,
                                         1.0 / 1307674368000.0,
                                         1.0 / 87178291200.0,
                                         1.0 / 6227020800.0,
                                         1.0 / 479001600.0,
                                         1.0 / 39916800.0,
                                         1.0 / 3628800.0,
                                         1.0 / 362880.0,
                                         1.0 / 40320.0,
                                         1.0 / 5040.0,
                                         1.0 / 720.0,
                                         1.0 / 120.0,
                                         1.0 / 24.0,
                                         1.0 / 6.0};

// With r = a |x - z| the deficit is 1 - (1 + r + c r^2) exp(-r), c = 0 or 1/3. Below r = 1 it is
// exp(-r) (exp(r) - 1 - r - c r^2) with the leading powers cancelled by hand, a series of positive
// terms.
template <bool Smoother>
struct Matern {
    double a;
    explicit Matern(const Factor& factor) : a(factor.a) {}
    PKEX_INLINE Vec operator()(Vec x, Vec z) const { return both(x, z).half; }
    PKEX_INLINE Both both(Vec x, Vec z) const {
        const Vec r = at_most(absolute(x - z) * a, 1000.0);  // inf * 0 would be NaN
        const Vec decay = exponential(-r);
        const Vec polynomial = Smoother ? 1.0 + r * (1.0 + r * (1.0 / 3.0)) : 1.0 + r;
        const Vec value = polynomial * decay;
        const Vec far = 0.5 - 0.5 * value;
        Vec series = splat(0.0);
        for (double coefficient : kInverseFactorials) series = series * r + coefficient;
        const Vec near = (0.5 * decay) * (r * r) * ((Smoother ? 1.0 / 6.0 : 0.5) + r * series);
        return {select(r < 1.0, near, far), value};
    }
};

struct Chi2 {
    double half;
    explicit Chi2(const Factor& factor) : half(0.5 * factor.a) {}
    PKEX_INLINE Vec exponent(Vec x, Vec z) const {
        const Vec difference = x - z, mean = 0.5 * x + 0.5 * z;  // x + z could overflow
        const Vec ratio = select(mean > 0.0, difference / mean, splat(0.0));
        return half * (difference * ratio);
    }
    PKEX_INLINE Vec operator()(Vec x, Vec z) const { return half_deficit(exponent(x, z)); }
    PKEX_INLINE Both both(Vec x, Vec z) const { return both_of_exponential(exponent(x, z)); }
};

struct Periodic {
    double a, period;
    explicit Periodic(const Factor& factor) : a(factor.a), period(factor.b) {}
    PKEX_INLINE Vec exponent(Vec x, Vec z) const {
        const Vec cycles = absolute(x - z) / period;
        return scaled_square(sine_of_pi(absolute(cycles - nearest(cycles))), a);
    }
    PKEX_INLINE Vec operator()(Vec x, Vec z) const { return half_deficit(exponent(x, z)); }
    PKEX_INLINE Both both(Vec x, Vec z) const { return both_of_exponential(exponent(x, z)); }
};

struct Categorical {
    double half, other, mismatch;
    explicit Categorical(const Factor& factor)
        : half(0.5 * factor.a), other(factor.b), mismatch(factor.c) {}
    PKEX_INLINE Vec exponent(Vec x, Vec z) const {
        return select(x == z, splat(0.0), splat(other));
    }
    PKEX_INLINE Vec operator()(Vec x, Vec z) const {
        return select(x == z, splat(0.0), splat(half));
    }
    PKEX_INLINE Both both(Vec x, Vec z) const {
        return {(*this)(x, z), select(x == z, splat(1.0), splat(mismatch))};
    }
};

using Matern15 = Matern<false>;
using Matern25 = Matern<true>;

// A formula as an argument, and whether it tells its exponent.
template <class KernelOfColumn, bool Exponential>
struct Formula {
    using Kernel = KernelOfColumn;
    static constexpr bool kExponential = Exponential;
};

// Call `function` with the formula of a kind; with none where the caller has evaluated the factors.
template <class Function>
PKEX_INLINE void with_formula(Kind kind, const Function& function) {
    switch (kind) {
        case Kind::kNone: return function(Formula<None, true>{});
        case Kind::kGiven: return;
#define PKEX_ROW(formula, name, exponential) \
    case Kind::k##formula: return function(Formula<formula, exponential>{});
            PKEX_KERNELS(PKEX_ROW)
#undef PKEX_ROW
    }
}

// Where a tile of points stands in the block: `count` points from `point` on, of row `row`.
struct Tile {
    Index row, point;
    int count;
};

// What is evaluated for a factor, how the factors of a player are joined, and where they go.
struct HalfDeficits {
    static constexpr bool kBounded = true, kBoth = false;
    using Plain = HalfDeficits;  // for the kinds without exponents
    using Value = Vec;
    using Place = Vec*;
    template <class Kernel>
    PKEX_INLINE static Vec of(const Kernel& kernel, Vec x, Vec z) {
        return kernel(x, z);
    }
    PKEX_INLINE static Vec join(Vec v, Vec w) { return v + w * (1.0 - 2.0 * v); }
    PKEX_INLINE static Vec read(Place from, Index i) { return from[i]; }
    PKEX_INLINE static void write(Place to, Index i, Vec value) { to[i] = value; }
};

struct Exponents {
    static constexpr bool kBounded = false, kBoth = false;
    using Plain = HalfDeficits;
    using Value = Vec;
    using Place = Vec*;
    template <class Kernel>
    PKEX_INLINE static Vec of(const Kernel& kernel, Vec x, Vec z) {
        return kernel.exponent(x, z);
    }
    PKEX_INLINE static Vec join(Vec v, Vec w) { return v + w; }
    PKEX_INLINE static Vec read(Place from, Index i) { return from[i]; }
    PKEX_INLINE static void write(Place to, Index i, Vec value) { to[i] = value; }
};

struct BothForms {
    static constexpr bool kBounded = true, kBoth = true;
    using Plain = BothForms;
    using Value = Both;
    struct Place {
        Vec* halves;
        Vec* values;
    };
    template <class Kernel>
    PKEX_INLINE static Both of(const Kernel& kernel, Vec x, Vec z) {
        return kernel.both(x, z);
    }
    PKEX_INLINE static Both join(Both left, Both right) {
        return {HalfDeficits::join(left.half, right.half), left.value * right.value};
    }
    PKEX_INLINE static Both read(Place from, Index i) { return {from.halves[i], from.values[i]}; }
    PKEX_INLINE static void write(Place to, Index i, Both both) {
        to.halves[i] = both.half;
        to.values[i] = both.value;
    }
};

// One of two types; std::conditional_t without the standard library.
template <bool First, class Left, class Right>
struct Select {
    using Type = Left;
};
template <class Left, class Right>
struct Select<false, Left, Right> {
    using Type = Right;
};

// Evaluate the factors of a run for `Size` vectors of points. What belongs to one vector of points
// is contiguous over the players; `stride` is their padded number. Return the largest values there
// are, unless that is of no interest.
template <class Form, class Kernel, int Size, bool Part>
Vec evaluate_run(const Factor* factor, const Factor* end, const double* x, const double* columns,
                 Index column_stride, int count, typename Form::Place to, Index stride) {
    Vec most = splat(0.0);
    for (; factor != end; ++factor, ++x) {
        const Kernel kernel(*factor);
        const double* column = columns + factor->column * column_stride;
        const Vec left = splat(*x);
        typename Form::Value value[Size];
        for (int i = 0; i < Size; ++i) {
            const double* right = column + i * kLanes;
            value[i] = Form::of(kernel, left, Part ? load_part(right, count) : load(right));
        }
        const Index at = factor->player;
        for (int i = 0; i < Size; ++i) {
            if (!factor->first) value[i] = Form::join(Form::read(to, at + i * stride), value[i]);
            Form::write(to, at + i * stride, value[i]);
            if constexpr (!Form::kBounded) most = larger(value[i], most);
        }
    }
    return most;
}

// The same for factors that the caller has evaluated; `given_values` are null where only deficits
// are needed.
template <class Form, int Size, bool Part>
void take_run(const Factor* factor, const Factor* end, const double* deficits,
              const double* given_values, Index column_stride, int count, typename Form::Place to,
              Index stride) {
    for (; factor != end; ++factor) {
        for (int i = 0; i < Size; ++i) {
            const auto read = [&](const double* from) {
                from += factor->column * column_stride + i * kLanes;
                return Part ? load_part(from, count) : load(from);
            };
            typename Form::Value value;
            if constexpr (Form::kBoth) {
                value = {0.5 * read(deficits), read(given_values)};
            } else {
                value = 0.5 * read(deficits);
            }
            const Index at = factor->player + i * stride;
            if (!factor->first) value = Form::join(Form::read(to, at), value);
            Form::write(to, at, value);
        }
    }
}

template <class Form, int Size, bool Part>
Vec evaluate_tile(const Program& program, const Block& block, Tile tile, const double* x,
                  typename Form::Place to, Index stride) {
    Vec most = splat(0.0);
    for (Index i = 0; i < program.n_runs; ++i) {
        const Run& run = program.runs[i];
        const Factor* begin = program.factors + run.begin;
        const Factor* end = program.factors + run.end;
        if (run.kind == Kind::kGiven) {
            const Index at = tile.row * block.points + tile.point;
            take_run<typename Form::Plain, Size, Part>(
                begin, end, block.given + at,
                block.given_values ? block.given_values + at : nullptr, block.rows * block.points,
                tile.count, to, stride);
        }
        with_formula(run.kind, [&](auto formula) {
            using Taken = decltype(formula);
            using Kernel = typename Taken::Kernel;
            using Told = typename Select<Taken::kExponential, Form, typename Form::Plain>::Type;
            most = larger(evaluate_run<Told, Kernel, Size, Part>(
                              begin, end, x + run.begin, block.z + tile.point, block.z_column,
                              tile.count, to, stride),
                          most);
        });
    }
    return most;
}

}  // namespace PKEX_NAMESPACE
