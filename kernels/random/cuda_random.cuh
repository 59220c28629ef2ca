/* Random numbers on CUDA: the CPU's, bit for bit (random.h). A thread makes the four elements of a draw at a time. */
#ifndef ONSTAGE_KERNELS_RANDOM_CUDA_RANDOM_CUH
#define ONSTAGE_KERNELS_RANDOM_CUDA_RANDOM_CUH

#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/random/dropout.h"
}

namespace ons {

__device__ inline ons_philox draw_of(const ons_random_key &key, int64_t draw) {
    return ons_philox_draw(key.key, key.counter_high, (uint64_t)draw);
}

__device__ inline float unit_at(const ons_random_key &key, int64_t element) {
    return ons_random_unit(draw_of(key, element / ONS_RANDOM_DRAW).words[element % ONS_RANDOM_DRAW]);
}

/* F: operator()(words, begin, count) for the elements of a draw. The key is made from the step in the device's memory.
 */
template <class F>
__global__ void call_draws(int64_t elements, uint64_t node_key, ons_attribute seed, const ons_step *step, F f) {
    ons_random_key key = ons_random_key_of(step, node_key, &seed);
    int64_t draws = (elements + ONS_RANDOM_DRAW - 1) / ONS_RANDOM_DRAW;
    for (int64_t i = global_thread(); i < draws; i += global_threads()) {
        ons_philox words = draw_of(key, i);
        int64_t begin = i * ONS_RANDOM_DRAW, left = elements - begin;
        f(words.words, begin, left < ONS_RANDOM_DRAW ? (int)left : ONS_RANDOM_DRAW);
    }
}

template <class F>
void each_draw(const ons_launch *l, int64_t elements, uint64_t node_key, const ons_attribute &seed, const F &f) {
    launch(l, call_draws<F>, few_blocks((elements + ONS_RANDOM_DRAW - 1) / ONS_RANDOM_DRAW), EACH_THREADS, elements,
           node_key, seed, l->device_step, f);
}

/* ---- operators that fill a tensor */

struct uniform_draw {
    float low, range;
    float *y;
    __device__ void operator()(const uint32_t *words, int64_t begin, int count) const {
        for (int i = 0; i < count; ++i) y[begin + i] = low + range * ons_random_unit(words[i]);
    }
};

struct normal_draw {
    float mean, scale;
    float *y;
    __device__ void operator()(const uint32_t *words, int64_t begin, int count) const {
        for (int i = 0; i < count; i += 2) {
            float radius = scale * sqrtf(-2 * logf(ons_random_unit(words[i]) + 0x1p-24f));
            float angle = 6.28318530717958648f * ons_random_unit(words[i + 1]);
            y[begin + i] = mean + radius * cosf(angle);
            if (i + 1 < count) y[begin + i + 1] = mean + radius * sinf(angle);
        }
    }
};

inline void fill_uniform(const ons_launch *l) {
    const ons_random_state *s = (const ons_random_state *)l->state;
    uniform_draw draw = {s->first, s->second - s->first, (float *)l->outputs[0]};
    each_draw(l, s->elements, s->node_key, s->seed, draw);
}

inline void fill_normal(const ons_launch *l) {
    const ons_random_state *s = (const ons_random_state *)l->state;
    normal_draw draw = {s->first, s->second, (float *)l->outputs[0]};
    each_draw(l, s->elements, s->node_key, s->seed, draw);
}

} // namespace ons

#endif
