/* The loops of ArgMax and ArgMin on the CPU. */
#ifndef ONSTAGE_KERNELS_ARGMINMAX_ARGMINMAX_CPU_H
#define ONSTAGE_KERNELS_ARGMINMAX_ARGMINMAX_CPU_H

#include "kernels/argminmax/argminmax.h"

/* Results [begin, end), and all of them by the team of the calling thread. */
typedef void ons_argminmax_some(const ons_launch *launch, int64_t begin, int64_t end);
void ons_argminmax_run(const ons_launch *launch, ons_argminmax_some *some);

/* Whether `next` is better than the best so far, of two numbers. */
typedef bool ons_better(float next, float best);

/* Results [begin, end), compiled for each comparison. */
__attribute__((always_inline)) static inline void ons_argminmax_find(const ons_launch *launch, int64_t begin,
                                                                     int64_t end, ons_better *is_better) {
    const ons_argminmax *s = launch->state;
    const float *in = launch->inputs[0];
    int64_t *out = launch->outputs[0];
    for (int64_t i = begin; i < end; ++i) {
        const float *x = in + i / s->inner * s->length * s->inner + i % s->inner;
        float best = x[0];
        int64_t index = 0;
        for (int64_t k = 1; k < s->length; ++k) {
            float next = x[k * s->inner];
            bool better = is_better(next, best) || (next != next && best == best) ||
                          (s->last && (next == best || (next != next && best != best)));
            best = better ? next : best;
            index = better ? k : index;
        }
        out[i] = index;
    }
}

/* SYMBOL_run from the comparison `>` or `<` that a better element stands in to the best so far. Rows of one element
 * each (inner = 1) and columns alike: candidates are compared in the order of the axis. */
#define ONS_ARGMINMAX_KERNEL(SYMBOL, COMPARISON)                                                                       \
    static inline bool SYMBOL##_better(float next, float best) { return next COMPARISON best; }                        \
    static void SYMBOL##_some(const ons_launch *launch, int64_t begin, int64_t end) {                                  \
        ons_argminmax_find(launch, begin, end, SYMBOL##_better);                                                       \
    }                                                                                                                  \
    static void SYMBOL##_run(const ons_launch *launch) { ons_argminmax_run(launch, SYMBOL##_some); }

#endif
