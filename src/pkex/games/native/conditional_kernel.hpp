// What conditional_kernel.cpp has for the table of its instruction set, in kernel.cpp.
#pragma once

#include "program.hpp"

namespace PKEX_NAMESPACE {

// The memory that the loops need, in doubles.
pkex::Index blocks_workspace(const pkex::ConditionalBlocks& game);
pkex::Index chain_workspace(const pkex::ConditionalChain& game);

void sum_blocks(const pkex::ConditionalBlocks& game, double* memory);
void sum_chain(const pkex::ConditionalChain& game, double* memory);

}  // namespace PKEX_NAMESPACE
