// The sweep: products over all players but four, at every node, forward and back.
//
//     prefix_f = values of the fours before f,    suffix_f = w times the values of the fours after,
//     outside_f = prefix_f * suffix_f             for each node, all nodes as independent chains.
//
// Forward it stores prefixes and values, backward it multiplies and sums up the moments (see
// four_players.hpp). Nodes are taken in groups that fit the registers. `Single` nodes stand
// anywhere; `Mirrored` ones come as eta and -eta, which share the even and the odd part of the
// polynomial and of the moments, and perhaps the centre, which costs next to nothing. Where the
// polynomials come from and where the moments go is left to a `source` and a `sink`, which the
// compiler merges into the loops.
#pragma once

#include "four_players.hpp"
#include "program.hpp"

namespace PKEX_NAMESPACE {

using pkex::Index;
using pkex::Rung;

constexpr int kGroup = 8;  // most nodes of a group, but for a centre

template <int Count>
struct Single {
    static constexpr int kChains = Count;
    Vec tau[Count], square[Count], cube[Count];

    PKEX_INLINE void take(const Rung& rung, Index first, Vec scale, Vec* suffix) {
        for (int i = 0; i < Count; ++i) {
            tau[i] = splat(rung.nodes[first + i]);
            square[i] = tau[i] * tau[i];
            cube[i] = square[i] * tau[i];
            suffix[i] = rung.weights[first + i] * scale;
        }
    }

    PKEX_INLINE void values(const Vec* c, Vec* to) const {
        for (int i = 0; i < Count; ++i) {
            to[i] = (((c[4] * tau[i] + c[3]) * tau[i] + c[2]) * tau[i] + c[1]) * tau[i] + c[0];
        }
    }

    PKEX_INLINE void add_moments(const Vec* outside, Vec* m) const {
        for (int i = 0; i < Count; ++i) {
            m[0] += outside[i];
            m[1] += tau[i] * outside[i];
            m[2] += square[i] * outside[i];
            m[3] += cube[i] * outside[i];
        }
    }
};

// With even and odd part, p(eta) = e(eta^2) + eta o(eta^2), a node and its mirror image have
//
//     p(+-eta) = e +- eta o,    sum of (+-eta)^k outside = eta^k (high + low) for even k,
//                                                          eta^k (high - low) for odd k.
template <int Mirrors, bool Centre>
struct Mirrored {
    static constexpr int kChains = 2 * Mirrors + Centre;
    Vec eta[Mirrors], square[Mirrors], cube[Mirrors];

    PKEX_INLINE void take(const Rung& rung, Index first, Vec scale, Vec* suffix) {
        for (int i = 0; i < Mirrors; ++i) {
            eta[i] = splat(rung.mirrored[first + i]);
            square[i] = eta[i] * eta[i];
            cube[i] = square[i] * eta[i];
            suffix[2 * i] = rung.weights[first + i] * scale;
            suffix[2 * i + 1] = rung.weights[rung.size - 1 - (first + i)] * scale;
        }
        if (Centre) suffix[2 * Mirrors] = rung.weights[rung.size / 2] * scale;
    }

    PKEX_INLINE void values(const Vec* c, Vec* to) const {
        for (int i = 0; i < Mirrors; ++i) {
            const Vec even = (c[4] * square[i] + c[2]) * square[i] + c[0];
            const Vec odd = c[3] * square[i] + c[1];
            to[2 * i] = even - odd * eta[i];
            to[2 * i + 1] = even + odd * eta[i];
        }
        if (Centre) to[2 * Mirrors] = c[0];
    }

