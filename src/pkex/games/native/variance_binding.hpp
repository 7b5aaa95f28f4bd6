// The part of the Python module that sums up variances: see variance_data.hpp.
#pragma once

#include <nanobind/nanobind.h>

namespace pkex {

void bind_variances(nanobind::module_& module);

}  // namespace pkex
