// What variance_kernel.cpp has for the table of its instruction set, in kernel.cpp.
#pragma once

#include "program.hpp"

namespace PKEX_NAMESPACE {

pkex::Index variances_workspace(const pkex::VarianceTile& tile);

void sum_variances(const pkex::VarianceTile& tile, double* workspace);

}  // namespace PKEX_NAMESPACE
