// The Python module: takes arrays of any strides, checks them, and runs the hot loop without the
// GIL.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <optional>
#include <stdexcept>

#include "checks.hpp"
#include "corner_binding.hpp"
#include "distance_binding.hpp"
#include "form_binding.hpp"
#include "game.hpp"
#include "lookup_binding.hpp"
#include "memory.hpp"
#include "ratio_binding.hpp"
#include "series_binding.hpp"
#include "sparse_binding.hpp"
#include "tree_binding.hpp"
#include "variance_binding.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using pkex::as_vector;
using pkex::Backend;
using pkex::Block;
using pkex::Game;
using pkex::Index;
using pkex::require;
using pkex::require_shape;

using Reals = nb::ndarray<const double, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using Integers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::device::cpu>;
using Given = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Exponents = nb::ndarray<const double, nb::ndim<3>, nb::device::cpu>;
using Result = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<double, nb::ndim<3>, nb::device::cpu>;

// A matrix whose rows are contiguous: the one given, or a copy.
struct Rows {
    const double* data;
    Index stride;
    std::vector<double> copy;

    Rows(const double* from, Index rows, Index columns, Index row_stride, Index column_stride) {
        data = from;
        stride = row_stride;
        if (column_stride == 1 || columns < 2) return;
        copy.resize(std::size_t(rows) * std::size_t(columns));
        for (Index i = 0; i < rows; ++i) {
            for (Index k = 0; k < columns; ++k) {
                copy[std::size_t(i * columns + k)] = from[i * row_stride + k * column_stride];
            }
        }
        data = copy.data();
        stride = columns;
    }
};

// Call `work` with the workspace for so many weight sets, without the GIL.
template <class Work>
void run(const Game& game, Index sets, const Work& work) {
    const nb::gil_scoped_release released;
    thread_local pkex::Memory memory;
    work(memory.take(game.backend().workspace(game.program(), sets)));
    memory.give_back();
}

pkex::Rules rules_of(const Integers& sizes, const Vector& limits, const Integers& any_factors,
                     const Vector& nodes, const Vector& weights, double lower) {
    const auto flags = as_vector<std::int64_t>(any_factors);
    return {as_vector<Index>(sizes),
            as_vector<double>(limits),
            {flags.begin(), flags.end()},
            as_vector<double>(nodes),
            as_vector<double>(weights),
            lower,
            0.0};
}

void make_game(Game* self, const Integers& kinds, const Integers& columns, const Integers& players,
               const Vector& a, const Vector& b, Index n_columns, Index n_given, Index n_players,
               const Integers& sizes, const Vector& limits, const Integers& any_factors,
               const Vector& nodes, const Vector& weights, double lower,
               const Vector& fallback_nodes, const Vector& fallback_weights, double negligible,
               const std::string& isa) {
    const pkex::Parts parts = {as_vector<std::int32_t>(kinds),
                               as_vector<Index>(columns),
                               as_vector<Index>(players),
                               as_vector<double>(a),
                               as_vector<double>(b),
                               n_columns,
                               n_given,
                               n_players};
    pkex::Rules fallback = {};
    fallback.nodes = as_vector<double>(fallback_nodes);
    fallback.weights = as_vector<double>(fallback_weights);
    if (!fallback.nodes.empty()) {
        fallback.sizes = {Index(fallback.nodes.size())};
        fallback.limits = {HUGE_VAL};
        fallback.any_factors = {true};
    }
    const Backend& backend = isa.empty() ? pkex::default_backend() : pkex::backend_named(isa);
    pkex::Rules rules = rules_of(sizes, limits, any_factors, nodes, weights, lower);
    rules.negligible = negligible;
    new (self) Game(parts, rules, fallback, backend);
}

// The part of a block that both entry points share; `z` must live as long as the block.
Block data_block(const Game& game, const Matrix& x, const Rows& z, Index points,
                 const std::optional<Given>& given,
                 const std::optional<Given>& given_values = std::nullopt) {
    Block block = {};
    block.rows = Index(x.shape(0));
    block.points = points;
    block.sets = 1;
    block.x = x.data();
    block.x_row = x.stride(0);
    block.x_column = x.stride(1);
    block.z = z.data;
    block.z_column = z.stride;
    require(given.has_value() == (game.n_given() > 0), "given must go with the factors that are.");
    if (given) {
        require_shape(*given, "given", {game.n_given(), block.rows, block.points});
        block.given = given->data();
    }
    if (given_values) {
        require_shape(*given_values, "given_values", {game.n_given(), block.rows, block.points});
        block.given_values = given_values->data();
    }
    return block;
}

