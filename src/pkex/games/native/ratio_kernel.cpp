// Ratios of interactions for one instruction set, compiled once for each as kernel.cpp is, beside
// which it is compiled at the same time.

#include "ratio_kernel.hpp"

#include "gram.hpp"

namespace PKEX_NAMESPACE {

void measure(const Extents& pairs) {
    if (pairs.absent) {
        measure_all<true>(pairs);
    } else {
        measure_all<false>(pairs);
    }
}

Index ratio_workspace(const RatioTile& tile) {
    const Index sums = tile.weights ? rounded_up((tile.players + 1) * kLanes, 8) : 0;
    return sums + (tile.gram ? GramWorkspace(tile.players, tile.n_nodes).size : 0);
}

void ratios(const RatioTile& tile, double* memory) {
    if (tile.absent) {
        tile.positive ? form_tile<true, true>(tile, memory) : form_tile<true, false>(tile, memory);
    } else {
        tile.positive ? form_tile<false, true>(tile, memory)
                      : form_tile<false, false>(tile, memory);
    }
}

}  // namespace PKEX_NAMESPACE
