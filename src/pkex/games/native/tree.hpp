// Values under a hierarchy: one pass up and one down a tree of players, for a vector of pairs.
//
// P_c and A_c are the products of the present and of the absent factors over the players of a group
// c. The weight of a member is that of its group times what its siblings have,
//
//     integral prod_{s != c} (A_s + t (P_s - A_s)) dt,
//
// which is (P_s + A_s) / 2 for a single sibling; where members have an order it is the product of
// the P_s before and of the A_s after. The value of a player is p - a times its weight. In the
// neutral game every A_c is 1. Nothing is divided; see pkex.games.hierarchy.
#pragma once

#include "pairs.hpp"

namespace PKEX_NAMESPACE {

using pkex::Group;
using pkex::Tree;

template <bool General>
struct Passes {
    const Tree& tree;
    Index n_players;
    Vec* up;      // P_c
    Vec* down;    // A_c, in the general game
    Vec* weight;  // of the change of a vertex
    Vec* spare;   // (2, widest)

    PKEX_INLINE Vec absent(Index vertex) const {
        if constexpr (General) {
            return down[vertex];
        } else {
            return splat(1.0);
        }
    }

    void rise() const {
        for (Index i = 0; i < tree.n_groups; ++i) {
            const Group& group = tree.groups[i];
            if (group.size == 2) {  // as all groups of a binary tree are
                const Index first = group.members[0], second = group.members[1];
                up[n_players + i] = up[first] * up[second];
                if (General) down[n_players + i] = down[first] * down[second];
                continue;
            }
            Vec p = up[group.members[0]], a = absent(group.members[0]);
            for (Index k = 1; k < group.size; ++k) {
                p *= up[group.members[k]];
                if (General) a *= absent(group.members[k]);
            }
            up[n_players + i] = p;
            if (General) down[n_players + i] = a;
        }
    }

    void fall() const {
        for (Index i = tree.n_groups; i-- > 0;) {
            const Group& group = tree.groups[i];
            const Vec w = weight[n_players + i];
            if (group.ordered) {
                in_order(group, w);
            } else if (group.size == 2) {
                const Index first = group.members[0], second = group.members[1];
                const Vec half = 0.5 * w;
                weight[first] = half * (up[second] + absent(second));
                weight[second] = half * (up[first] + absent(first));
            } else if (group.size == 1) {
                weight[group.members[0]] = w;
            } else {
                integrate(group, w);
            }
        }
    }

private:
    void in_order(const Group& group, Vec w) const {
        Vec before = w, after = splat(1.0);
        for (Index k = 0; k < group.size; ++k) {
            weight[group.members[k]] = before;
            before *= up[group.members[k]];
        }
        if constexpr (General) {
            for (Index k = group.size; k-- > 0;) {
                weight[group.members[k]] *= after;
                after *= absent(group.members[k]);
            }
        }
    }

    // All products but one at each node, forward and back.
    void integrate(const Group& group, Vec w) const {
        Vec* prefix = spare;
        Vec* value = spare + tree.widest;
        for (Index k = 0; k < group.size; ++k) weight[group.members[k]] = splat(0.0);
        for (Index node = 0; node < group.n_nodes; ++node) {
            const double t = group.nodes[node];
            Vec before = group.weights[node] * w;
            for (Index k = 0; k < group.size; ++k) {
                const Index member = group.members[k];
                prefix[k] = before;
                value[k] = (1.0 - t) * absent(member) + t * up[member];
                before *= value[k];
            }
            Vec after = splat(1.0);
            for (Index k = group.size; k-- > 0;) {
                weight[group.members[k]] += prefix[k] * after;
                after *= value[k];
            }
        }
    }
};

// Hand the values of all players, each times -scale / 2, to `take`; return the product of the
// present factors. `memory` is that of the workspace.
template <bool General, class Take>
Vec solve_tree(const Players<General>& players, const Tree& tree, Vec scale, Vec* memory,
               const Take& take) {
    const Index n = players.count, vertices = n + tree.n_groups;
    const Passes<General> passes = {
        tree, n, memory, memory + vertices, memory + 2 * vertices, memory + 3 * vertices};
    for (Index j = 0; j < n; ++j) {
        passes.up[j] = players.present(j);
        if (General) passes.down[j] = players.absent(j);
    }
    passes.rise();
    passes.weight[vertices - 1] = scale;
    passes.fall();
    for (Index j = 0; j < n; ++j) take(j, players.v[j] * passes.weight[j]);
    return passes.up[vertices - 1];
}

}  // namespace PKEX_NAMESPACE