    PKEX_INLINE void add_moments(const Vec* outside, Vec* m) const {
        for (int i = 0; i < Mirrors; ++i) {
            const Vec low = unfused(outside[2 * i]), high = unfused(outside[2 * i + 1]);
            const Vec sum = low + high, difference = high - low;
            m[0] += sum;
            m[1] += eta[i] * difference;
            m[2] += square[i] * sum;
            m[3] += cube[i] * difference;
        }
        if (Centre) m[0] += outside[2 * Mirrors];
    }
};

// Sweep one group of nodes, from `first` on, over all fours. `chain` has room for two vectors for
// each four and node. The source is worked on as a local copy, so that it can live in registers.
template <class Nodes, class Source, class Sink>
void sweep_group(const Rung& rung, Index first, Vec scale, Index fours, Vec* chain, Source& given,
                 const Sink& sink) {
    constexpr int kChains = Nodes::kChains;
    Nodes nodes;
    Source source = given;
    Vec prefix[kChains], suffix[kChains], value[kChains];
    nodes.take(rung, first, scale, suffix);
    for (int i = 0; i < kChains; ++i) prefix[i] = splat(1.0);
    for (Index four = 0; four < fours; ++four) {
        Vec c[kCoefficients];
        source.read(four, c);
        nodes.values(c, value);
        Vec* to = chain + four * (2 * kChains);
        for (int i = 0; i < kChains; ++i) {
            to[2 * i] = prefix[i];
            to[2 * i + 1] = value[i];
            prefix[i] *= value[i];
        }
    }
    given = source;
    for (Index four = fours; four-- > 0;) {
        const Vec* from = chain + four * (2 * kChains);
        Vec m[kMoments] = {splat(0.0), splat(0.0), splat(0.0), splat(0.0)};
        for (int i = 0; i < kChains; ++i) {
            value[i] = from[2 * i] * suffix[i];
            suffix[i] *= from[2 * i + 1];
        }
        nodes.add_moments(value, m);
        sink.write(four, m);
    }
}

// Sweep all nodes of a rule of any kind, in groups of nearly equal size.
template <class Source, class Sink>
void sweep_single(const Rung& rung, Vec scale, Index fours, Vec* chain, Source& source,
                  const Sink& sink) {
    const Index groups = (rung.size + kGroup - 1) / kGroup;
    for (Index group = 0; group < groups; ++group) {
        const Index first = rung.size * group / groups;
        const auto go = [&](auto sweep) { sweep(rung, first, scale, fours, chain, source, sink); };
        switch (rung.size * (group + 1) / groups - first) {
            case 1: go(sweep_group<Single<1>, Source, Sink>); break;
            case 2: go(sweep_group<Single<2>, Source, Sink>); break;
            case 3: go(sweep_group<Single<3>, Source, Sink>); break;
            case 4: go(sweep_group<Single<4>, Source, Sink>); break;
            case 5: go(sweep_group<Single<5>, Source, Sink>); break;
            case 6: go(sweep_group<Single<6>, Source, Sink>); break;
            case 7: go(sweep_group<Single<7>, Source, Sink>); break;
            case 8: go(sweep_group<Single<8>, Source, Sink>); break;
            default: break;  // no group is larger
        }
    }
}

// Sweep all nodes of a symmetric rule of at least two nodes; a centre goes with the last group.
template <class Source, class Sink>
void sweep_mirrored(const Rung& rung, Vec scale, Index fours, Vec* chain, Source& source,
                    const Sink& sink) {
    const Index mirrors = rung.size / 2;
    const Index groups = (2 * mirrors + kGroup - 1) / kGroup;
    for (Index group = 0; group < groups; ++group) {
        const Index first = mirrors * group / groups;
        const bool centre = rung.size % 2 && group + 1 == groups;
        const auto go = [&](auto sweep) { sweep(rung, first, scale, fours, chain, source, sink); };
        switch (2 * (mirrors * (group + 1) / groups - first) + centre) {
            case 2: go(sweep_group<Mirrored<1, false>, Source, Sink>); break;
            case 3: go(sweep_group<Mirrored<1, true>, Source, Sink>); break;
            case 4: go(sweep_group<Mirrored<2, false>, Source, Sink>); break;
            case 5: go(sweep_group<Mirrored<2, true>, Source, Sink>); break;
            case 6: go(sweep_group<Mirrored<3, false>, Source, Sink>); break;
            case 7: go(sweep_group<Mirrored<3, true>, Source, Sink>); break;
            case 8: go(sweep_group<Mirrored<4, false>, Source, Sink>); break;
            case 9: go(sweep_group<Mirrored<4, true>, Source, Sink>); break;
            default: break;  // no group is larger
        }
    }
}

}  // namespace PKEX_NAMESPACE
