/* GridSample on CUDA: see grid.h. */
#ifndef ONSTAGE_KERNELS_GRID_SAMPLE_CUDA_GRID_CUH
#define ONSTAGE_KERNELS_GRID_SAMPLE_CUDA_GRID_CUH

#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/grid_sample/grid_look.h"
}

namespace ons {

/* What place `number` of the grid (over all samples) sees. */
__device__ inline void look_at(const ons_grid &g, const float *places, int64_t number, ons_grid_view *view) {
    double place[ONS_GRID_DIMS] = {0, 0, 0};
    for (int32_t i = 0; i < g.dims; ++i) place[i] = places[number * g.dims + i];
    ons_grid_look(&g, place, view);
}

} // namespace ons

#endif
