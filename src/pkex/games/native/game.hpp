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
    Program program_;
};

}  // namespace pkex