// The absent factors and their deficits, which must live as long as the block they are put into.
struct Absent {
    std::optional<Rows> values, deficits;

    Absent(const Game& game, Block& block, const std::optional<Matrix>& given_values,
           const std::optional<Matrix>& given_deficits, const std::optional<Exponents>& exponents) {
        require(given_values.has_value() == given_deficits.has_value(),
                "absent factors must go with their deficits.");
        require(given_values || !exponents, "exponents must go with absent factors.");
        if (!given_values || !given_deficits) return;
        require(block.given_values || game.n_given() == 0,
                "given_values must go with absent factors.");
        const Index players = game.program().n_players;
        const auto take = [&](const Matrix& from, const char* name, std::optional<Rows>& to) {
            require_shape(from, name, {players, block.points});
            return &to.emplace(from.data(), players, block.points, from.stride(0), from.stride(1));
        };
        const Rows* of_values = take(*given_values, "absent", values);
        const Rows* of_deficits = take(*given_deficits, "absent_deficits", deficits);
        block.absent = of_values->data;
        block.absent_player = of_values->stride;
        block.absent_deficits = of_deficits->data;
        block.absent_deficits_player = of_deficits->stride;
        if (!exponents) return;
        const Index tiles = (block.points + pkex::kTiledPoints - 1) / pkex::kTiledPoints;
        require_shape(*exponents, "absent_exponents", {tiles, players + 1, pkex::kTiledPoints});
        require(exponents->stride(2) == 1 && exponents->stride(1) == pkex::kTiledPoints,
                "the tiles of absent_exponents must be contiguous.");
        block.absent_exponents = exponents->data();
        block.absent_exponents_tile = exponents->stride(0);
    }
};

Rows columns_of(const Game& game, const Matrix& x, const Matrix& z) {
    require_shape(x, "x", {Index(x.shape(0)), game.n_columns()});
    require_shape(z, "z", {Index(z.shape(0)), game.n_columns()});
    return {z.data(), game.n_columns(), Index(z.shape(0)), z.stride(1), z.stride(0)};
}

nb::list steps_of(const std::vector<std::uint8_t>& used) {
    nb::list steps;
    for (std::size_t i = 0; i < used.size(); ++i) {
        if (used[i]) steps.append(int(i));
    }
    return steps;
}

// Returns the status and the indices of the rungs that were used; the fallback comes after the
// last.
nb::tuple explain(const Game& game, const Matrix& x, const Matrix& z, const Reals& weights,
                  const Result& values, const Result& totals, const Result& magnitudes,
                  const std::optional<Matrix>& absent, const std::optional<Matrix>& absent_deficits,
                  const std::optional<Exponents>& absent_exponents,
                  const std::optional<Given>& given, const std::optional<Given>& given_values,
                  const std::optional<Matrix>& background, const std::optional<Vector>& shares,
                  const std::optional<Given>& other_given,
                  const std::optional<Given>& other_given_values) {
    const Index players = game.program().n_players, points = Index(z.shape(0));
    const Rows columns = columns_of(game, x, z);
    Block block = data_block(game, x, columns, points, given, given_values);
    Block others = {};
    std::vector<double> parts;
    require(background.has_value() == shares.has_value() && !(background && absent),
            "a background must go with shares, and not with absent factors.");
    if (background && shares) {
        require_shape(*background, "background", {Index(background->shape(0)), game.n_columns()});
        require_shape(*shares, "shares", {Index(background->shape(0))});
        others = data_block(game, *background, columns, points, other_given, other_given_values);
        require((block.given_values && others.given_values) || game.n_given() == 0,
                "given_values must go with a background.");
        parts = as_vector<double>(*shares);
        block.background = &others;
        block.shares = parts.data();
    }
    require(weights.ndim() == 2 || weights.ndim() == 3,
            "weights must have the shape (points, sets) or (rows, points, sets).");
    const bool by_row = weights.ndim() == 3;
    block.sets = Index(weights.shape(weights.ndim() - 1));
    if (by_row) {
        require_shape(weights, "weights", {block.rows, points, block.sets});
    } else {
        require_shape(weights, "weights", {points, block.sets});
    }
    block.weights = weights.data();
    block.weights_row = by_row ? weights.stride(0) : 0;
    block.weights_point = weights.stride(by_row ? 1 : 0);
    block.weights_set = weights.stride(by_row ? 2 : 1);
    require_shape(values, "values", {block.rows, players, block.sets});
    require_shape(totals, "totals", {block.rows, block.sets});
    require_shape(magnitudes, "magnitudes", {block.rows, block.sets});
    block.values = values.data();
    block.totals = totals.data();
    block.magnitudes = magnitudes.data();
    const Absent missing(game, block, absent, absent_deficits, absent_exponents);
    block.fallback = game.fallback();
    std::vector<std::uint8_t> used(std::size_t(game.program().n_rungs + 1), 0);
    block.used = used.data();
    pkex::Status status = pkex::Status::kDone;
    if (block.rows > 0 && block.sets > 0) {
        run(game, block.sets, [&](double* memory) {
            status = game.backend().explain(game.program(), block, memory);
        });
    }
    return nb::make_tuple(int(status), steps_of(used));
}

