#include "kernels/common/cuda_elementwise.cuh"
extern "C" {
#include "kernels/loss_scale/loss_scale.h"
}

namespace {

constexpr int SUMS = 128;
constexpr int FIRST = 2; /* inputs before the square sums */

struct square_sums {
    const double *at[SUMS];
    int count;
};

struct results {
    float *scale, *counts, *norm, *factor, *used;
};

/* Adds in the order of the operands, so many at a time; the last launch gives the results, in the places of what it has
 * read. */
__global__ void scale_loss(square_sums sums, bool first, bool last, ons_loss_scaling how, const float *scale_in,
                           const float *counts_in, double *total, results to) {
    if (threadIdx.x != 0) return;
    double sum = first ? 0 : *total;
    for (int i = 0; i < sums.count; ++i) sum += *sums.at[i];
    *total = sum;
    if (!last) return;
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

extern "C" void ons_cuda_loss_scale(const ons_launch *launch) {
    const ons_cuda_elementwise *s = (const ons_cuda_elementwise *)launch->state;
    float *const *outputs = (float *const *)launch->outputs;
    results to = {outputs[0], outputs[1], outputs[2], outputs[3], outputs[4]};
    ons_loss_scaling how = {(double)s->parameters[0], (double)s->parameters[1]};
    for (uint32_t begin = FIRST; begin < s->input_count; begin += SUMS) {
        square_sums sums = {};
        while (sums.count < SUMS && begin + sums.count < s->input_count) {
            sums.at[sums.count] = (const double *)launch->inputs[begin + sums.count];
            ++sums.count;
        }
        ons::launch(launch, scale_loss, 1, ons::WARP, sums, begin == FIRST, begin + SUMS >= s->input_count, how,
                    (const float *)launch->inputs[0], (const float *)launch->inputs[1], (double *)launch->scratch, to);
    }
}
