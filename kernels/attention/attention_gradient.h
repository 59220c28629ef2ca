/* AttentionGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_ATTENTION_ATTENTION_GRADIENT_H
#define ONSTAGE_KERNELS_ATTENTION_ATTENTION_GRADIENT_H

#include "kernels/attention/attention_operands.h"

/* The forward result, given for half types alone: then Σ p dp of a row is Σ dy y, which flash attention wants to begin
 * with. */
enum { RESULT = 7 };

static inline ons_status *find_attention(const ons_operands *o, ons_attention *attention) {
    static const ons_type none = {0};
    return ons_attention_of(o, &o->inputs[1], &o->inputs[2], &o->inputs[3], ons_has_input(o, 5) ? &o->inputs[5] : &none,
                            ons_has_input(o, 6) ? &o->inputs[6] : &none, attention);
}

/* Samples that the mask's gradient tells apart. */
static inline int64_t mask_batch(const ons_attention *a) { return a->mask.batch == 0 ? 1 : a->batch; }

#endif
