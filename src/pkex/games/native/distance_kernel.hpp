// What distance_kernel.cpp has for the table of its instruction set, in kernel.cpp.
#pragma once

#include "program.hpp"

namespace PKEX_NAMESPACE {

void measure_distances(const pkex::Distances& of);

}  // namespace PKEX_NAMESPACE
