// Products of the rows of a table with each other, T T', added up over small tiles of columns that
// are formed in the nearest cache and never leave it: for few players faster than writing the table
// and leaving it to BLAS.
//
// Sums stay vectors, one lane for every so many columns, until the end. They are kept by blocks of
// four rows and three rows, whose twelve sums fill the registers; blocks below the diagonal are
// left out.
#pragma once

#include "ratios.hpp"

namespace PKEX_NAMESPACE {

constexpr int kLeft = 4, kRight = 3;
constexpr Index kTileColumns = 192;  // a few kilobytes of each row

inline Index rounded_up(Index count, Index unit) { return (count + unit - 1) / unit * unit; }

// Calls `block(i, j)` for the blocks that have an entry on or above the diagonal, in their order.
template <class Block>
void each_block(Index rows, const Block& block) {
    for (Index i = 0; i < rows; i += kLeft) {
        for (Index j = i / kRight * kRight; j < rows; j += kRight) block(i, j);
    }
}

// Adds the products of the rows i to i + 3 with the rows j to j + 2.
inline void add_block(const double* left, const double* right, Index stride, Index columns,
                      double* sums) {
    Vec sum[kLeft][kRight];
    for (int i = 0; i < kLeft; ++i) {
        for (int j = 0; j < kRight; ++j) sum[i][j] = load(sums + (i * kRight + j) * kLanes);
    }
    for (Index e = 0; e < columns; e += kLanes) {
        Vec other[kRight];
        for (int j = 0; j < kRight; ++j) other[j] = load(right + j * stride + e);
        for (int i = 0; i < kLeft; ++i) {
            const Vec own = load(left + i * stride + e);
            for (int j = 0; j < kRight; ++j) sum[i][j] += own * other[j];
        }
    }
    for (int i = 0; i < kLeft; ++i) {
        for (int j = 0; j < kRight; ++j) store(sums + (i * kRight + j) * kLanes, sum[i][j]);
    }
}

// Where things stand in the workspace, in doubles.
struct GramWorkspace {
    Index rows;    // of the table, with some of zeros at the end
    Index groups;  // of a tile
    Index columns;
    Index blocks;
    Index size;

    GramWorkspace(Index players, Index n_nodes) {
        rows = rounded_up(players, kLeft) + kRight;
        groups = kTileColumns / (n_nodes * pkex::kRatioGroup);
        if (groups < 1) groups = 1;
        columns = groups * n_nodes * pkex::kRatioGroup;
        blocks = 0;
        each_block(players, [this](Index, Index) { ++blocks; });
        size = rows * columns + blocks * kLeft * kRight * kLanes;
    }
};

template <bool General, bool Positive>
void add_gram(const RatioTile& tile, double* sums, double* memory) {
    const GramWorkspace room(tile.players, tile.n_nodes);
    double* table = memory;
    double* blocks = memory + room.rows * room.columns;
    for (Index i = 0; i < room.size; ++i) memory[i] = 0.0;
    RatioTile part = tile;
    part.ratios = table;
    part.ratios_player = room.columns;
    for (Index first = 0; first < tile.groups; first += room.groups) {
        const Index left = tile.groups - first;
        part.order = tile.order + first;
        part.groups = left < room.groups ? left : room.groups;
        ratios_of<Ratio::kHalves, General, Positive>(part, sums);
        const Index columns = part.groups * tile.n_nodes * pkex::kRatioGroup;
        double* to = blocks;
        each_block(tile.players, [&](Index i, Index j) {
            add_block(table + i * room.columns, table + j * room.columns, room.columns, columns,
                      to);
            to += kLeft * kRight * kLanes;
        });
    }
    const double* from = blocks;
    each_block(tile.players, [&](Index i, Index j) {
        for (Index k = 0; k < kLeft * kRight; ++k, from += kLanes) {
            const Index row = i + k / kRight, column = j + k % kRight;
            if (row > column || column >= tile.players) continue;
            double sum = 0.0;
            for (int n = 0; n < kLanes; ++n) sum += from[n];
            tile.gram[row * tile.players + column] = sum;
            tile.gram[column * tile.players + row] = sum;
        }
    });
}

template <bool General, bool Positive>
void form_tile(const RatioTile& tile, double* memory) {
    if (!tile.weights) return ratios_of<Ratio::kPlain, General, Positive>(tile, memory);
    double* sums = memory;  // a vector for each player, and one more
    for (Index i = 0; i < (tile.players + 1) * kLanes; ++i) sums[i] = 0.0;
    if (tile.gram) {
        add_gram<General, Positive>(tile, sums,
                                    memory + rounded_up((tile.players + 1) * kLanes, 8));
    } else if (tile.ratios) {
        ratios_of<Ratio::kHalves, General, Positive>(tile, sums);
    } else {
        ratios_of<Ratio::kSums, General, Positive>(tile, sums);
    }
    for (Index j = 0; j <= tile.players; ++j) {
        double sum = 0.0;
        for (int i = 0; i < kLanes; ++i) sum += sums[j * kLanes + i];
        tile.sums[j] = sum;
    }
}

}  // namespace PKEX_NAMESPACE
