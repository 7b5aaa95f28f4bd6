// The part of the Python module that is about conditional games: see conditional_data.hpp.
#pragma once

#include <nanobind/nanobind.h>

namespace pkex {

void bind_conditional(nanobind::module_& module);

}  // namespace pkex
