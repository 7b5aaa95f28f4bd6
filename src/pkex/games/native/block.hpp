// One call: the pair games of a block of rows and points, contracted with the weights.
//
// A row takes its points in tiles of a few vectors: the players' half deficits of a tile are
// evaluated together, then each vector of pairs takes the cheapest rule that covers all its lanes
// (factors.hpp, pairs.hpp). A tile whose factors are all near 1 is done by series in their
// exponents where that is cheaper (near_one.hpp); a row stops trying when that fails too often.
// With one weight set the weights are folded into the sweep and the sums stay vectors until the row
// is done; with several the values of a tile are stored and contracted (contract.hpp); or they are
// handed out pair by pair, for the caller to contract.
//
// In the general game absent players have factors of their own, given by the caller or evaluated
// from the rows of a background: those of the row that is explained are then evaluated once.
#pragma once

#include <cmath>

#include "contract.hpp"
#include "factors.hpp"
#include "near_one.hpp"
#include "near_ratio.hpp"
#include "pairs.hpp"
#include "tree.hpp"

namespace PKEX_NAMESPACE {

using pkex::Evaluated;
using pkex::Pairs;
using pkex::Status;

// Of series, for trying them again: a choice by time, of rows with tiles of both kinds. To measure
// it, compare `python -m benchmarks.before` at other values.
constexpr Index kHitsPerMiss = 8;

// Stores the values of one vector of pairs of a tile.
struct Keep {
    double* values;
    PKEX_INLINE void operator()(Index player, Vec value) const {
        store(values + player * kTilePoints, value);
    }
};

template <bool General>
class Games {
public:
    Games(const Program& program, const Block& block, double* memory)
        : program_(program),
          block_(block),
          space_(program, block.sets, memory),
          near_one_(program, space_.halves, space_.stride),
          near_tree_(program, space_),
          near_ratio_(program, space_) {}

    Status explain();

    Status add_pairs(Pairs& pairs);

    // Add `scale` times the factors of the players of every pair, and nothing else.
    void add_factors(const Pairs& pairs);

    void sum_deficits();

    // Hand out the factors in both forms. Rows are the inner loop: their sums stay in cache.
    void factors(const Evaluated& to);

private:
    // How the tile at hand is solved, and what `space_` holds of it. It is chosen anew for every
    // tile, with a background for every tile and background row; `one_set` and `keep` read it.
    //
    //   kBoth     by a sweep over nodes. `halves` has the half deficits, in the general game
    //             `factors` the factors as well, and with a background `other_halves` and
    //             `other_factors` those of the background row.
    //   kNearOne  neutral game, by series (near_one.hpp). `halves` has exponents.
    //   kNearTree neutral game with a hierarchy (tree.hpp). `halves` has half deficits, by series.
    //   kRatios   general game, by the ratios of its factors (near_ratio.hpp), in `ratios`.
    //
    //   prepare:  -> kBoth, and if series are promising and cover the tile -> kNearOne, kNearTree
    //             or kRatios. If none does, kBoth stays, and what it needs is made: half deficits
    //             from the exponents in place, or both forms are evaluated.
    //   against_rows: series not promising: both forms once, then `stand_in` -> kBoth for each
    //             background row. Else `tile_by_ratios`: `near_row` -> kRatios, or both forms, once
    //             for the tile, and `stand_in` -> kBoth.
    //
    // A tile that is solved by series is a hit, one that was tried in vain a miss; a row whose
    // misses are more than 1 / kHitsPerMiss of its hits tries no more (`promising`), and `begin`
    // forgets both. So a tile that is not tried changes neither.
    enum class Way { kBoth, kNearOne, kNearTree, kRatios };

    // The pairs of a row, where absent players have one factor for each pair.
    Status against_one(Index row) {
        for (Tile tile{row, 0, 0}; tile.point < block_.points; tile.point += tile.count) {
            const int vectors = prepare(tile);
            const Status status = sets(tile, vectors);
            if (status != Status::kDone) return status;
        }
        return Status::kDone;
    }

