// What becomes of the values of a block's pairs: handed out one by one, summed with one set of
// weights or with several, and written. Members of `Games` (block.hpp).
#pragma once

#include <cstring>

#include "block.hpp"

namespace PKEX_NAMESPACE {

template <bool General>
inline Status Games<General>::explain() {
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

template <bool General>
inline Status Games<General>::add_pairs(Pairs& pairs) {
    integrals_ = General ? pairs.integrals : nullptr;
    for (Index row = 0; row < block_.rows; ++row) {
        begin(row);
        for (Tile tile{row, 0, 0}; tile.point < block_.points; tile.point += tile.count) {
            const int vectors = prepare(tile);
            const Status status = keep(tile, vectors, splat(pairs.scale));
            if (status != Status::kDone) return status;
            double* to = pairs.values + row * pairs.row + tile.point;
            const Index count = integrals_ ? integrals_->count : program_.n_players;
            for (Index i = 0; i < count; ++i, to += pairs.player) {
                const Index j = integrals_ ? integrals_->players[i] : i;
                const double* from = space_.values + j * kTilePoints;
                for (int k = 0; k < tile.count; ++k) to[k] += from[k];
            }
            for (int k = 0; k < tile.count; ++k) {
                if (!integrals_) to[k] += pairs.scale * products_[k];
                if (!(magnitudes_[k] <= pairs.largest)) pairs.largest = magnitudes_[k];
            }
        }
    }
    return Status::kDone;
}

template <bool General>
inline void Games<General>::add_factors(const Pairs& pairs) {
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

template <bool General>
inline void Games<General>::sum_deficits() {
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

template <bool General>
inline void Games<General>::factors(const Evaluated& to) {
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

template <bool General>
inline void Games<General>::hand_out(const Evaluated& to, const Tile& tile, int vector) const {
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

template <bool General>
inline Status Games<General>::one_set(const Tile& tile, int vectors) {
    if (way_ == Way::kNearOne) return one_set_by(near_one_, tile, vectors);
    if (way_ == Way::kNearTree) return one_set_by(near_tree_, tile, vectors);
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

template <bool General>
template <class Solver>
inline Status Games<General>::one_set_by(const Solver& solver, const Tile& tile, int vectors) {
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

template <bool General>
inline Status Games<General>::keep(const Tile& tile, int vectors, Vec scale) {
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
        } else if (way_ == Way::kNearTree) {
            by(near_tree_);
        } else if (way_ == Way::kRatios && integrals_) {
            integrate_ratios(tile, i, scale);
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

template <bool General>
inline void Games<General>::divide_by_changes(int index) {
    for (Index i = 0; i < integrals_->count; ++i) {
        const Index j = integrals_->players[i];
        double* value = space_.values + j * kTilePoints + index * kLanes;
        store(value, load(value) / (-2.0 * space_.half_drops[j]));
    }
}

template <bool General>
inline void Games<General>::integrate_ratios(const Tile& tile, int index, Vec scale) {
    const Index point = tile.point + index * kLanes;
    const Keep take = {space_.values + index * kLanes};
    if (tile.count < kLanes) {
        near_ratio_.integrate(index, scale, *integrals_,
                              FromArrays<true>{block_, point, tile.count}, take);
    } else {
        near_ratio_.integrate(index, scale, *integrals_,
                              FromArrays<false>{block_, point, tile.count}, take);
    }
}

template <bool General>
inline Status Games<General>::many_sets(const Tile& tile, int vectors) {
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

template <bool General>
inline void Games<General>::write_one_set(Index row) const {
    for (Index j = 0; j < program_.n_players; ++j) {
        block_.values[row * program_.n_players + j] = sum_of_lanes(space_.sums[j]);
    }
    block_.totals[row] = sum_of_lanes(total_);
    block_.magnitudes[row] = sum_of_lanes(magnitude_);
}

template <bool General>
inline void Games<General>::write_many_sets(Index row) const {
    const Index sets = block_.sets;
    for (Index j = 0; j < program_.n_players; ++j) {
        std::memcpy(block_.values + (row * program_.n_players + j) * sets,
                    space_.many_sums + j * space_.sets, sizeof(double) * std::size_t(sets));
    }
    std::memcpy(block_.totals + row * sets, space_.totals, sizeof(double) * std::size_t(sets));
    std::memcpy(block_.magnitudes + row * sets, space_.magnitudes,
                sizeof(double) * std::size_t(sets));
}

}  // namespace PKEX_NAMESPACE