// Adds `scale` times the values of every pair, and then the products of all factors, to `values`,
// or integrals of players. Returns the status, the rungs as `explain` does, the largest magnitude.
nb::tuple add_pairs(const Game& game, const Matrix& x, const Matrix& z, double scale,
                    const Cube& values, const std::optional<Matrix>& absent,
                    const std::optional<Matrix>& absent_deficits,
                    const std::optional<Exponents>& absent_exponents,
                    const std::optional<Given>& given, const std::optional<Given>& given_values,
                    const std::optional<Integers>& integrals) {
    const Index points = Index(z.shape(0)), players = game.program().n_players;
    const Rows columns = columns_of(game, x, z);
    Block block = data_block(game, x, columns, points, given, given_values);
    const Absent missing(game, block, absent, absent_deficits, absent_exponents);
    require(absent || !integrals, "integrals go with absent factors.");
    const auto chosen = integrals ? as_vector<Index>(*integrals) : std::vector<Index>();
    const pkex::Wanted wanted = {chosen.data(), Index(chosen.size())};
    for (const Index j : chosen) require(j >= 0 && j < players, "integrals are those of players.");
    require_shape(values, "values", {integrals ? wanted.count : players + 1, block.rows, points});
    require(points < 2 || values.stride(2) == 1, "the last axis of values must be contiguous.");
    block.sets = 2;  // the workspace of several
    block.fallback = game.fallback();
    std::vector<std::uint8_t> used(std::size_t(game.program().n_rungs + 1), 0);
    block.used = used.data();
    pkex::Pairs pairs = {values.data(), values.stride(0), values.stride(1), scale, nullptr, 0.0};
    if (integrals) pairs.integrals = &wanted;
    pkex::Status status = pkex::Status::kDone;
    run(game, block.sets, [&](double* memory) {
        status = game.backend().add_pairs(game.program(), block, pairs, memory);
    });
    return nb::make_tuple(int(status), steps_of(used), pairs.largest);
}

// The same with several sets of absent factors, one after the other: (players, sets, points), their
// points contiguous.
nb::tuple add_pairs_against(const Game& game, const Matrix& x, const Matrix& z, double scale,
                            const Cube& values, const Exponents& absent,
                            const Exponents& absent_deficits, const std::optional<Given>& given,
                            const std::optional<Given>& given_values) {
    const Index points = Index(z.shape(0)), players = game.program().n_players;
    const Index sets = Index(absent.shape(1));
    const Rows columns = columns_of(game, x, z);
    Block block = data_block(game, x, columns, points, given, given_values);
    require(block.given_values || game.n_given() == 0, "given_values must go with absent factors.");
    require_shape(absent, "absent", {players, sets, points});
    require_shape(absent_deficits, "absent_deficits", {players, sets, points});
    require_shape(values, "values", {players + 1, block.rows, points});
    require(points < 2 ||
                (values.stride(2) == 1 && absent.stride(2) == 1 && absent_deficits.stride(2) == 1),
            "the last axes of values and absent factors must be contiguous.");
    block.absent_player = absent.stride(0);
    block.absent_deficits_player = absent_deficits.stride(0);
    block.sets = 2;  // the workspace of several
    block.fallback = game.fallback();
    std::vector<std::uint8_t> used(std::size_t(game.program().n_rungs + 1), 0);
    block.used = used.data();
    pkex::Pairs pairs = {values.data(), values.stride(0), values.stride(1), scale, nullptr, 0.0};
    pkex::Status status = pkex::Status::kDone;
    run(game, block.sets, [&](double* memory) {
        for (Index set = 0; set < sets && status == pkex::Status::kDone; ++set) {
            block.absent = absent.data() + set * absent.stride(1);
            block.absent_deficits = absent_deficits.data() + set * absent_deficits.stride(1);
            status = game.backend().add_pairs(game.program(), block, pairs, memory);
        }
    });
    return nb::make_tuple(int(status), steps_of(used), pairs.largest);
}

