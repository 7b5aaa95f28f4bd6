// The part of the Python module that looks up weights: see lookup_data.hpp.
#pragma once

#include <nanobind/nanobind.h>

namespace pkex {

void bind_lookup(nanobind::module_& module);

}  // namespace pkex
