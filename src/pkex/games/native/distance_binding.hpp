// The part of the Python module that measures distances: see distance_data.hpp.
#pragma once

#include <nanobind/nanobind.h>

namespace pkex {

void bind_distances(nanobind::module_& module);

}  // namespace pkex
