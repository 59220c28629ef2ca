#include "kernels/clip_factor/cuda_square_sums.cuh"
#include "kernels/common/elementwise/cuda_elementwise.cuh"
extern "C" {
#include "kernels/loss_scale/loss_scale.h"
}

namespace {

constexpr int FIRST = 2; /* inputs before the square sums */

struct results {
    float *scale, *counts, *norm, *factor, *used;
};

/* The last launch gives the results, in the places of what it has read. */
__global__ void scale_loss(const __grid_constant__ ons::square_sums sums, ons_loss_scaling how, const float *scale_in,
                           const float *counts_in, double *total, results to) {
    double sum;
    if (!ons::add_square_sums(sums, total, &sum)) return;
    float scale = *scale_in, skipped = counts_in[1];
    ons_scaled_step r = ons_scale_step(how, scale, counts_in[0], skipped, sum);
    *to.scale = (float)r.scale;
    to.counts[0] = (float)r.good;
    to.counts[1] = (float)r.skipped;
    if (to.norm != nullptr) *to.norm = (float)r.norm;
    if (to.factor != nullptr) {
        to.factor[0] = (float)r.factor;
        to.factor[1] = skipped;
    }
    if (to.used != nullptr) *to.used = scale;
}

} // namespace

extern "C" void ons_cuda_run_loss_scale(const ons_launch *launch) {
    const ons_cuda_elementwise *s = (const ons_cuda_elementwise *)launch->state;
    float *const *outputs = (float *const *)launch->outputs;
    results to = {outputs[0], outputs[1], outputs[2], outputs[3], outputs[4]};
    ons_loss_scaling how = {(double)s->parameters[0], (double)s->parameters[1]};
    for (uint32_t begin = FIRST; begin < s->input_count; begin += ons::SQUARE_SUMS)
        ons::launch(launch, scale_loss, 1, ons::SQUARE_SUM_THREADS,
                    ons::square_sums_from(launch, FIRST, begin, s->input_count), how, (const float *)launch->inputs[0],
                    (const float *)launch->inputs[1], (double *)launch->scratch, to);
}
