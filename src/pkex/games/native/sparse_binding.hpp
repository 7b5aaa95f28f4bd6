// The part of the Python module that is about sparse rows.
#pragma once

#include <nanobind/nanobind.h>

namespace pkex {

void bind_sparse(nanobind::module_& module);

}  // namespace pkex
