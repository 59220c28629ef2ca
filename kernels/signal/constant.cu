/* Results that are known when an operator is prepared: see cuda_constant.h. */
#include "kernels/common/cuda/cuda_upload.cuh"
extern "C" {
#include "kernels/signal/cuda_constant.h"
}

extern "C" void ons_cuda_known_run(const ons_launch *launch) {
    const ons_cuda_known *s = (const ons_cuda_known *)launch->state;
    ons::upload(launch, launch->outputs[0], s->data, s->bytes);
}
