#include "kernels/gather_scatter/cuda_scatter.cuh"
extern "C" {
#include "kernels/gather_elements/gather_elements.h"
}

extern "C" void ons_cuda_run_gather_elements(const ons_launch *launch) {
    const ons_gather_elements *s = (const ons_gather_elements *)launch->state;
    ons::line_targets targets = {s->map, launch->inputs[1]};
    ons::check_lines(launch, targets);
    ONS_CUDA_UNIT_DISPATCH(s->size, ons::look_up, launch, targets);
}
