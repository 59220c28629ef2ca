/* ConvInputGradient on the CPU. */
#include "kernels/conv/conv_input_gradient.h"

#include <string.h>

#include "kernels/convolution/cpu_convolution.h"

typedef struct state {
    ons_cpu_convolution convolution; /* first: it is what destroy gets */
    size_t bytes;                    /* of the result */
} state;

static ons_status *conv_input_gradient_prepare(ons_prepare *p) {
    ons_convolution c;
    ons_resolved(resolve_conv(p->operands, &c));
    c.x.layout = p->operands->outputs[0].layout;
    state *s;
    ONS_NEW_STATE(s, p);
    s->bytes = (size_t)ons_layout_bytes(&c.x);
    return ons_cpu_convolution_prepare(p, &c, &s->convolution);
}

static void conv_input_gradient_run(const ons_launch *launch) {
    const state *s = launch->state;
    const void *const arguments[4] = {launch->inputs[0], launch->inputs[1], launch->outputs[0]};
    if (!ons_cpu_convolution_run(&s->convolution, arguments, launch)) memset(launch->outputs[0], 0, s->bytes);
}

ONS_KERNELS(cpu, conv_input_gradient, ONS_KERNEL(conv_input_gradient_prepare, conv_input_gradient_run))
