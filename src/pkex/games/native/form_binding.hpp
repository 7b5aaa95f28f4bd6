// The part of the Python module that adds up quadratic forms: see form_data.hpp.
#pragma once

#include <nanobind/nanobind.h>

namespace pkex {

void bind_forms(nanobind::module_& module);

}  // namespace pkex
