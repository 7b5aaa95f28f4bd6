// What interactions need of pairs of points, as plain data that the code of every instruction set
// shares: see ratios.hpp. Arrays of players and pairs have contiguous pairs; positions are counted
// in doubles.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pkex {

// Pairs that stand together in a tile of ratios, a multiple of the lanes of every instruction set.
constexpr std::ptrdiff_t kRatioGroup = 8;

// How large pairs are. They are `repeats` times `points`; the present factors of a point are the
// same in all repeats. Absent factors, where there are any, are those of all pairs.
struct Extents {
    std::ptrdiff_t players, repeats, points;
    const double *present, *present_deficits;  // (players, points)
    std::ptrdiff_t present_player, present_deficits_player;
    const double *absent, *absent_deficits;  // (players, pairs), or null where they are 1
    std::ptrdiff_t absent_player, absent_deficits_player;
    double* drops;  // (players, pairs), or null where they are the present deficits
    // of each pair: sums of |a - p|, and in the tail of |a - p| / max(|a|, |p|); the largest
    // |a - p|; products of max(|a|, |p|) and of p; the smallest and the largest factor
    double *lam, *relative, *widest, *worth, *totals, *lowest, *highest;
    double tail;  // the worth below which `relative` is asked for
};

// Ratios u / f with f = a - x u, kept away from 0, at some nodes x of some groups of pairs; or sums
// of them. The columns of a tile are (groups, nodes, pairs of a group); pairs that a last group
// lacks have products and weights of 0.
struct RatioTile {
    std::ptrdiff_t players, pairs;
    const double* drops;
    std::ptrdiff_t drops_player;
    const double* absent;  // or null where they are 1
    std::ptrdiff_t absent_player;
    const std::int64_t* order;
    std::ptrdiff_t groups;
    const double *nodes, *shares;
    std::ptrdiff_t n_nodes;
    const double* weights;  // of pairs, or null
    double* ratios;         // (players, columns), or null; with weights times sqrt |P share weight|
    std::ptrdiff_t ratios_player;
    double* products;  // P of each column, without weights
    double* sums;      // with weights: of u / f times P share weight, for each player, and of these
                       // weights in the last place
    double* gram;      // with weights: products of the ratios with each other, or null
    bool positive;     // whether no factor is negative
    double tau, nothing;  // |f| is at least tau max(|a|, |p|), and at least `nothing`
};

}  // namespace pkex
