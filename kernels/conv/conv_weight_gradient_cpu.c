/* ConvWeightGradient on the CPU. */
#include "kernels/conv/conv_weight_gradient.h"

#include <string.h>

#include "kernels/convolution/cpu_convolution.h"

typedef struct state {
    ons_cpu_convolution convolution; /* first: it is what destroy gets */
    size_t bytes, bias_bytes;
} state;

static ons_status *conv_weight_gradient_prepare(ons_prepare *p) {
    ons_convolution c;
    ons_resolved(ons_conv_weight_gradient_resolve(p->operands, &c));
    c.w.layout = p->operands->outputs[0].layout;
    state *s;
    ONS_NEW_STATE(s, p);
    s->bytes = (size_t)ons_layout_bytes(&c.w);
    s->bias_bytes = (size_t)c.w.shape.dims[0] * sizeof(float);
    return ons_cpu_convolution_prepare(p, &c, &s->convolution);
}

static void conv_weight_gradient_run(const ons_launch *launch) {
    const state *s = launch->state;
    void *bias = launch->outputs[1];
    const void *const arguments[] = {launch->inputs[0], launch->inputs[1], launch->outputs[0], bias};
    if (ons_cpu_convolution_run(&s->convolution, arguments, launch)) return;
    memset(launch->outputs[0], 0, s->bytes);
    if (bias != NULL) memset(bias, 0, s->bias_bytes);
}

ONS_KERNELS(cpu, conv_weight_gradient, ONS_KERNEL(conv_weight_gradient_prepare, conv_weight_gradient_run))
