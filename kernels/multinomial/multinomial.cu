#include "kernels/random/cuda_random.cuh"
extern "C" {
#include "kernels/multinomial/multinomial.h"
}

namespace {

/* One sample: its row's exponentials are added up, then walked along. In double, as the choice is the CPU's. */
__global__ void draw_classes(ons_multinomial s, const ons_step *step, const float *x, void *out) {
    ons_random_key key = ons_random_key_of(step, s.node_key, &s.seed);
    for (int64_t i = ons::global_thread(); i < s.batch * s.samples; i += ons::global_threads()) {
        const float *row = x + i / s.samples * s.classes;
        double largest = -INFINITY, total = 0;
        for (int64_t c = 0; c < s.classes; ++c) largest = fmax(largest, (double)row[c]);
        for (int64_t c = 0; c < s.classes; ++c) total += exp(row[c] - largest);
        double left = ons::unit_at(key, i) * total;
        int64_t chosen = 0;
        /* False for NaN: then it is class 0. */
        while (chosen + 1 < s.classes && (left -= exp(row[chosen] - largest)) >= 0) ++chosen;
        if (s.wide)
            ((int64_t *)out)[i] = chosen;
        else
            ((int32_t *)out)[i] = (int32_t)chosen;
    }
}

} // namespace

extern "C" void ons_cuda_run_multinomial(const ons_launch *launch) {
    const ons_multinomial *s = (const ons_multinomial *)launch->state;
    ons::launch(launch, draw_classes, ons::few_blocks(s->batch * s->samples), ons::EACH_THREADS, *s,
                launch->device_step, (const float *)launch->inputs[0], launch->outputs[0]);
}