// Evaluates the factors of the players and their deficits: (players, rows, points) each, or with
// shares the sums over the rows, (players, points), added to what is there.
void factors(const Game& game, const Matrix& x, const Matrix& z, const Result& values,
             const Result& deficits, const std::optional<Vector>& shares,
             const std::optional<Given>& given, const std::optional<Given>& given_values) {
    const Index players = game.program().n_players, points = Index(z.shape(0));
    const Rows columns = columns_of(game, x, z);
    const Block block = data_block(game, x, columns, points, given, given_values);
    require(block.given_values || game.n_given() == 0, "given_values must go with given.");
    std::vector<double> parts;
    if (shares) {
        require_shape(*shares, "shares", {block.rows});
        require_shape(values, "values", {players, points});
        require_shape(deficits, "deficits", {players, points});
        parts = as_vector<double>(*shares);
    } else {
        require_shape(values, "values", {players, block.rows, points});
        require_shape(deficits, "deficits", {players, block.rows, points});
    }
    if (block.rows == 0) return;
    const pkex::Evaluated to = {shares ? parts.data() : nullptr, values.data(), deficits.data()};
    run(game, 1,
        [&](double* memory) { game.backend().factors(game.program(), block, to, memory); });
}

// Adds `scale` times the factors of the players of every pair to `values`: (players, rows, points),
// the points contiguous.
void add_factors(const Game& game, const Matrix& x, const Matrix& z, double scale,
                 const Cube& values, const std::optional<Given>& given) {
    const Index points = Index(z.shape(0));
    const Rows columns = columns_of(game, x, z);
    const Block block = data_block(game, x, columns, points, given);
    require_shape(values, "values", {game.program().n_players, block.rows, points});
    require(points < 2 || values.stride(2) == 1, "the last axis of values must be contiguous.");
    const pkex::Pairs pairs = {values.data(), values.stride(0), values.stride(1),
                               scale,         nullptr,          0.0};
    run(game, 1,
        [&](double* memory) { game.backend().add_factors(game.program(), block, pairs, memory); });
}

// Only evaluates the factors, and sums their deficits over the players and points of each row.
void evaluate(const Game& game, const Matrix& x, const Matrix& z, const Result& sums,
              const std::optional<Given>& given) {
    const Rows columns = columns_of(game, x, z);
    Block block = data_block(game, x, columns, Index(z.shape(0)), given);
    require_shape(sums, "sums", {block.rows});
    block.totals = sums.data();
    run(game, 1, [&](double* memory) { game.backend().evaluate(game.program(), block, memory); });
}

// exp, expm1 (arguments <= 0) and sin(pi x) (0 <= x <= 1/2) as the kernels use them, for the tests.
void function(const std::string& name, const Vector& from, const Result& to,
              const std::string& isa) {
    const Backend& backend = isa.empty() ? pkex::default_backend() : pkex::backend_named(isa);
    require(name == "exp" || name == "expm1" || name == "sinpi",
            "there is no function " + name + ".");
    require_shape(to, "to", {Index(from.shape(0))});
    const std::vector<double> arguments = as_vector<double>(from);
    const int which = name == "exp" ? 0 : name == "expm1" ? 1 : 2;
    backend.function(which, arguments.data(), to.data(), Index(arguments.size()));
}

double multiply_add(Index steps, const std::string& isa) {
    const Backend& backend = isa.empty() ? pkex::default_backend() : pkex::backend_named(isa);
    const nb::gil_scoped_release released;
    return backend.multiply_add(steps);
}

