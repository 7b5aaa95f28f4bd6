// Four players at a time.
//
// With v = u / 2 and tau = 2 t a player's term is a - tau v, where a is its factor when absent, 1
// in the neutral game. Four players multiply to one polynomial of degree 4 in tau; the sweep
// evaluates it at each node and needs only one step of its chains for the four. What comes back are
// moments
//
//     A_k = sum_l w_l tau_l^k (product over all other players at node l),    k = 0, 1, 2, 3,
//
// from which the leave-one-out sums of the four follow without another look at the nodes:
//
//     Q_0 = a_1 B_0 - v_1 B_1,    B_k = c A_k - s A_{k+1} + q A_{k+2}
//
// with (a_2 - tau v_2)(a_3 - tau v_3) = c - s tau + q tau^2. Rules that are symmetric about t = 1/2
// share work between a node and its mirror image: there polynomial and moments are those of
// eta = tau - 1, and the change between the two needs additions only.
#pragma once

#include "vec.hpp"

namespace PKEX_NAMESPACE {

constexpr int kCoefficients = 5;
constexpr int kMoments = 4;

// The product of two players' terms, c - s tau + q tau^2.
struct TwoPlayers {
    Vec c, s, q;
};

template <bool General>
PKEX_INLINE TwoPlayers two_players(const Vec* v, const Vec* a) {
    if constexpr (General) {
        return {a[0] * a[1], a[0] * v[1] + a[1] * v[0], v[0] * v[1]};
    } else {
        return {splat(1.0), v[0] + v[1], v[0] * v[1]};
    }
}

// The coefficients of the product of four players' terms, in powers of tau.
template <bool General>
PKEX_INLINE void multiply(const TwoPlayers& f, const TwoPlayers& g, Vec* to) {
    if constexpr (General) {
        to[0] = f.c * g.c;
        to[1] = -(f.s * g.c + f.c * g.s);
        to[2] = f.q * g.c + f.c * g.q + f.s * g.s;
    } else {
        to[0] = splat(1.0);
        to[1] = -(f.s + g.s);
        to[2] = (f.q + g.q) + f.s * g.s;
    }
    to[3] = -(f.s * g.q + f.q * g.s);
    to[4] = f.q * g.q;
}

// From powers of tau to powers of eta = tau - 1. A pass of Horner's steps at tau = 1 divides by
// tau - 1: the remainder, left in the first place, is the coefficient of the power, and the
// quotient above it is what the next pass divides.
PKEX_INLINE void recenter(Vec* c) {
    for (int first = 0; first < kCoefficients - 1; ++first) {
        for (int k = kCoefficients - 2; k >= first; --k) c[k] += c[k + 1];
    }
}

// From moments in eta to moments in tau = 1 + eta, as tau^k = sum_i C(k, i) eta^i: a pass that adds
// to every moment the one below it is a row of Pascal's triangle.
PKEX_INLINE void decenter(Vec* m) {
    for (int last = kMoments - 1; last > 0; --last) {
        for (int k = kMoments - 1; k > kMoments - 1 - last; --k) m[k] += m[k - 1];
    }
}

// The leave-one-out sums of the four players, each times its v.
template <bool General>
PKEX_INLINE void leave_one_out(const Vec* v, const Vec* a, const Vec* m, Vec* to) {
    for (int i = 0; i < 4; i += 2) {
        const TwoPlayers other = two_players<General>(v + (2 - i), a + (2 - i));
        Vec b0 = m[0], b1 = m[1];
        if constexpr (General) {
            b0 *= other.c;
            b1 *= other.c;
        }
        b0 = (b0 - other.s * m[1]) + other.q * m[2];
        b1 = (b1 - other.s * m[2]) + other.q * m[3];
        Vec left = b0, right = b0;
        if constexpr (General) {
            left *= a[i + 1];
            right *= a[i];
        }
        to[i] = v[i] * (left - v[i + 1] * b1);
        to[i + 1] = v[i + 1] * (right - v[i] * b1);
    }
}

}  // namespace PKEX_NAMESPACE
