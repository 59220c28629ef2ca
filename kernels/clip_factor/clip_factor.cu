#include "kernels/clip_factor/cuda_square_sums.cuh"
#include "kernels/common/elementwise/cuda_elementwise.cuh"
extern "C" {
#include "kernels/clip_factor/clip_factor.h"
}

namespace {

/* The last launch gives norm and factor. */
__global__ void clip_norm(const __grid_constant__ ons::square_sums sums, double max_norm, double *total,
                          float *norm_out, float *factor_out) {
    double sum;
    if (!ons::add_square_sums(sums, total, &sum)) return;
    double norm = sqrt(sum);
    if (norm_out != nullptr) *norm_out = (float)norm;
    if (factor_out != nullptr) *factor_out = (float)ons_clip_factor_of(norm, max_norm);
}

} // namespace

extern "C" void ons_cuda_run_clip_factor(const ons_launch *launch) {
    const ons_cuda_elementwise *s = (const ons_cuda_elementwise *)launch->state;
    for (uint32_t begin = 0; begin < s->input_count; begin += ons::SQUARE_SUMS)
        ons::launch(launch, clip_norm, 1, ons::SQUARE_SUM_THREADS,
                    ons::square_sums_from(launch, 0, begin, s->input_count), (double)s->parameters[0],
                    (double *)launch->scratch, (float *)launch->outputs[0], (float *)launch->outputs[1]);
}
