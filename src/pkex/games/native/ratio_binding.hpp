// The part of the Python module that is about ratios: see ratio_data.hpp.
#pragma once

#include <nanobind/nanobind.h>

namespace pkex {

void bind_ratios(nanobind::module_& module);

}  // namespace pkex
