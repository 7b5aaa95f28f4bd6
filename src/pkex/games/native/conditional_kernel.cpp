// Conditional games of one row for one instruction set: a lane is a point. The formulas are in
// conditional_blocks.py and conditional_chain.py.

#include "conditional_kernel.hpp"

#include "math.hpp"

namespace PKEX_NAMESPACE {

using pkex::ConditionalBlocks;
using pkex::ConditionalChain;
using pkex::ConditionalSums;
using pkex::Index;

namespace {

constexpr Index kWide = 2;   // vectors of points that share the numbers of a coalition
constexpr Index kNodes = 4;  // nodes of a chain that are summed side by side

PKEX_INLINE Index coalitions(std::int64_t size) { return Index(1) << size; }

PKEX_INLINE double power(double base, Index exponent) {
    double result = 1.0;
    for (Index i = 0; i < exponent; ++i) result *= base;
    return result;
}

// Add lanes times the weights of their points to one number for each set.
PKEX_INLINE void contract(const ConditionalSums& sums, Vec value, Index point, int count,
                          bool absolute_weights, double* to) {
    for (Index s = 0; s < sums.sets; ++s) {
        double total = 0.0;
        for (int i = 0; i < count; ++i) {
            const double weight = sums.weights[(point + i) * sums.sets + s];
            total += lane(value, i) * (absolute_weights && weight < 0.0 ? -weight : weight);
        }
        to[s] += total;
    }
}

// t^s (1 - t)^(m - s) for all nodes, and all s and m up to the largest block.
struct Powers {
    const double* data;
    Index most;
    const double* at(Index node, Index m) const {
        return data + (node * (most + 1) + m) * (most + 1);
    }
};

Index largest_block(const ConditionalBlocks& game) {
    Index most = 1;
    for (Index c = 0; c < game.blocks; ++c) most = game.sizes[c] > most ? game.sizes[c] : most;
    return most;
}

// Of a block for kWide vectors: sums over coalitions of each size, what each player adds to them,
// the worth of all, and the largest size of a worth.
struct Tallies {
    double* sums;     // (size + 1, kWide)
    double* changes;  // (size, size, kWide)
    double* last;     // (kWide)
    double* most;     // (kWide)
    static Index doubles(Index size) { return (size + 1 + size * size + 2) * kWide * kLanes; }
    Tallies(double* from, Index size)
        : sums(from),
          changes(sums + (size + 1) * kWide * kLanes),
          last(changes + size * size * kWide * kLanes),
          most(last + kWide * kLanes) {}
};

PKEX_INLINE void tally(const Tallies& to, Index size, Index coalition, const Vec* worths) {
    Index count = 0;
    for (Index j = 0; j < size; ++j) count += (coalition >> j) & 1;
    double* sums = to.sums + count * kWide * kLanes;
    for (Index v = 0; v < kWide; ++v) {
        store(sums + v * kLanes, load(sums + v * kLanes) + worths[v]);
        store(to.most + v * kLanes, larger(load(to.most + v * kLanes), absolute(worths[v])));
    }
    for (Index j = 0; j < size; ++j) {
        const bool inside = (coalition >> j) & 1;
        double* change = to.changes + (j * size + (inside ? count - 1 : count)) * kWide * kLanes;
        for (Index v = 0; v < kWide; ++v) {
            const Vec before = load(change + v * kLanes);
            store(change + v * kLanes, inside ? before + worths[v] : before - worths[v]);
        }
    }
    if (coalition == coalitions(size) - 1) {
        for (Index v = 0; v < kWide; ++v) store(to.last + v * kLanes, worths[v]);
    }
}

struct Tile {
    Index point[kWide];
    int count[kWide];  // points of each vector; lanes beyond repeat the last one
    Tile(Index first, Index points) {
        for (Index v = 0; v < kWide; ++v) {
            const Index at = first + v * kLanes, left = points - at;
            point[v] = left > 0 ? at : points - 1;
            count[v] = left <= 0 ? 0 : left < kLanes ? int(left) : kLanes;
        }
    }
    Vec take(const double* row, Index v) const {
        if (count[v] == kLanes) return load(row + point[v]);
        return load_part(row + point[v], count[v] ? count[v] : 1);
    }
};

// The worths of a Gaussian block: share exp(-|A (z - m)|^2).
void tally_gaussian(const ConditionalBlocks& game, const Tile& tile, Index size, Index width,
                    const double* z, const double* means, const double* factors,
                    const double* shares, const Tallies& to, double* gaps) {
    for (Index coalition = 0; coalition < coalitions(size); ++coalition) {
        const double* mean = means + coalition * width;
        const double* matrix = factors + coalition * width * width;
        Vec exponents[kWide] = {};
        for (Index i = 0; i < width; ++i) {
            Vec rows[kWide] = {};
            for (Index v = 0; v < kWide; ++v) {
                const Vec gap = tile.take(z + i * game.sums.points, v) - mean[i];
                store(gaps + (i * kWide + v) * kLanes, gap);
            }
            for (Index j = 0; j <= i; ++j) {
                const double entry = matrix[i * width + j];
                if (entry == 0.0) continue;
                for (Index v = 0; v < kWide; ++v) {
                    rows[v] += load(gaps + (j * kWide + v) * kLanes) * entry;
                }
            }
            for (Index v = 0; v < kWide; ++v) exponents[v] += rows[v] * rows[v];
        }
        Vec worths[kWide];
        for (Index v = 0; v < kWide; ++v) {
            worths[v] = exponential(-exponents[v]) * shares[coalition];
        }
        tally(to, size, coalition, worths);
    }
}

}  // namespace

Index blocks_workspace(const ConditionalBlocks& game) {
    const Index most = largest_block(game);
    Index doubles = game.sums.nodes * (most + 1) * (most + 1) + 8;
    for (Index c = 0; c < game.blocks; ++c) doubles += Tallies::doubles(game.sizes[c]);
    doubles += (2 * game.blocks + game.players) * kWide * kLanes;
    Index widest = 1;
    for (Index c = 0; c < game.blocks; ++c) {
        widest = game.widths[c] > widest ? game.widths[c] : widest;
    }
    return doubles + widest * kWide * kLanes;
}

void sum_blocks(const ConditionalBlocks& game, double* memory) {
    const ConditionalSums& sums = game.sums;
    const Index most = largest_block(game), wide = kWide * kLanes;
    double* table = memory;
    for (Index k = 0; k < sums.nodes; ++k) {
        for (Index m = 0; m <= most; ++m) {
            double* row = table + (k * (most + 1) + m) * (most + 1);
            for (Index s = 0; s <= m; ++s) {
                row[s] = power(sums.t[k], s) * power(1.0 - sums.t[k], m - s);
            }
        }
    }
    const Powers powers = {table, most};
    double* tallies = table + sums.nodes * (most + 1) * (most + 1);
    Index room = 0;
    for (Index c = 0; c < game.blocks; ++c) room += Tallies::doubles(game.sizes[c]);
    double* means = tallies + room;               // of each block at a node
    double* before = means + game.blocks * wide;  // products of those before
    double* values = before + game.blocks * wide;
    double* gaps = values + game.players * wide;
    for (Index first = 0; first < sums.points; first += wide) {
        const Tile tile(first, sums.points);
        for (Index i = 0; i < room; ++i) tallies[i] = 0.0;
        for (Index i = 0; i < game.players * wide; ++i) values[i] = 0.0;
        const double *z = game.z, *mean = game.means, *matrix = game.factors;
        const double *share = game.shares, *worth = game.worths;
        double* at = tallies;
        for (Index c = 0; c < game.blocks; ++c) {
            const Index size = game.sizes[c], width = game.widths[c], count = coalitions(size);
            const Tallies to(at, size);
            if (width) {
                tally_gaussian(game, tile, size, width, z, mean, matrix, share, to, gaps);
                z += width * sums.points;
                mean += count * width;
                matrix += count * width * width;
                share += count;
            } else {
                for (Index coalition = 0; coalition < count; ++coalition) {
                    Vec worths[kWide];
                    for (Index v = 0; v < kWide; ++v) worths[v] = tile.take(worth, v);
                    tally(to, size, coalition, worths);
                    worth += sums.points;
                }
            }
            at += Tallies::doubles(size);
        }
        for (Index k = 0; k < sums.nodes; ++k) {
            Vec product[kWide];
            for (Index v = 0; v < kWide; ++v) product[v] = splat(1.0);
            at = tallies;
            for (Index c = 0; c < game.blocks; ++c) {
                const Index size = game.sizes[c];
                const double* power = powers.at(k, size);
                for (Index v = 0; v < kWide; ++v) {
                    Vec sum = splat(0.0);
                    for (Index s = 0; s <= size; ++s) {
                        sum += load(at + (s * kWide + v) * kLanes) * power[s];
                    }
                    store(before + (c * kWide + v) * kLanes, product[v]);
                    store(means + (c * kWide + v) * kLanes, sum);
                    product[v] = product[v] * sum;
                }
                at += Tallies::doubles(size);
            }
            for (Index v = 0; v < kWide; ++v) product[v] = splat(sums.u[k]);
            double* value = values + game.players * wide;
            for (Index c = game.blocks - 1; c >= 0; --c) {
                const Index size = game.sizes[c];
                at -= Tallies::doubles(size);
                value -= size * wide;
                const Tallies of(at, size);
                const double* power = powers.at(k, size - 1);
                for (Index v = 0; v < kWide; ++v) {
                    const Vec others = load(before + (c * kWide + v) * kLanes) * product[v];
                    for (Index j = 0; j < size; ++j) {
                        const double* change = of.changes + (j * size * kWide + v) * kLanes;
                        Vec sum = splat(0.0);
                        for (Index s = 0; s < size; ++s) sum += load(change + s * wide) * power[s];
                        double* to = value + (j * kWide + v) * kLanes;
                        store(to, load(to) + others * sum);
                    }
                    product[v] = product[v] * load(means + (c * kWide + v) * kLanes);
                }
            }
        }
        for (Index v = 0; v < kWide && tile.count[v]; ++v) {
            Vec last = splat(1.0), size = splat(1.0);
            at = tallies;
            for (Index c = 0; c < game.blocks; ++c) {
                const Tallies of(at, game.sizes[c]);
                last = last * load(of.last + v * kLanes);
                size = size * load(of.most + v * kLanes);
                at += Tallies::doubles(game.sizes[c]);
            }
            contract(sums, last, tile.point[v], tile.count[v], false, sums.totals);
            contract(sums, size, tile.point[v], tile.count[v], true, sums.magnitudes);
            for (Index j = 0; j < game.players; ++j) {
                contract(sums, load(values + (j * kWide + v) * kLanes), tile.point[v],
                         tile.count[v], false, sums.values + j * sums.sets);
            }
        }
    }
}

Index chain_workspace(const ConditionalChain& game) {
    const Index d = game.players;
    return (2 * (d + 2) * (d + 2) + 2 * d + 4 * (d + 2) * kNodes) * kLanes;
}

namespace {

// The gaps of some points, from l to q in gaps[l][q] and in turned[q][l], and the factors.
void find_gaps(const ConditionalChain& game, Index point, int count, double* gaps, double* turned,
               double* present) {
    const Index d = game.players, wide = d + 2, rule = (d + 1) * (d + 2);
    const double *gain = game.gaps, *price = gain + rule, *last = price + rule,
                 *prior = last + rule, *share = prior + rule;
    auto take = [&](Index k) {
        const double* from = game.z + k * game.sums.points + point;
        return count == kLanes ? load(from) : load_part(from, count);
    };
    auto put = [&](Index l, Index q, Vec value) {
        store(gaps + (l * wide + q) * kLanes, value);
        store(turned + (q * wide + l) * kLanes, value);
    };
    for (Index k = 0; k < d; ++k) {
        const Vec gap = (take(k) - game.x[k]) * game.scales[k];
        store(present + k * kLanes, exponential(-(gap * gap)));
    }
    for (Index l = 0; l <= d; ++l) {
        put(l, l + 1, splat(1.0));
        if (l == d) break;
        double at = l ? game.slopes[l] * game.x[l - 1] : 0.0;
        Vec mean = splat(at), exponent = splat(0.0);
        for (Index q = l + 1; q <= d; ++q) {
            const Index k = q - 1, place = l * wide + q;
            if (q > l + 1) {
                const Vec off = game.x[k] - mean;
                const double plain = game.x[k] - at;
                const Vec own = exponent + off * off * last[place] - prior[place] * plain * plain;
                put(l, q, exponential(-larger(own, splat(0.0))) * share[place]);
            }
            const Vec distance = take(k) - mean;
            exponent += distance * distance * price[place];
            mean += distance * gain[place];
            if (q < d) {
                mean = mean * game.slopes[q];
                at *= game.slopes[q];
            }
        }
        put(l, d + 1, exponential(-exponent) * share[l * wide + d + 1]);
    }
}

}  // namespace

void sum_chain(const ConditionalChain& game, double* memory) {
    const ConditionalSums& sums = game.sums;
    const Index d = game.players, wide = d + 2, room = kNodes * kLanes;
    double* gaps = memory;
    double* turned = gaps + wide * wide * kLanes;
    double* present = turned + wide * wide * kLanes;
    double* values = present + d * kLanes;
    double* forward = values + d * kLanes;  // without the factor of the player
    double* ahead = forward + wide * room;  // with it
    double* backward = ahead + wide * room;
    double* behind = backward + wide * room;
    for (Index point = 0; point < sums.points; point += kLanes) {
        const Index left = sums.points - point;
        const int count = left < kLanes ? int(left) : kLanes;
        find_gaps(game, point, count, gaps, turned, present);
        for (Index i = 0; i < d * kLanes; ++i) values[i] = 0.0;
        for (Index first = 0; first < sums.nodes; first += kNodes) {
            double t[kNodes], r[kNodes], u[kNodes];
            for (Index k = 0; k < kNodes; ++k) {  // nodes beyond the last count nothing
                const bool there = first + k < sums.nodes;
                t[k] = there ? sums.t[first + k] : 0.5;
                u[k] = there ? sums.u[first + k] : 0.0;
                r[k] = 1.0 - t[k];
                store(ahead + k * kLanes, splat(1.0));
                store(behind + (d + 1) * room + k * kLanes, splat(1.0));
            }
            for (Index q = 1; q <= d + 1; ++q) {
                Vec sum[kNodes] = {};
                for (Index l = 0; l < q; ++l) {
                    const Vec gap = load(turned + (q * wide + l) * kLanes);
                    for (Index k = 0; k < kNodes; ++k) {
                        sum[k] = sum[k] * r[k] + load(ahead + l * room + k * kLanes) * gap;
                    }
                }
                for (Index k = 0; k < kNodes; ++k) {
                    store(forward + q * room + k * kLanes, sum[k]);
                    if (q <= d) {
                        const Vec factor = load(present + (q - 1) * kLanes) * t[k];
                        store(ahead + q * room + k * kLanes, sum[k] * factor);
                    }
                }
            }
            for (Index step = 0; step < d; ++step) {
                const Index l = d - step;
                Vec sum[kNodes] = {};
                for (Index q = d + 1; q > l; --q) {
                    const Vec gap = load(gaps + (l * wide + q) * kLanes);
                    for (Index k = 0; k < kNodes; ++k) {
                        sum[k] = sum[k] * r[k] + load(behind + q * room + k * kLanes) * gap;
                    }
                }
                const Vec factor = load(present + (l - 1) * kLanes);
                for (Index k = 0; k < kNodes; ++k) {
                    store(backward + l * room + k * kLanes, sum[k]);
                    store(behind + l * room + k * kLanes, sum[k] * factor * t[k]);
                }
            }
            for (Index j = 1; j <= d; ++j) {
                Vec value = load(values + (j - 1) * kLanes);
                const Vec factor = load(present + (j - 1) * kLanes);
                for (Index k = 0; k < kNodes; ++k) {
                    const Vec inside = load(forward + j * room + k * kLanes) * factor *
                                       load(backward + j * room + k * kLanes);
                    Vec outside;
                    if (r[k] > 0.0) {
                        const Vec all = load(forward + (d + 1) * room + k * kLanes);
                        outside = (all - inside * t[k]) * (1.0 / r[k]);
                    } else {  // all others are present
                        outside = load(ahead + (j - 1) * room + k * kLanes) *
                                  load(gaps + ((j - 1) * wide + j + 1) * kLanes) *
                                  load(behind + (j + 1) * room + k * kLanes);
                    }
                    value += (inside - outside) * u[k];
                }
                store(values + (j - 1) * kLanes, value);
            }
        }
        Vec all = splat(1.0);
        for (Index k = 0; k < d; ++k) all = all * load(present + k * kLanes);
        contract(sums, all, point, count, false, sums.totals);
        contract(sums, splat(1.0), point, count, true, sums.magnitudes);
        for (Index j = 0; j < d; ++j) {
            contract(sums, load(values + j * kLanes), point, count, false,
                     sums.values + j * sums.sets);
        }
    }
}

}  // namespace PKEX_NAMESPACE