    // The pairs of a row with each row of the background, some of them at a time.
    Status against_rows(Index row) {
        const Index rows = block_.background->rows;
        for (Index first = 0; first < rows; first += kScenarios) {
            const Index count = rows - first < kScenarios ? rows - first : kScenarios;
            bool met = false;
            for (Tile tile{row, 0, 0}; tile.point < block_.points; tile.point += tile.count) {
                Status status = Status::kDone;
                if (program_.ratios && promising()) {
                    if (!met)
                        meet(program_, *block_.background, first, count, space_.x, space_.against);
                    met = true;
                    status = tile_by_ratios(tile, first, count);
                } else {
                    const int vectors = evaluate<BothForms, kTile>(tile, both_forms());
                    for (Index i = first; i < first + count && status == Status::kDone; ++i) {
                        stand_in<kTile>(i, tile);
                        status = sets(tile, vectors);
                    }
                }
                if (status != Status::kDone) return status;
            }
        }
        return Status::kDone;
    }

    // A tile with some background rows, by ratios where they are near 1.
    Status tile_by_ratios(Tile& tile, Index first, Index count) {
        Vec present[kSeriesTile];
        bool evaluated = false;
        const int vectors =
            as_tile(tile, [&](auto of) { of.keep(space_.x, space_.bases, present); });
        for (Index i = 0; i < count; ++i) {
            share_ = block_.shares[first + i];
            if (!(promising() && near_row(tile, i, vectors, present))) {
                if (!evaluated) evaluate<BothForms, kSeriesTile>(tile, both_forms());
                evaluated = true;
                stand_in<kSeriesTile>(first + i, tile);
            }
            const Status status = sets(tile, vectors);
            if (status != Status::kDone) return status;
        }
        return Status::kDone;
    }

    // Whether a tile is solved by its ratios to one of the background rows that were met.
    bool near_row(Tile& tile, Index row, int vectors, const Vec* present) {
        const Against* against = space_.against + row * program_.n_factors;
        SignedSums sums;
        as_tile(tile, [&](auto of) {
            sums = of.against(against, space_.bases, space_.ratios, space_.stride);
        });
        return by_ratios(near_ratio_.choose(vectors, sums, present, nullptr));
    }

    // Whether trying to solve a tile by series has paid off in this row.
    bool promising() const { return kHitsPerMiss * misses_ <= hits_; }

    // Note how a tile is solved for which a rule was found, or not.
    bool by_ratios(Index step) {
        step >= 0 ? ++hits_ : ++misses_;
        if (step >= 0) block_.used[step] = 1;
        way_ = step >= 0 ? Way::kRatios : Way::kBoth;
        return step >= 0;
    }

    // Call `function` with the tile that begins at tile.point, of few vectors, and return their
    // number.
    template <class Function>
    int as_tile(Tile& tile, const Function& function) {
        const Index left = block_.points - tile.point;
        if (left >= kSeriesTile * kLanes) {
            tile.count = kSeriesTile * kLanes;
            function(SignedTile<kSeriesTile, false>{program_, block_, tile});
            return kSeriesTile;
        }
        tile.count = left >= kLanes ? kLanes : int(left);
        if (left >= kLanes) {
            function(SignedTile<1, false>{program_, block_, tile});
        } else {
            function(SignedTile<1, true>{program_, block_, tile});
        }
        return 1;
    }

    BothForms::Place both_forms() const { return {space_.halves, space_.factors}; }

    void hand_out(const Evaluated& to, const Tile& tile, int vector) const;

    Vec* halves(int vector) const { return space_.halves + vector * space_.stride; }

    double weight(Index row, Index point, Index set) const {
        return block_.weights[row * block_.weights_row + point * block_.weights_point +
                              set * block_.weights_set];
    }

    // The weights of a vector of pairs, of the only set; 0 in lanes without a pair.
    Vec weight_vector(Index row, Index point, int count) const {
        if (count == kLanes && block_.weights_point == 1) {
            return load(block_.weights + row * block_.weights_row + point);
        }
        double lanes[kLanes] = {};
        for (int k = 0; k < count; ++k) lanes[k] = weight(row, point + k, 0);
        return load(lanes);
    }

    // Gather the values of a row, and forget what was found out about the one before.
    void begin(Index row) {
        hits_ = misses_ = 0;
        gather(block_, row, space_.x);
    }

    void gather(const Block& block, Index row, double* to) const {
        for (Index i = 0; i < program_.n_runs; ++i) {
            const Run& run = program_.runs[i];
            const bool from_data = run.kind != Kind::kGiven && run.kind != Kind::kNone;
            const double* x = block.x + row * block.x_row;
            for (Index f = run.begin; f < run.end; ++f) {
                to[f] = from_data ? x[program_.factors[f].column * block.x_column] : 0.0;
            }
        }
    }

