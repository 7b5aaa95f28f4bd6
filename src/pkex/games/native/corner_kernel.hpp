// What corner_kernel.cpp has for the table of its instruction set, in kernel.cpp.
#pragma once

#include "program.hpp"

namespace PKEX_NAMESPACE {

void measure_cells(const pkex::CellExtents& of);

// The memory that each of the others needs, in doubles.
pkex::Index cell_workspace(const pkex::CellSquare& of);

// Adds up the integrals of the diagonal.
void integrate_cells(const pkex::CellSquare& of, double* memory);

pkex::Index product_workspace(const pkex::CellSquare& of);

// Adds up the integrals of every two players off the diagonal, for factors that are not negative.
void multiply_cells(const pkex::CellSquare& of, double* memory);

}  // namespace PKEX_NAMESPACE
