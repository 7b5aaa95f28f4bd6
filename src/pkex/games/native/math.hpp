// The elementary functions of the kernels, in vectors, each within 2 ulp of the true value.
//
// Arguments y <= 0 are reduced to y = k ln 2 + r with |r| <= ln(2)/2, where
//
//     exp(r) - 1 = r + r^2 P(r)
//
// with P the minimax polynomial of degree 9, and come back as 2^k + 2^k (exp(r) - 1). For k = 0
// nothing is added, so that exp(y) - 1 keeps its relative accuracy down to the smallest y.
#pragma once

#include "vec.hpp"

namespace PKEX_NAMESPACE {

constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
constexpr double kLog2e = 1.4426950408889634;
constexpr double kLn2High = 6.93147180369123816490e-01;  // short, so that k * kLn2High is exact
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kPi = 3.141592653589793;
constexpr double kPiLow = 1.2246467991473532e-16;

struct Reduced {
    Vec shifted;  // k + kShift: the low bits of the representation are those of k
    Vec expm1;    // exp(r) - 1
};

// 2^(k + offset) for the k in the low bits of `shifted`; the result must be a normal number.
PKEX_INLINE Vec power_of_two(Vec shifted, int offset) {
    return from_bits((bits(shifted) << 52) + (std::int64_t(1023 + offset) << 52));
}

PKEX_INLINE Reduced reduce(Vec y) {
    const Vec shifted = y * kLog2e + kShift;
    const Vec k = shifted - kShift;
    const Vec r = (y - k * kLn2High) - k * kLn2Low;
    const Vec q = r * r;
    Vec even = q * 2.762070663170008e-07 + 2.480151998962507e-05;
    Vec odd = q * 2.5110617538275643e-08 + 2.7557240823198346e-06;
    even = even * q + 1.3888888918058833e-03;
    odd = odd * q + 1.9841269887935705e-04;
    even = even * q + 4.166666666662243e-02;
    odd = odd * q + 8.333333333321764e-03;
    even = even * q + 0.5;
    odd = odd * q + 1.6666666666666674e-01;
    return {shifted, (odd * r + even) * q + r};
}

// (1 - exp(-s)) / 2 for s >= 0, which beyond s = 64 is 1/2.
PKEX_INLINE Vec half_deficit(Vec s) {
    const Reduced reduced = reduce(-at_most(s, 64.0));
    const Vec half_power = power_of_two(reduced.shifted, -1);
    return (0.5 - half_power) - half_power * reduced.expm1;
}

// A factor k in two forms, each with all its digits.
struct Both {
    Vec half;   // (1 - k) / 2
    Vec value;  // k
};

// Both forms of exp(-s) for s >= 0, which beyond s = 708, the last normal number, is 0.
PKEX_INLINE Both both_of_exponential(Vec s) {
    const Reduced reduced = reduce(-at_most(s, 708.0));
    const Vec half_power = power_of_two(reduced.shifted, -1);
    const Vec part = half_power * reduced.expm1;
    const Vec half_value = half_power + part;
    return {(0.5 - half_power) - part, select(s > 708.0, splat(0.0), half_value + half_value)};
}

// exp(y) for -700 <= y <= 0, where it is a normal number.
PKEX_INLINE Vec normal_exponential(Vec y) {
    const Reduced reduced = reduce(y);
    const Vec power = power_of_two(reduced.shifted, 0);
    return power + power * reduced.expm1;
}

// exp(y) for y <= 0, in two steps of scaling so that subnormal results are rounded once.
PKEX_INLINE Vec exponential(Vec y) {
    const Reduced reduced = reduce(-at_most(-y, 750.0));
    const Vec k = reduced.shifted - kShift;
    const Vec half = k * 0.5 + kShift;
    const Vec rest = (k - (half - kShift)) + kShift;
    return ((1.0 + reduced.expm1) * power_of_two(half, 0)) * power_of_two(rest, 0);
}

// sin(pi r) for 0 <= r <= 1/2: up to 1/4 the series of the sine, then that of the cosine of
// pi (1/2 - r), so that the leading term outweighs the rest.
PKEX_INLINE Vec sine_of_pi(Vec r) {
    const Vec q = r * r, h = 0.5 - r, p = h * h;
    Vec sine = q * 0.00046221148704757515 + -0.007370143703712082;
    sine = sine * q + 0.08214587730970328;
    sine = sine * q + -0.5992645291846119;
    sine = sine * q + 2.5501640398766163;
    sine = sine * q + -5.167712780049969;
    sine = r * kPi + r * (sine * q + kPiLow);
    Vec cosine = p * -0.00010370089684438225 + 0.0019294938874819983;
    cosine = cosine * p + -0.02580688796558691;
    cosine = cosine * p + 0.2353306302840209;
    cosine = cosine * p + -1.33526276885381;
    cosine = cosine * p + 4.058712126416765;
    cosine = cosine * p + -4.934802200544679;
    return select(r < 0.25, sine, cosine * p + 1.0);
}

// The nearest integer of a value >= 0; from 2^52 on every double is one.
PKEX_INLINE Vec nearest(Vec value) {
    constexpr double kFirst = 4503599627370496.0;
    return select(value < kFirst, (value + kFirst) - kFirst, value);
}

}  // namespace PKEX_NAMESPACE
