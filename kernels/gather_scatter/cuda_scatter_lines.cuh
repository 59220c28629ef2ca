/* ScatterElements and Scatter on CUDA: see scatter_lines.h. */
#ifndef ONSTAGE_KERNELS_GATHER_SCATTER_CUDA_SCATTER_LINES_CUH
#define ONSTAGE_KERNELS_GATHER_SCATTER_CUDA_SCATTER_LINES_CUH

#include "kernels/gather_scatter/cuda_scatter.cuh"
extern "C" {
#include "kernels/gather_scatter/scatter_lines.h"
}

namespace ons {

inline void scatter_lines(const ons_launch *l) {
    const ons_scatter_lines *s = (const ons_scatter_lines *)l->state;
    line_targets targets = {s->map, l->inputs[ONS_SCATTER_INDICES]};
    check_lines(l, targets);
    scatter(l, targets, s->mode, s->size, s->bytes);
}

} // namespace ons

#endif
