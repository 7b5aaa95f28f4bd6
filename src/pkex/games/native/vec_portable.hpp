// The vector of vec.hpp as an array, for compilers without vector types; loops of fixed length that
// an optimiser may turn into vector instructions.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace PKEX_NAMESPACE {

constexpr int kLanes = 4;

template <class T>
struct Lanes {
    T lane[kLanes];
};

using Vec = Lanes<double>;
using Bits = Lanes<std::int64_t>;

template <class T, class F>
inline Lanes<T> each(F f) {
    Lanes<T> result;
    for (int i = 0; i < kLanes; ++i) result.lane[i] = f(i);
    return result;
}

inline Vec splat(double value) {
    return each<double>([&](int) { return value; });
}

#define PKEX_OPERATOR(op)                                                      \
    inline Vec operator op(const Vec& a, const Vec& b) {                       \
        return each<double>([&](int i) { return a.lane[i] op b.lane[i]; });    \
    }                                                                          \
    inline Vec operator op(double a, const Vec& b) { return splat(a) op b; }   \
    inline Vec operator op(const Vec& a, double b) { return a op splat(b); }   \
    inline Vec& operator op## = (Vec & a, const Vec& b) { return a = a op b; } \
    inline Vec& operator op## = (Vec & a, double b) { return a = a op b; }
PKEX_OPERATOR(+)
PKEX_OPERATOR(-)
PKEX_OPERATOR(*)
PKEX_OPERATOR(/)
#undef PKEX_OPERATOR

inline Vec operator-(const Vec& a) {
    return each<double>([&](int i) { return -a.lane[i]; });
}

#define PKEX_COMPARISON(op)                                                          \
    inline Bits operator op(const Vec& a, const Vec& b) {                            \
        return each<std::int64_t>([&](int i) { return -(a.lane[i] op b.lane[i]); }); \
    }                                                                                \
    inline Bits operator op(const Vec& a, double b) { return a op splat(b); }
PKEX_COMPARISON(<)
PKEX_COMPARISON(>)
PKEX_COMPARISON(==)
#undef PKEX_COMPARISON

inline Bits operator<<(const Bits& a, int count) {
    return each<std::int64_t>(
        [&](int i) { return std::int64_t(std::uint64_t(a.lane[i]) << count); });
}

inline Bits operator+(const Bits& a, std::int64_t b) {
    return each<std::int64_t>(
        [&](int i) { return std::int64_t(std::uint64_t(a.lane[i]) + std::uint64_t(b)); });
}

inline Vec load(const double* from) {
    Vec value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// Load `count` doubles; the remaining lanes repeat the last one, so that they are as harmless.
inline Vec load_part(const double* from, int count) {
    return each<double>([&](int i) { return from[i < count ? i : count - 1]; });
}

inline void store(double* to, const Vec& value) { std::memcpy(to, &value, sizeof value); }

inline double lane(const Vec& value, int index) { return value.lane[index]; }

inline Bits bits(const Vec& value) {
    Bits result;
    std::memcpy(&result, &value, sizeof result);
    return result;
}

inline Vec from_bits(const Bits& value) {
    Vec result;
    std::memcpy(&result, &value, sizeof result);
    return result;
}

inline Vec select(const Bits& mask, const Vec& yes, const Vec& no) {
    return each<double>([&](int i) { return mask.lane[i] ? yes.lane[i] : no.lane[i]; });
}

struct FloatVec {
    float lane[2 * kLanes];
};

inline FloatVec operator*(const FloatVec& a, const FloatVec& b) {
    FloatVec result;
    for (int i = 0; i < 2 * kLanes; ++i) result.lane[i] = a.lane[i] * b.lane[i];
    return result;
}

inline FloatVec& operator+=(FloatVec& a, const FloatVec& b) {
    for (int i = 0; i < 2 * kLanes; ++i) a.lane[i] += b.lane[i];
    return a;
}

inline FloatVec splat_float(float value) {
    FloatVec result;
    for (float& lane : result.lane) lane = value;
    return result;
}

inline FloatVec load_floats(const float* from) {
    FloatVec value;
    std::memcpy(value.lane, from, sizeof value.lane);
    return value;
}

inline void store_floats(float* to, const FloatVec& value) {
    std::memcpy(to, value.lane, sizeof value.lane);
}

// Whether a lane of the mask is set.
inline bool any(const Bits& mask) {
    std::int64_t found = 0;
    for (std::int64_t lane : mask.lane) found |= lane;
    return found != 0;
}

inline Vec absolute(const Vec& value) {
    return each<double>([&](int i) { return std::fabs(value.lane[i]); });
}

// limit where value is above it, value elsewhere: a NaN stays.
inline Vec at_most(const Vec& value, double limit) {
    return each<double>([&](int i) { return value.lane[i] > limit ? limit : value.lane[i]; });
}

// The larger one of each lane; a lane with a NaN may be either.
inline Vec larger(const Vec& left, const Vec& right) {
    return each<double>(
        [&](int i) { return left.lane[i] > right.lane[i] ? left.lane[i] : right.lane[i]; });
}

// The smaller one of each lane; a lane with a NaN may be either.
inline Vec smaller(const Vec& left, const Vec& right) {
    return each<double>(
        [&](int i) { return left.lane[i] < right.lane[i] ? left.lane[i] : right.lane[i]; });
}

inline Vec root(const Vec& value) {
    return each<double>([&](int i) { return std::sqrt(value.lane[i]); });
}

// The largest lane, or infinity when a lane is infinite or NaN; no lane is negative.
inline double largest(const Vec& value) {
    double most = 0.0;
    for (double lane : value.lane) {
        if (!(lane < HUGE_VAL)) return HUGE_VAL;
        if (lane > most) most = lane;
    }
    return most;
}

inline Vec unfused(const Vec& value) { return value; }

}  // namespace PKEX_NAMESPACE
