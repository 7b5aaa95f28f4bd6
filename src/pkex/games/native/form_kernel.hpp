// What form_kernel.cpp has for the table of its instruction set, in kernel.cpp.
#pragma once

#include "program.hpp"

namespace PKEX_NAMESPACE {

void add_form(const pkex::FormStrip& of);

}  // namespace PKEX_NAMESPACE
