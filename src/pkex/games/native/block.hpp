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
          near_ratio_(program, space_) {}

    Status explain() {
        for (Index row = 0; row < block_.rows; ++row) {
            begin(row);
            space_.clear_sums();
            total_ = magnitude_ = splat(0.0);
            const Status status = block_.background ? against_rows(row) : against_one(row);
            if (status != Status::kDone) return status;
            block_.sets == 1 ? write_one_set(row) : write_many_sets(row);
        }
        return Status::kDone;
    }

    Status add_pairs(Pairs& pairs) {
        integrals_ = General && pairs.integrals;
        for (Index row = 0; row < block_.rows; ++row) {
            begin(row);
            for (Tile tile{row, 0, 0}; tile.point < block_.points; tile.point += tile.count) {
                const int vectors = prepare(tile);
                const Status status = keep(tile, vectors, splat(pairs.scale));
                if (status != Status::kDone) return status;
                double* to = pairs.values + row * pairs.row + tile.point;
                for (Index j = 0; j < program_.n_players; ++j, to += pairs.player) {
                    const double* from = space_.values + j * kTilePoints;
                    for (int k = 0; k < tile.count; ++k) to[k] += from[k];
                }
                for (int k = 0; k < tile.count; ++k) {
                    to[k] += pairs.scale * products_[k];
                    if (!(magnitudes_[k] <= pairs.largest)) pairs.largest = magnitudes_[k];
                }
            }
        }
        return Status::kDone;
    }

    // Add `scale` times the factors of the players of every pair, and nothing else.
    void add_factors(const Pairs& pairs) {
        for (Index row = 0; row < block_.rows; ++row) {
            begin(row);
            for (Tile tile{row, 0, 0}; tile.point < block_.points; tile.point += tile.count) {
                const int vectors = evaluate<HalfDeficits, kTile>(tile, space_.halves);
                double* to = pairs.values + row * pairs.row + tile.point;
                for (Index j = 0; j < program_.n_players; ++j, to += pairs.player) {
                    for (int i = 0; i < vectors; ++i) {
                        const Vec factor = pairs.scale * (1.0 - 2.0 * halves(i)[j]);
                        double* place = to + i * kLanes;
                        if (tile.count >= kLanes) {
                            store(place, load(place) + factor);
                        } else {
                            for (int k = 0; k < tile.count; ++k) place[k] += lane(factor, k);
                        }
                    }
                }
            }
        }
    }

    void sum_deficits() {
        for (Index row = 0; row < block_.rows; ++row) {
            begin(row);
            double sum = 0.0;
            for (Tile tile{row, 0, 0}; tile.point < block_.points; tile.point += tile.count) {
                const int vectors = evaluate<HalfDeficits, kTile>(tile, space_.halves);
                for (int i = 0; i < vectors; ++i) {
                    const Vec lam = 2.0 * half_lam(halves(i), space_.stride);
                    for (int k = 0; k < kLanes && k < tile.count; ++k) sum += lane(lam, k);
                }
            }
            block_.totals[row] = sum;
        }
    }

    // Hand out the factors in both forms. Rows are the inner loop: their sums stay in cache.
    void factors(const Evaluated& to) {
        int count = 0;
        for (Index point = 0; point < block_.points; point += count) {
            for (Index row = 0; row < block_.rows; ++row) {
                begin(row);
                Tile tile{row, point, 0};
                const int vectors = evaluate<BothForms, kTile>(tile, both_forms());
                count = tile.count;
                for (int i = 0; i < vectors; ++i) hand_out(to, tile, i);
            }
        }
    }

