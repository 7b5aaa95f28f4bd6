// What lookup_kernel.cpp has for the table of its instruction set, in kernel.cpp.
#pragma once

#include "program.hpp"

namespace PKEX_NAMESPACE {

// The memory that `contract_looked_up` needs, in doubles.
pkex::Index lookup_workspace(const pkex::LookedUp& tile);

void contract_looked_up(const pkex::LookedUp& tile, double* memory);

// sums[v] = sum over i of |values[v, i]|
void sum_sizes(const double* values, pkex::Index n_values, pkex::Index count, double* sums);

}  // namespace PKEX_NAMESPACE