    // Evaluate what a row of the background has in place of absent players, for one tile.
    template <int Size>
    void stand_in(Index row, Tile tile) {
        const Block& background = *block_.background;
        const BothForms::Place to = {space_.other_halves, space_.other_factors};
        share_ = block_.shares[row];
        tile.row = row;
        gather(background, row, space_.other_x);
        evaluate<BothForms, Size>(tile, to, background, space_.other_x);
        way_ = Way::kBoth;
    }

    // Evaluate the tile that begins at tile.point and choose how its pairs are solved. Return the
    // number of vectors.
    int prepare(Tile& tile) {
        way_ = Way::kBoth;
        if constexpr (General) {
            const bool ratios = program_.ratios && block_.absent_exponents;
            if (!ratios || !promising()) return evaluate<BothForms, kTile>(tile, both_forms());
            SignedSums sums;
            Vec absent[kSeriesTile];
            const int vectors = as_tile(tile, [&](auto of) {
                sums = of.against_means(space_.x, space_.ratios, space_.stride);
                of.sums_of_means(absent);
            });
            const Index step = near_ratio_.choose(vectors, sums, nullptr, absent);
            if (!by_ratios(integrals_ && !near_ratio_.has_series() ? -1 : step)) {
                evaluate<BothForms, kSeriesTile>(tile, both_forms());
            }
            return vectors;
        }
        if (!(program_.near_one || program_.deficits) || !promising()) {
            return evaluate<HalfDeficits, kTile>(tile, space_.halves);
        }
        const int vectors = evaluate<Exponents, kSeriesTile>(tile, space_.halves);
        const double most = largest(most_);
        const Index step =
            program_.tree ? near_tree_.choose(vectors, most) : near_one_.choose(vectors, most);
        if (step >= 0) {
            way_ = program_.tree ? Way::kNearTree : Way::kNearOne;
            ++hits_;
            block_.used[step] = 1;
            return vectors;
        }
        ++misses_;
        for (Index j = 0; j < vectors * space_.stride; ++j) {
            space_.halves[j] = half_deficit(space_.halves[j]);
        }
        return vectors;
    }

    // Evaluate the tile that begins at tile.point, set its number of points and return that of
    // vectors: a full tile, or a single vector near the end of the row, or a part of one.
    template <class Form, int Size>
    int evaluate(Tile& tile, typename Form::Place to) {
        return evaluate<Form, Size>(tile, to, block_, space_.x);
    }

    template <class Form, int Size>
    int evaluate(Tile& tile, typename Form::Place to, const Block& block, const double* x) {
        const Index left = block_.points - tile.point;
        const auto go = [&](auto evaluated, int count) {
            tile.count = count;
            most_ = evaluated(program_, block, tile, x, to, space_.stride);
        };
        if (left >= Size * kLanes) {
            go(evaluate_tile<Form, Size, false>, Size * kLanes);
            return Size;
        }
        if (left >= kLanes) {
            go(evaluate_tile<Form, 1, false>, kLanes);
        } else {
            go(evaluate_tile<Form, 1, true>, int(left));
        }
        return 1;
    }

    // Take the factors a of absent players, and make v = (a - p) / 2: from the deficits where those
    // are the smaller numbers, else from the factors. On the way sum up what the choice of a rule
    // needs.
    template <class Source>
    Extent take_absent(const Source& source, int index) {
        const Vec* half = halves(index);
        const Vec* p = space_.factors + index * space_.stride;
        Extent extent;
        const auto take = [&](Index j, int chain) {
            const Both absent = source(j);
            const Vec a = absent.value;
            const Vec v = select(a + p[j] > 1.0, half[j] - absent.half, 0.5 * (a - p[j]));
            space_.absent[j] = a;
            space_.half_drops[j] = v;
            extent.add(chain, a, p[j], v);
        };
        Index j = 0;
        for (; j + 4 <= program_.n_players; j += 4) {
            for (int chain = 0; chain < 4; ++chain) take(j + chain, chain);
        }
        for (; j < program_.n_players; ++j) take(j, 0);
        return extent;
    }

