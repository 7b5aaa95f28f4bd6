// The part of the Python module that is about hierarchies: see tree.hpp.
#pragma once

#include <nanobind/nanobind.h>

namespace pkex {

void bind_trees(nanobind::module_& module);

}  // namespace pkex
