// The program of a game as an object: checks what it is given, owns the arrays behind `Program`.
#pragma once

#include <string>
#include <vector>

#include "dispatch.hpp"

namespace pkex {

struct Parts {
    std::vector<std::int32_t> kinds;
    std::vector<Index> columns, players;
    std::vector<double> a, b;
    Index n_columns, n_given, n_players;
};

struct Rules {
    std::vector<Index> sizes;
    std::vector<double> limits;
    std::vector<bool> any_factors;
    std::vector<double> nodes, weights;  // of all rules, one after the other
    double lower;
    double negligible = 0.0;
};

class Game {
public:
    // `fallback` is empty or one rule. Raises std::invalid_argument where the parts do not fit.
    Game(const Parts& parts, const Rules& rules, const Rules& fallback, const Backend& backend);
    Game(const Game&) = delete;
    Game& operator=(const Game&) = delete;

    // Let the values be those of a hierarchy: members of all groups, one group after the other, as
    // `Tree` numbers them, and the nodes of the rules of those that have one.
    void plant(const std::vector<Index>& members, const std::vector<Index>& sizes,
               const std::vector<bool>& ordered, const std::vector<Index>& rule_sizes,
               const std::vector<double>& nodes, const std::vector<double>& weights);

    const Program& program() const { return program_; }
    const Rung* fallback() const { return fallback_.empty() ? nullptr : fallback_.data(); }
    const Backend& backend() const { return backend_; }
    Index n_columns() const { return n_columns_; }
    Index n_given() const { return n_given_; }

private:
    void take_factors(const Parts& parts);
    std::vector<Rung> take_rules(const Rules& rules);

    const Backend& backend_;
    Index n_columns_, n_given_;
    std::vector<Factor> factors_;
    std::vector<Run> runs_;
    std::vector<std::vector<double>> numbers_;  // nodes, weights and distances of the rungs
    std::vector<Rung> rungs_, fallback_;
    std::vector<Index> members_;
    std::vector<Group> groups_;
    Tree tree_ = {};
    Program program_;
};

}  // namespace pkex