// The names of the kinds of factors; a kind's number is its place.
nb::tuple kinds() {
    nb::list names;
    for (const char* name : pkex::kKindNames) names.append(name);
    return nb::tuple(names);
}

nb::dict config() {
    nb::dict result;
    nb::list isas;
    for (const Backend* backend : pkex::available_backends()) isas.append(backend->name);
    result["compiler"] = PKEX_COMPILER;
    result["isa"] = pkex::default_backend().name;
    result["lanes"] = pkex::default_backend().lanes;
    result["isas"] = nb::tuple(isas);
    return result;
}

}  // namespace

NB_MODULE(_kernel, module) {
    module.doc() = "The hot loop, compiled: see pkex.games.native.";
    if (pkex::available_backends().empty()) throw nb::import_error("the processor lacks SSE4.2.");
    nb::class_<Game>(module, "Game")
        .def("__init__", &make_game, nb::kw_only(), "kinds"_a.noconvert(), "columns"_a.noconvert(),
             "players"_a.noconvert(), "a"_a.noconvert(), "b"_a.noconvert(), "n_columns"_a,
             "n_given"_a, "n_players"_a, "sizes"_a.noconvert(), "limits"_a.noconvert(),
             "any_factors"_a.noconvert(), "nodes"_a.noconvert(), "weights"_a.noconvert(), "lower"_a,
             "fallback_nodes"_a.noconvert(), "fallback_weights"_a.noconvert(), "negligible"_a = 0.0,
             "isa"_a = "")
        .def("explain", &explain, "x"_a.noconvert(), "z"_a.noconvert(), "weights"_a.noconvert(),
             "values"_a.noconvert(), "totals"_a.noconvert(), "magnitudes"_a.noconvert(),
             "absent"_a.noconvert() = nb::none(), "absent_deficits"_a.noconvert() = nb::none(),
             "absent_exponents"_a.noconvert() = nb::none(), "given"_a.noconvert() = nb::none(),
             "given_values"_a.noconvert() = nb::none(), "background"_a.noconvert() = nb::none(),
             "shares"_a.noconvert() = nb::none(), "other_given"_a.noconvert() = nb::none(),
             "other_given_values"_a.noconvert() = nb::none())
        .def("add_pairs", &add_pairs, "x"_a.noconvert(), "z"_a.noconvert(), "scale"_a,
             "values"_a.noconvert(), "absent"_a.noconvert() = nb::none(),
             "absent_deficits"_a.noconvert() = nb::none(),
             "absent_exponents"_a.noconvert() = nb::none(), "given"_a.noconvert() = nb::none(),
             "given_values"_a.noconvert() = nb::none(), "integrals"_a.noconvert() = nb::none())
        .def("add_pairs_against", &add_pairs_against, "x"_a.noconvert(), "z"_a.noconvert(),
             "scale"_a, "values"_a.noconvert(), "absent"_a.noconvert(),
             "absent_deficits"_a.noconvert(), "given"_a.noconvert() = nb::none(),
             "given_values"_a.noconvert() = nb::none())
        .def("factors", &factors, "x"_a.noconvert(), "z"_a.noconvert(), "values"_a.noconvert(),
             "deficits"_a.noconvert(), "shares"_a.noconvert() = nb::none(),
             "given"_a.noconvert() = nb::none(), "given_values"_a.noconvert() = nb::none())
        .def("add_factors", &add_factors, "x"_a.noconvert(), "z"_a.noconvert(), "scale"_a,
             "values"_a.noconvert(), "given"_a.noconvert() = nb::none())
        .def("evaluate", &evaluate, "x"_a.noconvert(), "z"_a.noconvert(), "sums"_a.noconvert(),
             "given"_a.noconvert() = nb::none());
    module.def("function", &function, "name"_a, "values"_a.noconvert(), "to"_a.noconvert(),
               "isa"_a = "");
    module.def("multiply_add", &multiply_add, "steps"_a, "isa"_a = "");
    pkex::bind_ratios(module);
    pkex::bind_series(module);
    pkex::bind_trees(module);
    pkex::bind_lookup(module);
    pkex::bind_distances(module);
    pkex::bind_corners(module);
    pkex::bind_forms(module);
    pkex::bind_sparse(module);
    pkex::bind_variances(module);
    module.def("kinds", &kinds);
    module.def("config", &config);
}
