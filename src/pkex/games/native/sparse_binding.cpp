// The integrals of sparse rows: see pkex.games.sparse_integrals, which has the same loop in NumPy.
//
// It takes arrays of entries, checks them, and integrates row by row without the GIL.

#include "sparse_binding.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <cmath>
#include <optional>
#include <vector>

#include "checks.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using pkex::Index;
using pkex::require;
using pkex::require_shape;

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Result = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Factors of present and of absent players, and their difference: `Ends` of Python.
struct Ends {
    const double *present, *absent, *change;
    Index present_step, absent_step, change_step;  // 0 where all have the same

    Ends(const Vector& of_present, const Vector& of_absent, const Vector& of_change, Index count)
        : present(of_present.data()),
          absent(of_absent.data()),
          change(of_change.data()),
          present_step(step(of_present, count)),
          absent_step(step(of_absent, count)),
          change_step(step(of_change, count)) {}

    double at(Index i, double t) const {
        return (1.0 - t) * absent[i * absent_step] + t * present[i * present_step];
    }

    double change_at(Index i) const { return change[i * change_step]; }

private:
    static Index step(const Vector& part, Index count) {
        const Index there = Index(part.shape(0));
        require(there == count || there == 1, "ends must have one number, or one for each place.");
        return there == 1 ? 0 : part.stride(0);
    }
};

// Where the parts of each of `count` begin, and in the end where the last one stops.
void require_starts(const Numbers& starts, const char* name, Index count, Index stop) {
    const Index size = Index(starts.shape(0));
    const std::int64_t* at = starts.data();
    bool fits = size == count + 1 && at[0] == 0 && at[size - 1] == stop;
    for (Index i = 0; fits && i < count; ++i) fits = at[i] <= at[i + 1];
    require(fits, std::string(name) + " must ascend, from 0 to the number of parts.");
}

