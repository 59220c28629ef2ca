#include "kernels/common/cuda_elementwise.cuh"

namespace {

constexpr int SUMS = 128;

struct square_sums {
    const double *at[SUMS];
    int count;
};

/* Adds in the order of the operands, so many at a time; the last launch gives norm and factor. */
__global__ void add_square_sums(square_sums sums, bool first, bool last, double max_norm, double *total, float *norm_out,
                                float *factor_out) {
    if (threadIdx.x != 0) return;
    double sum = first ? 0 : *total;
    for (int i = 0; i < sums.count; ++i) sum += *sums.at[i];
    *total = sum;
    if (!last) return;
    double norm = sqrt(sum), factor = max_norm / (norm + 1e-6);
    if (norm_out != nullptr) *norm_out = (float)norm;
    if (factor_out != nullptr) *factor_out = max_norm <= 0 || factor > 1 ? 1.0f : (float)factor;
}

} // namespace

extern "C" void ons_cuda_clip_factor(const ons_launch *launch) {
    const ons_cuda_elementwise *s = (const ons_cuda_elementwise *)launch->state;
    for (uint32_t begin = 0; begin < s->input_count; begin += SUMS) {
        square_sums sums = {};
        while (sums.count < SUMS && begin + sums.count < s->input_count) {
            sums.at[sums.count] = (const double *)launch->inputs[begin + sums.count];
            ++sums.count;
        }
        ons::launch(launch, add_square_sums, 1, ons::WARP, sums, begin == 0, begin + SUMS >= s->input_count,
                    (double)s->parameters[0], (double *)launch->scratch, (float *)launch->outputs[0],
                    (float *)launch->outputs[1]);
    }
}
