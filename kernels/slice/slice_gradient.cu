#include "kernels/common/layout/cuda_strided.cuh"
extern "C" {
#include "kernels/slice/slicing.h"
}

extern "C" void ons_cuda_run_slice_gradient(const ons_launch *launch) {
    const ons_slice_gradient *s = (const ons_slice_gradient *)launch->state;
    if (!s->covers && s->bytes > 0)
        (void)cudaMemsetAsync(launch->outputs[0], 0, (size_t)s->bytes, (cudaStream_t)launch->stream);
    ons::copy_strided_box(launch, &s->copy, launch->inputs[0], launch->outputs[0]);
}
