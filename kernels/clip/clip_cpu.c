/* Clip on the CPU. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"

ONS_UNARY_SPAN(clip_low, float, float, float, x < parameters[0] ? parameters[0] : x)

ONS_UNARY_SPAN(clip_high, float, float, float, x > parameters[1] ? parameters[1] : x)

ONS_UNARY_SPAN(clip_both, float, float, float,
               (x < parameters[0] ? parameters[0] : x) > parameters[1] ? parameters[1]
                                                                       : (x < parameters[0] ? parameters[0] : x))

static ons_status *clip_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    for (uint32_t i = 1; i < o->input_count; ++i)
        if (ons_has_input(o, i) && o->inputs[i].dtype != o->inputs[0].dtype)
            return ons_refuse_dtype(o, o->inputs[i].dtype);
    return ons_unary_prepare(p);
}

static void clip_run(const ons_launch *launch) {
    const ons_unary_state *state = launch->state;
    const float *low = ons_unary_input(launch, 1), *high = ons_unary_input(launch, 2);
    float bounds[ONS_UNARY_PARAMETERS] = {low == NULL ? -INFINITY : *low, high == NULL ? INFINITY : *high};
    ons_unary_share(launch->inputs[0], launch->outputs[0], state->elements, sizeof(float), sizeof(float),
                    high == NULL  ? clip_low
                    : low == NULL ? clip_high
                                  : clip_both,
                    bounds);
}

ONS_KERNELS(cpu, clip, ONS_KERNEL(clip_prepare, clip_run))
