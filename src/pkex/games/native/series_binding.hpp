// The part of the Python module that is about series, for the tests: see near_one_series.hpp.
#pragma once

#include <nanobind/nanobind.h>

namespace pkex {

void bind_series(nanobind::module_& module);

}  // namespace pkex
