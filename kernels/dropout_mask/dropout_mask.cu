#include "kernels/random/cuda_random.cuh"

namespace {

struct mask_draw {
    uint32_t threshold;
    uint8_t *mask;
    __device__ void operator()(const uint32_t *words, int64_t begin, int count) const {
        for (int i = 0; i < count; ++i) mask[begin + i] = words[i] >> 8 >= threshold;
    }
};

} // namespace

extern "C" void ons_cuda_run_dropout_mask(const ons_launch *launch) {
    const ons_dropout_state *s = (const ons_dropout_state *)launch->state;
    mask_draw draw = {ons_dropout_threshold(s->ratio), (uint8_t *)launch->outputs[0]};
    ons::each_draw(launch, s->elements, s->node_key, s->seed, draw);
}
