#include "kernels/random/cuda_random.cuh"
extern "C" {
#include "kernels/bernoulli/bernoulli.h"
}

namespace {

template <class Unit> struct trial_draw {
    Unit one;
    const float *x;
    Unit *y;
    __device__ void operator()(const uint32_t *words, int64_t begin, int count) const {
        for (int i = 0; i < count; ++i) y[begin + i] = ons_random_unit(words[i]) < x[begin + i] ? one : Unit(0);
    }
};

template <class Unit> void run_bernoulli(const ons_launch *l, const ons_bernoulli *s) {
    trial_draw<Unit> draw = {(Unit)s->one, (const float *)l->inputs[0], (Unit *)l->outputs[0]};
    ons::each_draw(l, s->elements, s->node_key, s->seed, draw);
}

} // namespace

extern "C" void ons_cuda_run_bernoulli(const ons_launch *launch) {
    const ons_bernoulli *s = (const ons_bernoulli *)launch->state;
    ONS_CUDA_UNIT_DISPATCH(s->size, run_bernoulli, launch, s);
}
