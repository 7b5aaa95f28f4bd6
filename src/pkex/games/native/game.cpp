#include "game.hpp"

#include <cmath>
#include <stdexcept>

namespace pkex {
namespace {

void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

// The distances of the lower nodes from t = 1/2, in units of 1/2; empty unless the nodes mirror
// each other. 1 - 2 t is off by at most 2^-54, whatever the rounding of the upper node.
std::vector<double> mirrored(const std::vector<double>& nodes) {
    std::vector<double> distances;
    const std::size_t size = nodes.size();
    for (std::size_t i = 0; i < (size + 1) / 2; ++i) {
        if (!(std::fabs((nodes[i] + nodes[size - 1 - i]) - 1.0) <= 0x1p-51)) return {};
        if (i < size / 2) distances.push_back(1.0 - 2.0 * nodes[i]);
    }
    return distances;
}

constexpr Index kSeriesPlayers = 24;  // with fewer, a series is hardly ever cheaper than a sweep

constexpr Index kRatioPlayers = 8;  // with fewer, what a pair costs besides its players outweighs
constexpr Index kLookedUpPlayers = 26;  // as much, where most factors need no exponential

}  // namespace

Game::Game(const Parts& parts, const Rules& rules, const Rules& fallback, const Backend& backend)
    : backend_(backend), n_columns_(parts.n_columns), n_given_(parts.n_given) {
    require(parts.n_columns > 0 && parts.n_players > 0 && parts.n_given >= 0,
            "a game needs at least one column and one player.");
    take_factors(parts);
    rungs_ = take_rules(rules);
    require(!rungs_.empty(), "a ladder needs at least one rule.");
    fallback_ = take_rules(fallback);
    require(fallback_.size() <= 1, "there is at most one fallback.");
    bool near_one = parts.n_players >= kSeriesPlayers && rules.lower == 0.0;
    bool ratios = parts.n_players >= kRatioPlayers && rules.lower < 0.0;
    Index without = 0;  // factors that are looked up
    for (const Run& run : runs_) {
        near_one = near_one && has_exponent(run.kind);
        ratios = ratios && has_exponent(run.kind);
        if (run.kind == Kind::kCategorical) without += run.end - run.begin;
    }
    const bool looked_up = 2 * without >= Index(factors_.size());
    if (looked_up) ratios = ratios && parts.n_players >= kLookedUpPlayers;
    for (Rung& rung : rungs_) {
        if (ratios && rung.mirrored) {
            std::vector<double> distances(rung.mirrored, rung.mirrored + rung.size / 2);
            if (rung.size % 2) distances.push_back(0.0);
            rung.signed_series = signed_series_of(distances);
        }
        if (!near_one || rung.any_factors) continue;
        std::vector<double> nodes(rung.nodes, rung.nodes + rung.size);
        for (double& node : nodes) node *= 0.5;
        rung.series = series_of(nodes);
    }
    program_ = {factors_.data(),
                Index(factors_.size()),
                runs_.data(),
                Index(runs_.size()),
                parts.n_players,
                rungs_.data(),
                Index(rungs_.size()),
                rules.lower,
                parts.n_given > 0 || rules.lower > 0.0,
                near_one,
                ratios,
                Index(factors_.size()) == parts.n_players,
                !looked_up,
                rules.negligible,
                nullptr,
                nullptr,
                nullptr};
}

void Game::plant(const std::vector<Index>& members, const std::vector<Index>& sizes,
                 const std::vector<bool>& ordered, const std::vector<Index>& rule_sizes,
                 const std::vector<double>& nodes, const std::vector<double>& weights) {
    const std::size_t count = sizes.size();
    require(count > 0 && ordered.size() == count && rule_sizes.size() == count &&
                nodes.size() == weights.size() && groups_.empty(),
            "a hierarchy needs groups, each with an order and a rule, and is given once.");
    members_ = members;
    const double* node = numbers_.emplace_back(nodes).data();
    const double* weight = numbers_.emplace_back(weights).data();
    std::vector<bool> seen(members.size(), false);
    Index first = 0, first_node = 0, widest = 0;
    for (std::size_t i = 0; i < count; ++i) {
        require(sizes[i] > 0 && sizes[i] <= Index(members.size()) - first && rule_sizes[i] >= 0 &&
                    rule_sizes[i] <= Index(nodes.size()) - first_node &&
                    (rule_sizes[i] > 0 || ordered[i] || sizes[i] < 3),
                "the sizes of groups and rules must sum to their numbers.");
        for (Index k = first; k < first + sizes[i]; ++k) {
            const Index member = members_[std::size_t(k)];
            require(member >= 0 && member < program_.n_players + Index(i) &&
                        member < Index(members.size()) && !seen[std::size_t(member)],
                    "a member of a group must be a player or a group before it, once.");
            seen[std::size_t(member)] = true;
        }
        groups_.push_back({members_.data() + first, sizes[i], ordered[i], node + first_node,
                           weight + first_node, rule_sizes[i]});
        widest = sizes[i] > widest ? sizes[i] : widest;
        first += sizes[i];
        first_node += rule_sizes[i];
    }
    require(first == Index(members.size()) && first_node == Index(nodes.size()) &&
                first == program_.n_players + Index(count) - 1,
            "the groups of a hierarchy must make up a tree of all players.");
    tree_ = {groups_.data(), Index(count), widest};
    program_.tree = &tree_;
    program_.near_one = false;  // whose series are those of rules
    bool exponents = program_.exponentials;
    for (const Run& run : runs_) exponents = exponents && has_exponent(run.kind);
    program_.deficits = exponents ? &deficit_series() : nullptr;
    program_.signed_deficits = exponents ? &signed_deficit_series() : nullptr;
}

void Game::take_factors(const Parts& parts) {
    const std::size_t count = parts.kinds.size();
    require(parts.columns.size() == count && parts.players.size() == count &&
                parts.a.size() == count && parts.b.size() == count,
            "the arrays of the factors must have one length.");
    std::vector<bool> seen(std::size_t(parts.n_players), false);
    const auto add = [&](Kind kind, Index column, Index player, double a, double b, double c) {
        const Index index = Index(factors_.size());
        if (runs_.empty() || runs_.back().kind != kind) runs_.push_back({kind, index, index});
        runs_.back().end = index + 1;
        factors_.push_back({column, player, !seen[std::size_t(player)], a, b, c});
        seen[std::size_t(player)] = true;
    };
    for (std::size_t i = 0; i < count; ++i) {
        require(parts.kinds[i] > 0 && parts.kinds[i] < kKinds, "there is no such kind of factor.");
        const Kind kind = Kind(parts.kinds[i]);
        const Index columns = kind == Kind::kGiven ? parts.n_given : parts.n_columns;
        require(parts.columns[i] >= 0 && parts.columns[i] < columns, "there is no such column.");
        require(parts.players[i] >= 0 && parts.players[i] < parts.n_players,
                "there is no such player.");
        const double b = kind == Kind::kCategorical ? -std::log1p(-parts.a[i]) : parts.b[i];
        add(kind, parts.columns[i], parts.players[i], parts.a[i], b, parts.b[i]);
    }
    for (Index player = 0; player < parts.n_players; ++player) {
        if (!seen[std::size_t(player)]) add(Kind::kNone, 0, player, 0.0, 0.0, 0.0);
    }
}

std::vector<Rung> Game::take_rules(const Rules& rules) {
    const std::size_t count = rules.sizes.size();
    require(rules.limits.size() == count && rules.any_factors.size() == count &&
                rules.nodes.size() == rules.weights.size(),
            "the arrays of the rules must have one length.");
    std::vector<Rung> rungs;
    std::size_t first = 0;
    for (std::size_t i = 0; i < count; ++i) {
        require(rules.sizes[i] > 0 && std::size_t(rules.sizes[i]) <= rules.nodes.size() - first,
                "the sizes of the rules must be positive and sum to the number of nodes.");
        const std::size_t last = first + std::size_t(rules.sizes[i]);
        std::vector<double> nodes(rules.nodes.begin() + Index(first),
                                  rules.nodes.begin() + Index(last));
        std::vector<double> distances = mirrored(nodes);
        for (double& node : nodes) node *= 2.0;
        Rung rung = {};
        rung.size = rules.sizes[i];
        rung.limit = rules.limits[i];
        rung.any_factors = rules.any_factors[i];
        rung.nodes = numbers_.emplace_back(std::move(nodes)).data();
        rung.weights = numbers_
                           .emplace_back(rules.weights.begin() + Index(first),
                                         rules.weights.begin() + Index(last))
                           .data();
        if (!distances.empty()) {
            rung.mirrored = numbers_.emplace_back(std::move(distances)).data();
        }
        rungs.push_back(rung);
        first = last;
    }
    require(first == rules.nodes.size(), "the sizes of the rules must sum to the number of nodes.");
    return rungs;
}

}  // namespace pkex
