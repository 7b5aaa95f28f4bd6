// The part of the Python module that integrates in two variables: see corner_data.hpp.
#pragma once

#include <nanobind/nanobind.h>

namespace pkex {

void bind_corners(nanobind::module_& module);

}  // namespace pkex
