#include "kernels/gather_scatter/cuda_scatter.cuh"
extern "C" {
#include "kernels/gather_elements/gather_elements_gradient.h"
}

extern "C" void ons_cuda_run_gather_elements_gradient(const ons_launch *launch) {
    const ons_gather_elements_gradient *s = (const ons_gather_elements_gradient *)launch->state;
    ons::add_back(launch, ons::line_targets{s->map, launch->inputs[1]}, s->bytes);
}
