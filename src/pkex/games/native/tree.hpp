// Values under a hierarchy: one pass up and one down a tree of players, for vectors of pairs.
//
// P_c and A_c are the products of the present and of the absent factors over the players of a group
// c. The weight of a member is that of its group times what its siblings have,
//
//     integral prod_{s != c} (A_s + t (P_s - A_s)) dt,
//
// which is (P_s + A_s) / 2 for a single sibling; where members have an order it is the product of
// the P_s before and of the A_s after. The value of a player is p - a times its weight. In the
// neutral game every A_c is 1. Nothing is divided; see pkex.games.hierarchy.
//
// Only groups have a place of their own: what a player has is read from its factors, and its value
// is taken as soon as its weight is known. On the way down the weight of a group replaces its
// product, which no other group looks at. Several vectors go together, so that the one has work
// while the other waits for the group below or above.
#pragma once

#include <cmath>

#include "near_deficits.hpp"
#include "pairs.hpp"

namespace PKEX_NAMESPACE {

using pkex::Group;
using pkex::Tree;

// The players of `Vectors` vectors of pairs, and memory for as many: `up` for each of them the
// groups, in the general game `down` as well, and `spare` for 2 + 3 Vectors times the widest group.
template <bool General, int Vectors>
struct Passes {
    const Tree& tree;
    Players<General> players[Vectors];
    Vec* up;    // P_c, then the weight of the change of c
    Vec* down;  // A_c, in the general game
    Vec* spare;

    void rise() const {
        for (Index i = 0; i < tree.n_groups; ++i) {
            const Group& group = tree.groups[i];
            Vec p[Vectors], a[Vectors], other[Vectors];
            present(group.members[0], p);
            if (General) absent(group.members[0], a);
            for (Index k = 1; k < group.size; ++k) {
                present(group.members[k], other);
                for (int v = 0; v < Vectors; ++v) p[v] *= other[v];
                if (!General) continue;
                absent(group.members[k], other);
                for (int v = 0; v < Vectors; ++v) a[v] *= other[v];
            }
            for (int v = 0; v < Vectors; ++v) {
                up[v * tree.n_groups + i] = p[v];
                if (General) down[v * tree.n_groups + i] = a[v];
            }
        }
    }

    // The product of all present factors, before the pass down.
    Vec product(int vector) const { return up[(vector + 1) * tree.n_groups - 1]; }

    // Hand the values of all players to `take`, each times -scale / 2, added up over the vectors.
    template <class Take>
    void fall(const Vec* scale, const Take& take) const {
        for (int v = 0; v < Vectors; ++v) up[(v + 1) * tree.n_groups - 1] = scale[v];
        for (Index i = tree.n_groups; i-- > 0;) {
            const Group& group = tree.groups[i];
            Vec w[Vectors];
            for (int v = 0; v < Vectors; ++v) w[v] = up[v * tree.n_groups + i];
            if (group.ordered) {
                in_order(group, w, take);
            } else if (group.size == 2) {
                Vec first[Vectors], second[Vectors];
                times_mean(group.members[1], w, first);
                times_mean(group.members[0], w, second);
                settle(group.members[0], first, take);
                settle(group.members[1], second, take);
            } else if (group.size == 1) {
                settle(group.members[0], w, take);
            } else {
                integrate(group, w, take);
            }
        }
    }

private:
    PKEX_INLINE Index place(Index vertex, int vector) const {
        return vector * tree.n_groups + (vertex - players[0].count);
    }

    PKEX_INLINE void present(Index vertex, Vec* to) const {
        if (vertex < players[0].count) {
            for (int v = 0; v < Vectors; ++v) to[v] = players[v].present(vertex);
        } else {
            for (int v = 0; v < Vectors; ++v) to[v] = up[place(vertex, v)];
        }
    }

    PKEX_INLINE void absent(Index vertex, Vec* to) const {
        if (!General || vertex < players[0].count) {
            for (int v = 0; v < Vectors; ++v) to[v] = players[v].absent(vertex);
        } else {
            for (int v = 0; v < Vectors; ++v) to[v] = down[place(vertex, v)];
        }
    }

    // (P + A) / 2 of a vertex, times w; of a player of the neutral game that is 1 - v.
    PKEX_INLINE void times_mean(Index vertex, const Vec* w, Vec* to) const {
        if (!General && vertex < players[0].count) {
            for (int v = 0; v < Vectors; ++v) to[v] = w[v] - w[v] * players[v].v[vertex];
            return;
        }
        Vec p[Vectors], a[Vectors];
        present(vertex, p);
        if (General) absent(vertex, a);
        for (int v = 0; v < Vectors; ++v) {
            const Vec half = 0.5 * w[v];
            to[v] = General ? half * (p[v] + a[v]) : half * p[v] + half;
        }
    }

    // The weight of a vertex is known.
    template <class Take>
    PKEX_INLINE void settle(Index vertex, const Vec* w, const Take& take) const {
        if (vertex < players[0].count) {
            Vec value = players[0].v[vertex] * w[0];
            for (int v = 1; v < Vectors; ++v) value += players[v].v[vertex] * w[v];
            take(vertex, value);
        } else {
            for (int v = 0; v < Vectors; ++v) up[place(vertex, v)] = w[v];
        }
    }

    template <class Take>
    void in_order(const Group& group, const Vec* w, const Take& take) const {
        Vec before[Vectors], after[Vectors], other[Vectors];
        for (int v = 0; v < Vectors; ++v) {
            before[v] = w[v];
            after[v] = splat(1.0);
        }
        for (Index k = 0; k < group.size; ++k) {
            present(group.members[k], other);
            if (!General) settle(group.members[k], before, take);
            for (int v = 0; v < Vectors; ++v) {
                if (General) spare[k * Vectors + v] = before[v];
                before[v] *= other[v];
            }
        }
        if constexpr (!General) return;
        for (Index k = group.size; k-- > 0;) {
            absent(group.members[k], other);
            for (int v = 0; v < Vectors; ++v) {
                before[v] = spare[k * Vectors + v] * after[v];
                after[v] *= other[v];
            }
            settle(group.members[k], before, take);
        }
    }