private:
    // How the tile at hand is solved, and what `space_` holds of it. It is chosen anew for every
    // tile, with a background for every tile and background row; `one_set` and `keep` read it.
    //
    //   kBoth     by a sweep over nodes. `halves` has the half deficits, in the general game
    //             `factors` the factors as well, and with a background `other_halves` and
    //             `other_factors` those of the background row.
    //   kNearOne  neutral game, by series (near_one.hpp). `halves` has exponents.
    //   kRatios   general game, by the ratios of its factors (near_ratio.hpp), in `ratios`.
    //
    //   prepare:  -> kBoth, and if series are promising and a rule covers the tile -> kNearOne or
    //             kRatios. If none does, kBoth stays, and what it needs is made: half deficits from
    //             the exponents in place, or both forms are evaluated.
    //   against_rows: series not promising: both forms once, then `stand_in` -> kBoth for each
    //             background row. Else `tile_by_ratios`: `near_row` -> kRatios, or both forms, once
    //             for the tile, and `stand_in` -> kBoth.
    //
    // A tile that is solved by series is a hit, one that was tried in vain a miss; a row whose
    // misses are more than 1 / kHitsPerMiss of its hits tries no more (`promising`), and `begin`
    // forgets both. So a tile that is not tried changes neither.
    enum class Way { kBoth, kNearOne, kRatios };

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

    void hand_out(const Evaluated& to, const Tile& tile, int vector) const {
        const int count = tile.count < kLanes ? tile.count : kLanes;
        const Index rows = to.shares ? 1 : block_.rows, row = to.shares ? 0 : tile.row;
        const Index step = rows * block_.points;
        Index at = row * block_.points + tile.point + vector * kLanes;
        const Vec* half = halves(vector);
        const Vec* factor = space_.factors + vector * space_.stride;
        const auto put = [&](double* place, Vec value) {
            if (count == kLanes) {
                store(place, to.shares ? load(place) + value : value);
                return;
            }
            for (int k = 0; k < count; ++k) {
                place[k] = to.shares ? place[k] + lane(value, k) : lane(value, k);
            }
        };
        const double share = to.shares ? to.shares[tile.row] : 1.0;
        for (Index j = 0; j < program_.n_players; ++j, at += step) {
            put(to.values + at, share * factor[j]);
            put(to.deficits + at, (2.0 * share) * half[j]);
        }
    }

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
            const bool ratios = program_.ratios && block_.absent_exponents && !integrals_;
            if (!ratios || !promising()) return evaluate<BothForms, kTile>(tile, both_forms());
            SignedSums sums;
            Vec absent[kSeriesTile];
            const int vectors = as_tile(tile, [&](auto of) {
                sums = of.against_means(space_.x, space_.ratios, space_.stride);
                of.sums_of_means(absent);
            });
            if (!by_ratios(near_ratio_.choose(vectors, sums, nullptr, absent))) {
                evaluate<BothForms, kSeriesTile>(tile, both_forms());
            }
            return vectors;
        }
        if (!program_.near_one || !promising()) {
            return evaluate<HalfDeficits, kTile>(tile, space_.halves);
        }
        const int vectors = evaluate<Exponents, kSeriesTile>(tile, space_.halves);
        const Index step = near_one_.choose(vectors, largest(most_));
        if (step >= 0) {
            way_ = Way::kNearOne;
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

    // The absent factors of the points from `point` on, in arrays that the caller gave.
    template <bool Part>
    struct FromArrays {
        const Block& block;
        Index point;
        int count;

        PKEX_INLINE Both operator()(Index j) const {
            return {0.5 * read(block.absent_deficits + j * block.absent_deficits_player),
                    read(block.absent + j * block.absent_player)};
        }
        PKEX_INLINE Vec read(const double* from) const {
            return Part ? load_part(from + point, count) : load(from + point);
        }
    };

    struct FromRow {
        const Vec* halves;
        const Vec* factors;
        PKEX_INLINE Both operator()(Index j) const { return {halves[j], factors[j]}; }
    };

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
            space_.changes[j] = v;
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
        if (integrals_) {  // a change so small that it changes nothing, and can be divided by
            for (Index j = 0; j < program_.n_players; ++j) {
                const Vec v = space_.changes[j];
                space_.changes[j] = select(v == 0.0, splat(0x1p-1000), v);
            }
        }
        const Players<General> players = {General ? space_.changes : halves(index), space_.absent,
                                          space_.factors + index * space_.stride,
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
        product = program_.tree
                      ? solve_tree(players, *program_.tree, -2.0 * scale, space_.tree, take)
                      : solve(players, *rung, centred, -2.0 * scale, space_, take);
        magnitude = rung->any_factors ? size * players.magnitude(lam) : size;
        return Status::kDone;
    }

    Status sets(const Tile& tile, int vectors) {
        return block_.sets == 1 ? one_set(tile, vectors) : many_sets(tile, vectors);
    }

    Status one_set(const Tile& tile, int vectors) {
        if (way_ == Way::kNearOne) return one_set_by(near_one_, tile, vectors);
        if (way_ == Way::kRatios) return one_set_by(near_ratio_, tile, vectors);
        for (int i = 0; i < vectors; ++i) {
            const Index point = tile.point + i * kLanes;
            const int count = tile.count < kLanes ? tile.count : kLanes;
            Vec w = weight_vector(tile.row, point, count);
            if (General) w *= share_;
            Vec product = splat(0.0), magnitude = splat(0.0);
            const Add add = {space_.sums};
            const Status status = vector(tile, i, w, add, product, magnitude);
            if (status != Status::kDone) return status;
            total_ += w * product;
            magnitude_ += absolute(w) * magnitude;
        }
        return Status::kDone;
    }

    template <class Solver>
    Status one_set_by(const Solver& solver, const Tile& tile, int vectors) {
        Vec w[kSeriesTile];
        for (int i = 0; i < vectors; ++i) {
            const int count = tile.count < kLanes ? tile.count : kLanes;
            w[i] = weight_vector(tile.row, tile.point + i * kLanes, count);
            if (General) w[i] *= share_;
            total_ += w[i] * solver.product(i);
            magnitude_ += absolute(w[i]) * solver.magnitude(i);
        }
        solver.add(vectors, w, space_.sums);
        return Status::kDone;
    }

    // Store the values of the pairs of a tile, times `scale`, their products and magnitudes.
    Status keep(const Tile& tile, int vectors, Vec scale) {
        for (int i = 0; i < vectors; ++i) {
            Vec product = splat(0.0), magnitude = splat(0.0);
            const Keep take = {space_.values + i * kLanes};
            const auto by = [&](const auto& solver) {
                solver.solve(i, scale, take);
                product = solver.product(i);
                magnitude = solver.magnitude(i);
            };
            if (way_ == Way::kNearOne) {
                by(near_one_);
            } else if (way_ == Way::kRatios) {
                by(near_ratio_);
            } else {
                const Status status = vector(tile, i, scale, take, product, magnitude);
                if (status != Status::kDone) return status;
                if (integrals_) divide_by_changes(i);
            }
            store(products_ + i * kLanes, product);
            store(magnitudes_ + i * kLanes, magnitude);
        }
        return Status::kDone;
    }

    // Turn the values of a vector of pairs into integrals: v is the last factor of a value.
    void divide_by_changes(int index) {
        for (Index j = 0; j < program_.n_players; ++j) {
            double* value = space_.values + j * kTilePoints + index * kLanes;
            store(value, load(value) / (-2.0 * space_.changes[j]));
        }
    }

    Status many_sets(const Tile& tile, int vectors) {
        const Status status = keep(tile, vectors, splat(share_));
        if (status != Status::kDone) return status;
        for (int k = 0; k < tile.count; ++k) {
            for (Index set = 0; set < block_.sets; ++set) {
                const double w = weight(tile.row, tile.point + k, set);
                space_.weights[k * space_.sets + set] = w;
                const double part = General ? share_ * w : w;
                space_.totals[set] += part * products_[k];
                space_.magnitudes[set] += (part < 0.0 ? -part : part) * magnitudes_[k];
            }
        }
        contract(space_.values, space_.stride, kTilePoints, tile.count, space_.weights,
                 space_.many_sums, space_.sets);
        return Status::kDone;
    }

    void write_one_set(Index row) const {
        for (Index j = 0; j < program_.n_players; ++j) {
            block_.values[row * program_.n_players + j] = sum_of_lanes(space_.sums[j]);
        }
        block_.totals[row] = sum_of_lanes(total_);
        block_.magnitudes[row] = sum_of_lanes(magnitude_);
    }

    void write_many_sets(Index row) const {
        const Index sets = block_.sets;
        for (Index j = 0; j < program_.n_players; ++j) {
            std::memcpy(block_.values + (row * program_.n_players + j) * sets,
                        space_.many_sums + j * space_.sets, sizeof(double) * std::size_t(sets));
        }
        std::memcpy(block_.totals + row * sets, space_.totals, sizeof(double) * std::size_t(sets));
        std::memcpy(block_.magnitudes + row * sets, space_.magnitudes,
                    sizeof(double) * std::size_t(sets));
    }

    const Program& program_;
    const Block& block_;
    Workspace space_;
    NearOne near_one_;
    NearRatio near_ratio_;
    double share_ = 1.0;                                      // of the background row
    Index hits_ = 0, misses_ = 0;                             // of series, in this row
    bool integrals_ = false;                                  // instead of values
    Way way_ = Way::kBoth;                                    // with this tile
    Vec most_;                                                // exponents of a tile
    Vec total_, magnitude_;                                   // one set
    double products_[kTilePoints], magnitudes_[kTilePoints];  // of the pairs of a tile
};

}  // namespace PKEX_NAMESPACE
