#include "kernels/gather_scatter/cuda_scatter_shares.cuh"
extern "C" {
#include "kernels/scatter_nd/scatter_nd_gradient.h"
}

extern "C" void ons_cuda_run_scatter_nd_gradient(const ons_launch *launch) {
    const ons_scatter_nd_gradient *s = (const ons_scatter_nd_gradient *)launch->state;
    ons::share_gradients(launch, ons::tuple_targets{s->indexing, launch->inputs[ONS_SHARES_INDICES]}, s->mode,
                         s->elements);
}
