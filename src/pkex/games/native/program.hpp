// What the hot loop works on, as plain data that the code of every instruction set shares.
//
// A `Program` is all that does not depend on the data: the column factors in the order in which
// they are evaluated, and the ladder of rules. A `Block` is one call: rows, points, weights and the
// arrays for the results. Array positions are counted in doubles.
#pragma once

#include <cstddef>
#include <cstdint>

#include "conditional_data.hpp"
#include "corner_data.hpp"
#include "deficit_series.hpp"
#include "distance_data.hpp"
#include "form_data.hpp"
#include "kinds.hpp"
#include "lookup_data.hpp"
#include "ratio_data.hpp"
#include "signed_series.hpp"
#include "variance_data.hpp"

namespace pkex {

using Index = std::ptrdiff_t;

constexpr Index kTiledPoints = 16;  // of a tile of absent exponents, which stand together

// The factor of one column. Of a categorical kernel b = -log(mismatch), the exponent of what
// differs, and c = mismatch; elsewhere b is as it was packed.
struct Factor {
    Index column;
    Index player;
    bool first;  // whether it is the first factor of its player
    double a, b, c;
};

// Neighbouring factors of one kind.
struct Run {
    Kind kind;
    Index begin, end;
};

// A rule for sums of deficits up to `limit`. In `mirrored` the nodes of a rule that is symmetric
// about t = 1/2 stand as distances from there, in units of 1/2; it is null for other rules.
// `series` are those for factors near 1, kSeries of them, or null.
struct Rung {
    Index size;
    double limit;
    bool any_factors;
    const double* nodes;     // 2 t_l
    const double* weights;   // w_l
    const double* mirrored;  // 1 - 2 t_l for the lower half
    const Series* series;
    const Series* signed_series;  // for exponents of both signs, kSignedSeries of them, or null
};

// A group of a hierarchy: its members, players or groups before it, and where they come in any
// order and are more than two the nodes and weights of the rule of their integrals.
struct Group {
    const Index* members;
    Index size;
    bool ordered;
    const double* nodes;  // t_l
    const double* weights;
    Index n_nodes;
};

// Players first, then groups, each after all of its members, that of everything last.
struct Tree {
    const Group* groups;
    Index n_groups;
    Index widest;  // members of a group
};

struct Program {
    const Factor* factors;
    Index n_factors;
    const Run* runs;
    Index n_runs;
    Index n_players;
    const Rung* rungs;
    Index n_rungs;
    double lower;       // the rungs cover factors from here to 1
    bool check_range;   // whether present factors may lie elsewhere
    bool near_one;      // whether the rungs have series, and all factors exponents
    bool ratios;        // whether all factors have exponents, and the game is a general one
    bool plain;         // whether every player has a single factor
    bool exponentials;  // whether factors cost an exponential, most of them
    double
        negligible;    // pairs of the general game whose coalitions are all worth less are left out
    const Tree* tree;  // values are those of a hierarchy; or null
    const DeficitSeries* deficits;  // with a hierarchy, where factors cost an exponential; or null
    const DeficitSeries* signed_deficits;
};

struct Block {
    const Block* background;  // its rows stand in for absent players, one after the other; or null
    const double* shares;     // their weights
    Index rows, points, sets;
    const double* x;
    Index x_row, x_column;
    const double* z;  // columns contiguous
    Index z_column;
    const double* given;         // deficits (factors, rows, points), contiguous
    const double* given_values;  // the factors themselves; null for the neutral game
    const double* absent;        // (players, points), rows contiguous; null if there are none
    Index absent_player;
    const double* absent_deficits;  // 1 - absent
    Index absent_deficits_player;
    const double*
        absent_exponents;         // (tiles, players + 1, tiled points): -log of the absent factors
    Index absent_exponents_tile;  // and, as a last player, their sum; null if not known
    const double* weights;
    Index weights_row, weights_point, weights_set;
    const Rung* fallback;  // the rule for factors out of range, or null
    double* values;        // (rows, players, sets)
    double* totals;        // (rows, sets)
    double* magnitudes;    // (rows, sets)
    std::uint8_t* used;    // one flag for each rung, and one for the fallback
};

// Some players.
struct Wanted {
    const Index* players;
    Index count;
};

// Where the values of single pairs go: (players and the product of all, rows, points), the points
// contiguous. They are multiplied by `scale` and added to what is there. With `integrals` it is
// those of these players instead, (players, rows, points): values without the change p - a of the
// player's own factor; for the general game only.
struct Pairs {
    double* values;
    Index player, row;
    double scale;
    const Wanted* integrals;  // or null
    double largest;           // magnitude so far
};

// Where the factors of the players go, and their deficits: each (players, rows, points), or with
// `shares`, one for each row, their weighted sums over the rows, (players, points).
struct Evaluated {
    const double* shares;
    double* values;
    double* deficits;
};

enum class Status : int {
    kDone,
    kNotFinite,     // a factor is NaN or infinite
    kNeedsFallback  // a factor is out of range and there is no fallback
};

// The entry points of one instruction set.
struct Backend {
    const char* name;
    int lanes;
    Index (*workspace)(const Program&, Index sets);  // in doubles, aligned to 64 bytes
    Status (*explain)(const Program&, const Block&, double* workspace);
    Status (*add_pairs)(const Program&, const Block&, Pairs&, double* workspace);
    void (*factors)(const Program&, const Block&, const Evaluated&, double* workspace);
    void (*add_factors)(const Program&, const Block&, const Pairs&, double* workspace);
    void (*evaluate)(const Program&, const Block&,
                     double* workspace);  // totals (rows,): sum of lam
    void (*measure)(const Extents&);
    Index (*ratio_workspace)(const RatioTile&);
    void (*ratios)(const RatioTile&, double* workspace);
    Index (*blocks_workspace)(const ConditionalBlocks&);
    void (*sum_blocks)(const ConditionalBlocks&, double* workspace);
    Index (*chain_workspace)(const ConditionalChain&);
    void (*sum_chain)(const ConditionalChain&, double* workspace);
    Index (*lookup_workspace)(const LookedUp&);
    void (*contract_looked_up)(const LookedUp&, double* workspace);
    void (*sum_sizes)(const double* values, Index n_values, Index count, double* sums);
    void (*measure_distances)(const Distances&);
    void (*measure_cells)(const CellExtents&);
    Index (*cell_workspace)(const CellSquare&);
    void (*integrate_cells)(const CellSquare&, double* workspace);
    Index (*product_workspace)(const CellSquare&);
    void (*multiply_cells)(const CellSquare&, double* workspace);
    Index (*variances_workspace)(const VarianceTile&);
    void (*sum_variances)(const VarianceTile&, double* workspace);
    void (*add_form)(const FormStrip&);
    void (*function)(int which, const double* from, double* to, Index count);
    double (*multiply_add)(Index steps);
};

}  // namespace pkex