    template <class Take>
    void integrate(const Group& group, const Vec* w, const Take& take) const {
        Vec* sums = spare;
        Vec* p = sums + Vectors * tree.widest;
        Vec* a = p + Vectors * tree.widest;
        for (Index k = 0; k < group.size; ++k) {
            present(group.members[k], p + k * Vectors);
            if (General) absent(group.members[k], a + k * Vectors);
            for (int v = 0; v < Vectors; ++v) sums[k * Vectors + v] = splat(0.0);
        }
        for (int v = 0; v < Vectors; ++v) leave_one_out(group, w[v], p + v, a + v, sums + v);
        for (Index k = 0; k < group.size; ++k) {
            settle(group.members[k], sums + k * Vectors, take);
        }
    }

    // All products but one at each node, forward and back.
    void leave_one_out(const Group& group, Vec w, const Vec* p, const Vec* a, Vec* sums) const {
        Vec* prefix = spare + 3 * Vectors * tree.widest;
        Vec* value = prefix + tree.widest;
        for (Index node = 0; node < group.n_nodes; ++node) {
            const double t = group.nodes[node];
            Vec before = group.weights[node] * w;
            for (Index k = 0; k < group.size; ++k) {
                prefix[k] = before;
                if constexpr (General) {
                    value[k] = (1.0 - t) * a[k * Vectors] + t * p[k * Vectors];
                } else {
                    value[k] = (1.0 - t) + t * p[k * Vectors];
                }
                before *= value[k];
            }
            Vec after = splat(1.0);
            for (Index k = group.size; k-- > 0;) {
                sums[k * Vectors] += prefix[k] * after;
                after *= value[k];
            }
        }
    }
};

// Passes over one vector of pairs.
template <bool General>
Passes<General, 1> passes_of(const Players<General>& players, const Program& program,
                             const Workspace& space) {
    const Index groups = program.tree->n_groups;
    return {*program.tree, {players}, space.tree, space.tree + groups, space.tree_spare};
}

// Hand the values of one vector of pairs, each times -scale / 2, to `take`; return the product of
// the present factors.
template <bool General, class Take>
Vec solve_tree(const Players<General>& players, const Program& program, const Workspace& space,
               Vec scale, const Take& take) {
    const auto passes = passes_of(players, program, space);
    passes.rise();
    const Vec product = passes.product(0);
    passes.fall(&scale, take);
    return product;
}

// Passes over neutral games with these half deficits, of the vectors of a tile from `first` on.
template <int Vectors>
Passes<false, Vectors> passes_of(const Vec* halves, int first, const Program& program,
                                 const Workspace& space) {
    Vec* up = space.tree + first * program.tree->n_groups;
    Passes<false, Vectors> passes = {*program.tree, {}, up, nullptr, space.tree_spare};
    for (int v = 0; v < Vectors; ++v) {
        const Vec* of_vector = halves + (first + v) * space.stride;
        passes.players[v] = {of_vector, nullptr, nullptr, program.n_players};
    }
    return passes;
}

// Tiles of the neutral game whose factors are all near 1.
class NearTree {
public:
    NearTree(const Program& program, const Workspace& space) : program_(program), space_(space) {}

    // Turn the exponents of a tile, of which `most` are the largest, into half deficits, and make
    // the pass up. Return the only rung, 0, or -1 with exponents that are larger or not finite.
    Index choose(int vectors, double most) {
        const DeficitSeries& series = *program_.deficits;
        if (!covers(series, most)) return -1;
        with_deficit(series, most, [&](const auto& deficit) {
            for (int v = 0; v < vectors; ++v) {
                Vec* s = space_.halves + v * space_.stride;
                for (Index j = 0; j < program_.n_players; ++j) s[j] = deficit(s[j]);
            }
        });
        const Vec sizes = vectors == 1 ? rise<1>() : rise<kSeriesTile>();
        return largest(sizes) < HUGE_VAL ? 0 : -1;
    }

    Vec product(int vector) const { return products_[vector]; }

    static Vec magnitude(int) { return splat(1.0); }

    // Add the values of all players, each times `scale`, to `to`.
    void add(int vectors, const Vec* scale, Vec* to) const {
        vectors == 1 ? add<1>(scale, to) : add<kSeriesTile>(scale, to);
    }

    // Hand the values of one vector to `take`.
    template <class Take>
    void solve(int vector, Vec scale, const Take& take) const {
        const Vec change = -2.0 * scale;
        passes_of<1>(space_.halves, vector, program_, space_).fall(&change, take);
    }

private:
    // Return the sizes of the products of all factors, added up.
    template <int Vectors>
    Vec rise() {
        const auto passes = passes_of<Vectors>(space_.halves, 0, program_, space_);
        passes.rise();
        Vec sizes = splat(0.0);
        for (int v = 0; v < Vectors; ++v) {
            products_[v] = passes.product(v);
            sizes += absolute(products_[v]);
        }
        return sizes;
    }

    template <int Vectors>
    void add(const Vec* scale, Vec* to) const {
        Vec change[Vectors];
        for (int v = 0; v < Vectors; ++v) change[v] = -2.0 * scale[v];
        passes_of<Vectors>(space_.halves, 0, program_, space_).fall(change, Add{to});
    }

    const Program& program_;
    const Workspace& space_;
    Vec products_[kSeriesTile];
};

}  // namespace PKEX_NAMESPACE
