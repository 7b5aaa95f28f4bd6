// The hot loop for one instruction set: compiled once for each, with PKEX_NAMESPACE naming the
// namespace and the compiler options saying what the processor may be asked to do.

#include "block.hpp"
#include "block_sums.hpp"
#include "conditional_kernel.hpp"
#include "corner_kernel.hpp"
#include "distance_kernel.hpp"
#include "form_kernel.hpp"
#include "lookup_kernel.hpp"
#include "means.hpp"
#include "ratio_kernel.hpp"
#include "variance_kernel.hpp"

#define PKEX_STRING_(name) #name
#define PKEX_STRING(name) PKEX_STRING_(name)

namespace PKEX_NAMESPACE {
namespace {

Index workspace(const Program& program, Index sets) {
    return Workspace(program, sets, nullptr).size;
}

Status explain(const Program& program, const Block& block, double* memory) {
    return block.absent || block.background ? Games<true>(program, block, memory).explain()
                                            : Games<false>(program, block, memory).explain();
}

Status add_pairs(const Program& program, const Block& block, Pairs& pairs, double* memory) {
    return block.absent ? Games<true>(program, block, memory).add_pairs(pairs)
                        : Games<false>(program, block, memory).add_pairs(pairs);
}

void factors(const Program& program, const Block& block, const Evaluated& to, double* memory) {
    if (to.shares && has_plain_players(program)) {
        add_means(program, block, to);
    } else {
        Games<true>(program, block, memory).factors(to);
    }
}

void add_factors(const Program& program, const Block& block, const Pairs& pairs, double* memory) {
    Games<false>(program, block, memory).add_factors(pairs);
}

void evaluate(const Program& program, const Block& block, double* memory) {
    Games<false>(program, block, memory).sum_deficits();
}

Vec call(int which, Vec value) {
    switch (which) {
        case 0: return exponential(value);
        case 1: return -2.0 * half_deficit(-value);
        default: return sine_of_pi(value);
    }
}

// exp, expm1 for arguments <= 0, or sin(pi x) for 0 <= x <= 1/2.
void function(int which, const double* from, double* to, Index count) {
    for (Index i = 0; i < count; i += kLanes) {
        const int part = count - i < kLanes ? int(count - i) : kLanes;
        double lanes[kLanes];
        store(lanes, call(which, load_part(from + i, part)));
        for (int k = 0; k < part; ++k) to[i + k] = lanes[k];
    }
}

// The speed of bare multiply-adds: chains enough to hide the latency, and nothing else.
double multiply_add(Index steps) {
    constexpr int kChains = 12;
    Vec sum[kChains];
    for (int i = 0; i < kChains; ++i) sum[i] = splat(1.0 + i);
    const Vec factor = splat(0.5 + double(steps % 2) * 0x1p-40), term = splat(0.25);
    for (Index step = 0; step < steps; step += kChains * kLanes) {
        for (int i = 0; i < kChains; ++i) sum[i] = sum[i] * factor + term;
    }
    for (int i = 1; i < kChains; ++i) sum[0] += sum[i];
    return sum_of_lanes(sum[0]);
}

}  // namespace

extern const pkex::Backend backend;
const pkex::Backend backend = {PKEX_STRING(PKEX_LEVEL),
                               kLanes,
                               workspace,
                               explain,
                               add_pairs,
                               factors,
                               add_factors,
                               evaluate,
                               measure,
                               ratio_workspace,
                               ratios,
                               blocks_workspace,
                               sum_blocks,
                               chain_workspace,
                               sum_chain,
                               lookup_workspace,
                               contract_looked_up,
                               sum_sizes,
                               measure_distances,
                               measure_cells,
                               cell_workspace,
                               integrate_cells,
                               product_workspace,
                               multiply_cells,
                               variances_workspace,
                               sum_variances,
                               add_form,
                               function,
                               multiply_add};

}  // namespace PKEX_NAMESPACE
