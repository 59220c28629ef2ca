/* Attention: what its files share. */
#ifndef ONSTAGE_KERNELS_ATTENTION_ATTENTION_H
#define ONSTAGE_KERNELS_ATTENTION_ATTENTION_H

#include "kernels/attention/attention_operands.h"

static inline ons_status *find_attention(const ons_operands *o, ons_attention *attention) {
    static const ons_type none = {0};
    return ons_attention_of(o, &o->inputs[0], &o->inputs[1], &o->inputs[2], ons_has_input(o, 3) ? &o->inputs[3] : &none,
                            ons_has_input(o, 4) ? &o->inputs[4] : &none, attention);
}

#endif
