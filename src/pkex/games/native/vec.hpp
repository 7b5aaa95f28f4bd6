// A vector of doubles, one lane per pair of points.
//
// GCC and Clang give their vector types the arithmetic operators, so that a formula reads the same
// for two, four or eight lanes; vec_portable.hpp has the same names for other compilers. Everything
// stands in the namespace PKEX_NAMESPACE, which is another one for each instruction set the sources
// are compiled for, and nothing from the standard library is instantiated here: a template compiled
// for a newer processor must not end up in code that older ones run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

// For what must be merged into the loop that calls it.
#if defined(__GNUC__)
#define PKEX_INLINE __attribute__((always_inline)) inline
#else
#define PKEX_INLINE __forceinline
#endif

#if !defined(__GNUC__) || defined(PKEX_PORTABLE)
#include "vec_portable.hpp"
#else

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace PKEX_NAMESPACE {

#if defined(__AVX512F__)
constexpr int kLanes = 8;
#elif defined(__AVX__)
constexpr int kLanes = 4;
#else
constexpr int kLanes = 2;
#endif

typedef double Vec __attribute__((vector_size(8 * kLanes)));
typedef std::int64_t Bits __attribute__((vector_size(8 * kLanes)));

// The value in all lanes: value - 0 is the value for every double, which value + 0 is not for -0.
inline Vec splat(double value) { return value - Vec{}; }

inline Vec load(const double* from) {
    Vec value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// Load `count` doubles; the remaining lanes repeat the last one, so that they are as harmless.
inline Vec load_part(const double* from, int count) {
#if defined(__AVX512F__)
    return (Vec)_mm512_mask_loadu_pd((__m512d)splat(from[count - 1]), __mmask8((1 << count) - 1),
                                     from);
#else
    double lanes[kLanes];
    for (int i = 0; i < kLanes; ++i) lanes[i] = from[i < count ? i : count - 1];
    return load(lanes);
#endif
}

inline void store(double* to, Vec value) { std::memcpy(to, &value, sizeof value); }

inline double lane(Vec value, int index) { return value[index]; }

// A vector of as many bytes with numbers of single precision.
typedef float FloatVec __attribute__((vector_size(8 * kLanes)));

inline FloatVec splat_float(float value) { return value - FloatVec{}; }

inline FloatVec load_floats(const float* from) {
    FloatVec value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

inline void store_floats(float* to, FloatVec value) { std::memcpy(to, &value, sizeof value); }

inline Bits bits(Vec value) { return (Bits)value; }
inline Vec from_bits(Bits value) { return (Vec)value; }

inline Vec select(Bits mask, Vec yes, Vec no) { return mask ? yes : no; }

// Whether a lane of the mask is set.
inline bool any(Bits mask) {
#if defined(__AVX512F__)
    return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#else
    std::int64_t found = 0;
    for (int i = 0; i < kLanes; ++i) found |= mask[i];
    return found != 0;
#endif
}

inline Vec absolute(Vec value) { return (Vec)((Bits)value & INT64_MAX); }

// limit where value is above it, value elsewhere: a NaN stays, as the instructions return their
// second operand where one is NaN.
inline Vec at_most(Vec value, double limit) {
#if defined(__AVX512F__)
    return (Vec)_mm512_min_pd((__m512d)splat(limit), (__m512d)value);
#elif defined(__AVX__)
    return (Vec)_mm256_min_pd((__m256d)splat(limit), (__m256d)value);
#else
    return value > limit ? splat(limit) : value;
#endif
}

// The larger one of each lane; a lane with a NaN may be either.
inline Vec larger(Vec left, Vec right) {
#if defined(__AVX512F__)
    return (Vec)_mm512_max_pd((__m512d)left, (__m512d)right);
#elif defined(__AVX__)
    return (Vec)_mm256_max_pd((__m256d)left, (__m256d)right);
#else
    return left > right ? left : right;
#endif
}

// The smaller one of each lane; a lane with a NaN may be either.
inline Vec smaller(Vec left, Vec right) {
#if defined(__AVX512F__)
    return (Vec)_mm512_min_pd((__m512d)left, (__m512d)right);
#elif defined(__AVX__)
    return (Vec)_mm256_min_pd((__m256d)left, (__m256d)right);
#else
    return left < right ? left : right;
#endif
}

inline Vec root(Vec value) {
#if defined(__AVX512F__)
    return (Vec)_mm512_sqrt_pd((__m512d)value);
#elif defined(__AVX__)
    return (Vec)_mm256_sqrt_pd((__m256d)value);
#else
    for (int i = 0; i < kLanes; ++i) value[i] = __builtin_sqrt(value[i]);
    return value;
#endif
}

// The largest lane, or infinity when a lane is infinite or NaN; no lane is negative.
inline double largest(Vec value) {
#if defined(__AVX512F__)
    const __m512d lanes = (__m512d)value;
    const __m512d infinity = (__m512d)splat(__builtin_inf());
    if (_mm512_cmp_pd_mask(lanes, infinity, _CMP_LT_OQ) != 0xff) return __builtin_inf();
    return _mm512_reduce_max_pd(lanes);
#else
    double most = 0.0;
    for (int i = 0; i < kLanes; ++i) {
        if (!(value[i] < __builtin_inf())) return __builtin_inf();
        if (value[i] > most) most = value[i];
    }
    return most;
#endif
}

// The value, but opaque to the compiler: a product behind it is not fused into the sums it enters.
// Worth it where one product enters two sums and adders are units of their own.
inline Vec unfused(Vec value) {
#if defined(__x86_64__)
    asm("" : "+v"(value));
#endif
    return value;
}

}  // namespace PKEX_NAMESPACE

#endif

namespace PKEX_NAMESPACE {

inline double sum_of_lanes(Vec value) {
    double sum = lane(value, 0);
    for (int i = 1; i < kLanes; ++i) sum += lane(value, i);
    return sum;
}

}  // namespace PKEX_NAMESPACE
