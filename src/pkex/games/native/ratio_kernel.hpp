// What ratio_kernel.cpp has for the table of its instruction set, in kernel.cpp.
#pragma once

#include "program.hpp"

namespace PKEX_NAMESPACE {

void measure(const pkex::Extents& pairs);

// The memory that `ratios` needs, in doubles.
pkex::Index ratio_workspace(const pkex::RatioTile& tile);

void ratios(const pkex::RatioTile& tile, double* memory);

}  // namespace PKEX_NAMESPACE