void integrate_sparse(const Vector& nodes, const Vector& shares, const Numbers& slots_of_rows,
                      const Numbers& entries_of_slots, const Numbers& points,
                      const nb::tuple& at_entries, const nb::tuple& at_empty,
                      const nb::tuple& first_at_entries, const nb::tuple& first_at_empty,
                      const Matrix& log_products, const std::optional<Matrix>& changes,
                      const Matrix& weights, const Result& values, const Result& rest) {
    const Index n_nodes = Index(nodes.shape(0)), n_rows = Index(rest.shape(0));
    const Index n_slots = Index(values.shape(0)), n_entries = Index(points.shape(0));
    const Index n_points = Index(weights.shape(0)), sets = Index(weights.shape(1));
    require_shape(shares, "shares", {n_nodes});
    require_shape(log_products, "log_products", {n_nodes, n_points});
    if (changes) require_shape(*changes, "changes", {n_nodes, n_points});
    require_shape(values, "values", {n_slots, sets});
    require_shape(rest, "rest", {n_rows, sets});
    require_starts(slots_of_rows, "slots_of_rows", n_rows, n_slots);
    require_starts(entries_of_slots, "entries_of_slots", n_slots, n_entries);
    for (Index e = 0; e < n_entries; ++e) {
        require(points.data()[e] >= 0 && points.data()[e] < n_points,
                "points must be numbers of rows of the weights.");
    }
    const auto ends = [](const nb::tuple& parts, Index count) {
        return Ends(nb::cast<Vector>(parts[0]), nb::cast<Vector>(parts[1]),
                    nb::cast<Vector>(parts[2]), count);
    };
    const Ends here = ends(at_entries, n_entries), empty = ends(at_empty, n_slots);
    const Ends first = ends(first_at_entries, n_entries);
    const Ends first_empty = ends(first_at_empty, n_slots);
    const std::vector<double> t = pkex::as_vector<double>(nodes),
                              share = pkex::as_vector<double>(shares);

    const nb::gil_scoped_release released;
    std::vector<double> product(std::size_t(n_points), 0.0), summed(std::size_t(sets), 0.0);
    std::vector<double> gains, first_gains;  // of the entries of a row, without the weights
    const std::int64_t* entries = entries_of_slots.data();
    for (Index row = 0; row < n_rows; ++row) {
        const Index begin = Index(slots_of_rows.data()[row]);
        const Index end = Index(slots_of_rows.data()[row + 1]);
        const Index first_entry = Index(entries[begin]);
        gains.assign(std::size_t(Index(entries[end]) - first_entry), 0.0);
        first_gains.assign(gains.size(), 0.0);
        double* to_rest = rest.data() + row * sets;
        for (Index node = 0; node < n_nodes; ++node) {
            const double at = t[std::size_t(node)];
            for (double& one : product) one = 0.0;
            double of_row = 0.0, first_changes = 0.0;
            for (Index s = begin; s < end; ++s) {
                const double f = empty.at(s, at), first_f = first_empty.at(s, at);
                const double ratio = first_f / f;
                of_row -= std::log(ratio);
                first_changes += first_empty.change_at(s) / first_f;
                for (Index e = Index(entries[s]); e < Index(entries[s + 1]); ++e) {
                    const double log = std::log(here.at(e, at) / first.at(e, at) * ratio);
                    product[std::size_t(points.data()[e])] += log;
                }
            }
            const double* logs = log_products.data() + node * n_points;
            for (Index p = 0; p < n_points; ++p) {
                double& one = product[std::size_t(p)];
                one = share[std::size_t(node)] * std::exp(logs[p] + (one + of_row));
            }
            for (double& sum : summed) sum = 0.0;
            const double* changed = changes ? changes->data() + node * n_points : nullptr;
            for (Index p = 0; p < n_points; ++p) {
                const double* weight = weights.data() + p * sets;
                const double worth = product[std::size_t(p)];
                const double gained = changed ? worth * changed[p] : 0.0;
                for (Index k = 0; k < sets; ++k) {
                    summed[std::size_t(k)] += worth * weight[k];
                    to_rest[k] += gained * weight[k];
                }
            }
            for (Index s = begin; s < end; ++s) {
                const double g = empty.change_at(s) / empty.at(s, at);
                const double first_g = first_empty.change_at(s) / first_empty.at(s, at);
                double* to = values.data() + s * sets;
                for (Index k = 0; k < sets; ++k) to[k] += g * summed[std::size_t(k)];
                for (Index e = Index(entries[s]); e < Index(entries[s + 1]); ++e) {
                    const double worth = product[std::size_t(points.data()[e])];
                    const std::size_t place = std::size_t(e - first_entry);
                    gains[place] += (here.change_at(e) / here.at(e, at) - g) * worth;
                    first_gains[place] += (first.change_at(e) / first.at(e, at) - first_g) * worth;
                }
            }
            for (Index k = 0; k < sets; ++k) to_rest[k] -= first_changes * summed[std::size_t(k)];
        }
        for (Index s = begin; s < end; ++s) {
            for (Index e = Index(entries[s]); e < Index(entries[s + 1]); ++e) {
                const double* weight = weights.data() + points.data()[e] * sets;
                const std::size_t place = std::size_t(e - first_entry);
                for (Index k = 0; k < sets; ++k) {
                    values.data()[s * sets + k] += gains[place] * weight[k];
                    to_rest[k] -= first_gains[place] * weight[k];
                }
            }
        }
    }
}

}  // namespace

void pkex::bind_sparse(nb::module_& module) {
    module.def("integrate_sparse", &integrate_sparse, "nodes"_a.noconvert(), "shares"_a.noconvert(),
               "slots_of_rows"_a.noconvert(), "entries_of_slots"_a.noconvert(),
               "points"_a.noconvert(), "at_entries"_a, "at_empty"_a, "first_at_entries"_a,
               "first_at_empty"_a, "log_products"_a.noconvert(), "changes"_a.noconvert().none(),
               "weights"_a.noconvert(), "values"_a.noconvert(), "rest"_a.noconvert());
}
