// The memory of one call, cut into the arrays of the hot loop.
//
// Players are padded to a multiple of four with half deficits 0 (and factors 1), sets to a
// multiple of the lanes. All that one vector of pairs touches is a few hundred bytes per player.
#pragma once

#include "four_players.hpp"
#include "power_sums.hpp"
#include "program.hpp"
#include "signed_exponents.hpp"
#include "sweep.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace PKEX_NAMESPACE {

using pkex::Program;

constexpr int kTile = 4;  // vectors of pairs whose factors are evaluated together
constexpr int kTilePoints = kTile * kLanes;
constexpr int kScenarios = 32;  // background rows that are met before the points are gone through

struct Workspace {
    Index fours, stride, sets;
    double* x;           // (factors,): the row's values
    Vec* halves;         // (tile, stride); the exponents where series are taken
    Vec* factors;        // (tile, stride): present ones, in the general game
    double* other_x;     // (factors,): those of a background row
    Vec* other_halves;   // (tile, stride), and its factors
    Vec* other_factors;  // (tile, stride)
    Vec* absent;         // (stride,)
    Vec* half_drops;     // (stride,): half of absent minus present
    Vec* ratios;         // (series tile, stride): exponents of ratios, or their half deficits
    Vec* bases;          // (factors, series tile): what is kept of a row for them
    Against* against;    // (scenarios, factors): and of background rows
    Vec* polynomials;    // (fours, coefficients)
    Vec* chain;          // (fours, nodes of a group, 2)
    Vec* moments;        // (fours, moments)
    Vec* tree;           // (series tile, groups) of a hierarchy, for its passes
    Vec* tree_spare;     // and eight times the widest group
    Vec* sums;           // (stride,): one set
    double* values;      // (stride, tile points): many sets
    double* weights;     // (tile points, sets)
    double* many_sums;   // (stride, sets)
    double* totals;      // (sets,)
    double* magnitudes;  // (sets,)
    Index size;          // of all arrays, in doubles

    Workspace(const Program& program, Index n_sets, double* memory)
        : fours((program.n_players + 3) / 4), stride(4 * fours), size(0) {
        const bool many = n_sets != 1;
        sets = many ? (n_sets + kLanes - 1) / kLanes * kLanes : 0;
        const auto cut = [&](Index count) {
            double* begin = memory ? memory + size : nullptr;
            size += (count + kLanes - 1) / kLanes * kLanes;
#if defined(__SANITIZE_ADDRESS__)  // part the arrays by memory that must not be touched
            if (memory) __asan_poison_memory_region(memory + size, sizeof(double) * kLanes);
            size += kLanes;
#endif
            return begin;
        };
        const auto cut_vectors = [&](Index count) {
            return reinterpret_cast<Vec*>(cut(count * kLanes));
        };
        x = cut(program.n_factors);
        halves = cut_vectors(kTile * stride);
        factors = cut_vectors(kTile * stride);
        other_x = cut(program.n_factors);
        other_halves = cut_vectors(kTile * stride);
        other_factors = cut_vectors(kTile * stride);
        absent = cut_vectors(stride);
        half_drops = cut_vectors(stride);
        const Index signed_factors = program.ratios ? program.n_factors : 0;
        ratios = cut_vectors(program.ratios ? kSeriesTile * stride : 0);
        bases = cut_vectors(kSeriesTile * signed_factors);
        against = reinterpret_cast<Against*>(cut(2 * kScenarios * signed_factors));
        polynomials = cut_vectors(kCoefficients * fours);
        chain = cut_vectors(2 * (kGroup + 1) * fours);
        moments = cut_vectors(kMoments * fours);
        const pkex::Tree* groups = program.tree;
        tree = cut_vectors(groups ? kSeriesTile * groups->n_groups : 0);
        tree_spare = cut_vectors(groups ? (3 * kSeriesTile + 2) * groups->widest : 0);
        sums = cut_vectors(many ? 0 : stride);
        values = cut(many ? stride * kTilePoints : 0);
        weights = cut(kTilePoints * sets);
        many_sums = cut(stride * sets);
        totals = cut(sets);
        magnitudes = cut(sets);
        if (!memory) return;
        for (Index j = 0; j < kTile * stride; ++j) halves[j] = splat(0.0);
        for (Index j = 0; program.ratios && j < kSeriesTile * stride; ++j) ratios[j] = splat(0.0);
        for (Index j = program.n_players; j < stride; ++j) {
            absent[j] = splat(1.0);
            half_drops[j] = splat(0.0);
            for (int i = 0; i < kTile; ++i) factors[i * stride + j] = splat(1.0);
        }
        std::memset(weights, 0, sizeof(double) * std::size_t(kTilePoints * sets));
    }

    void clear_sums() {
        if (sets == 0) {
            for (Index j = 0; j < stride; ++j) sums[j] = splat(0.0);
        } else {
            std::memset(many_sums, 0, sizeof(double) * std::size_t(stride * sets));
            std::memset(totals, 0, sizeof(double) * std::size_t(sets));
            std::memset(magnitudes, 0, sizeof(double) * std::size_t(sets));
        }
    }
};

}  // namespace PKEX_NAMESPACE
