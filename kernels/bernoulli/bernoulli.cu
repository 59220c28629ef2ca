#include "kernels/common/cuda_random.cuh"
extern "C" {
#include "kernels/bernoulli/bernoulli.h"
}

namespace {

struct trial_draw {
    const float *x;
    float *y;
    __device__ void operator()(const uint32_t *words, int64_t begin, int count) const {
        for (int i = 0; i < count; ++i) y[begin + i] = ons_random_unit(words[i]) < x[begin + i] ? 1.0f : 0.0f;
    }
};

} // namespace

extern "C" void ons_cuda_bernoulli(const ons_launch *launch) {
    const ons_bernoulli *s = (const ons_bernoulli *)launch->state;
    trial_draw draw = {(const float *)launch->inputs[0], (float *)launch->outputs[0]};
    ons::each_draw(launch, s->elements, s->node_key, s->seed, draw);
}
