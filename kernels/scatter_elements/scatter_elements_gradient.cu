#include "kernels/gather_scatter/cuda_scatter_shares.cuh"
extern "C" {
#include "kernels/scatter_elements/scatter_elements_gradient.h"
}

extern "C" void ons_cuda_run_scatter_elements_gradient(const ons_launch *launch) {
    const ons_scatter_elements_gradient *s = (const ons_scatter_elements_gradient *)launch->state;
    ons::share_gradients(launch, ons::line_targets{s->map, launch->inputs[ONS_SHARES_INDICES]}, s->mode, s->elements);
}
