// The instruction sets the hot loop was compiled for, and the choice among them at run time.
#pragma once

#include <string>
#include <vector>

#include "program.hpp"

namespace pkex {

// Those this processor can run, the best last.
const std::vector<const Backend*>& available_backends();

// The best one, or the best up to the level that the environment variable PKEX_ISA names.
const Backend& default_backend();

// The one of that name; raises std::invalid_argument when there is none.
const Backend& backend_named(const std::string& name);

}  // namespace pkex
