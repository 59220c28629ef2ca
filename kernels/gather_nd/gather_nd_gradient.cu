#include "kernels/gather_scatter/cuda_scatter.cuh"
extern "C" {
#include "kernels/gather_nd/gather_nd_gradient.h"
}

extern "C" void ons_cuda_run_gather_nd_gradient(const ons_launch *launch) {
    const ons_gather_nd_gradient *s = (const ons_gather_nd_gradient *)launch->state;
    ons::add_back(launch, ons::tuple_targets{s->lookup, launch->inputs[1]}, s->bytes);
}
