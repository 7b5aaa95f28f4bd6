#include "tree_binding.hpp"

#include <nanobind/ndarray.h>

#include "checks.hpp"
#include "game.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace pkex {
namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;
using Integers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::device::cpu>;

void plant(Game& game, const Integers& members, const Integers& sizes, const Integers& ordered,
           const Integers& rule_sizes, const Vector& nodes, const Vector& weights) {
    const auto flags = as_vector<std::int64_t>(ordered);
    game.plant(as_vector<Index>(members), as_vector<Index>(sizes), {flags.begin(), flags.end()},
               as_vector<Index>(rule_sizes), as_vector<double>(nodes), as_vector<double>(weights));
}

}  // namespace

void bind_trees(nb::module_& module) {
    module.def("plant", &plant, "game"_a, "members"_a.noconvert(), "sizes"_a.noconvert(),
               "ordered"_a.noconvert(), "rule_sizes"_a.noconvert(), "nodes"_a.noconvert(),
               "weights"_a.noconvert());
}

}  // namespace pkex