    Extent extent_of(const Tile& tile, int index) {
        if constexpr (General) {
            const Index at = index * space_.stride, point = tile.point + index * kLanes;
            if (block_.background) {
                return take_absent(FromRow{space_.other_halves + at, space_.other_factors + at},
                                   index);
            }
            return tile.count < kLanes
                       ? take_absent(FromArrays<true>{block_, point, tile.count}, index)
                       : take_absent(FromArrays<false>{block_, point, tile.count}, index);
        } else {
            Extent extent;
            extent.half_lam[0] = half_lam(halves(index), space_.stride);
            return extent;
        }
    }

    // The cheapest rule that covers all lanes of a vector of pairs, null when there is none.
    const Rung* choose(bool out_of_range, double lam) {
        if (out_of_range) {
            if (block_.fallback) block_.used[program_.n_rungs] = 1;
            return block_.fallback;
        }
        const Index step = covering(program_, lam);
        block_.used[step] = 1;
        return program_.rungs + step;
    }

    // Solve the games of one vector of pairs of a tile. A value is p - a = -2 v times an integral.
    template <class Take>
    Status vector(const Tile& tile, int index, Vec scale, const Take& take, Vec& product,
                  Vec& magnitude) {
        const Extent extent = extent_of(tile, index);
        if (integrals_) {
            for (Index j = 0; j < program_.n_players; ++j) {
                const Vec v = space_.half_drops[j];
                space_.half_drops[j] = select(v == 0.0, splat(kTinyChange), v);
            }
        }
        const Players<General> players = {General ? space_.half_drops : halves(index),
                                          space_.absent, space_.factors + index * space_.stride,
                                          program_.n_players};
        Vec lam = extent.lam();
        double most = largest(lam);
        if (most == HUGE_VAL) return Status::kNotFinite;
        bool outside = false;
        Vec size = splat(1.0);
        if constexpr (General) {
            outside = extent.out_of_range(program_.lower);
            const Vec largest_worth = extent.product();
            if (program_.negligible > 0.0 && !outside && !integrals_ &&
                !any(largest_worth > program_.negligible)) {
                product = splat(0.0);
                const Vec lost = largest_worth * (0x1p-4 / program_.negligible);  // is covered
                magnitude = larger(lost, splat(kFloor));
                for (Index j = 0; j < program_.n_players; ++j) take(j, splat(0.0));
                return Status::kDone;
            }
            if (!outside && any(largest_worth < kTail)) {
                lam = select(largest_worth < kTail, players.relative_lam(), lam);
                most = largest(lam);
                size = select(largest_worth < kTail, larger(largest_worth, splat(kFloor)), size);
            }
        } else {
            outside = program_.check_range && players.out_of_range(program_.lower);
        }
        const Rung* rung = choose(outside, most);
        if (!rung) return Status::kNeedsFallback;
        const bool centred = rung->mirrored && most <= kCentredLam;
        product = program_.tree ? solve_tree(players, program_, space_, -2.0 * scale, take)
                                : solve(players, *rung, centred, -2.0 * scale, space_, take);
        magnitude = rung->any_factors ? size * players.magnitude(lam) : size;
        return Status::kDone;
    }

    Status sets(const Tile& tile, int vectors) {
        return block_.sets == 1 ? one_set(tile, vectors) : many_sets(tile, vectors);
    }

    Status one_set(const Tile& tile, int vectors);

    template <class Solver>
    Status one_set_by(const Solver& solver, const Tile& tile, int vectors);

    // Store the values of the pairs of a tile, times `scale`, their products and magnitudes.
    Status keep(const Tile& tile, int vectors, Vec scale);

    // Turn the values of a vector of pairs into integrals: v is the last factor of a value.
    void divide_by_changes(int index);

    // Store the integrals of a vector of pairs that is solved by ratios.
    void integrate_ratios(const Tile& tile, int index, Vec scale);

    Status many_sets(const Tile& tile, int vectors);

    void write_one_set(Index row) const;

    void write_many_sets(Index row) const;

    const Program& program_;
    const Block& block_;
    Workspace space_;
    NearOne near_one_;
    NearTree near_tree_;
    NearRatio near_ratio_;
    double share_ = 1.0;                                      // of the background row
    Index hits_ = 0, misses_ = 0;                             // of series, in this row
    const pkex::Wanted* integrals_ = nullptr;                 // instead of values
    Way way_ = Way::kBoth;                                    // with this tile
    Vec most_;                                                // exponents of a tile
    Vec total_, magnitude_;                                   // one set
    double products_[kTilePoints], magnitudes_[kTilePoints];  // of the pairs of a tile
};

}  // namespace PKEX_NAMESPACE
