/* ConvWeightGradient on the CPU. */
#include "kernels/conv/conv_weight_gradient.h"

#include <string.h>

#include "kernels/convolution/convolution.h"

typedef struct state {
    ons_onednn primitive; /* first: it is what destroy gets */
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
    return ons_convolution_prepare(p, &c, &s->primitive);
}

static void conv_weight_gradient_run(const ons_launch *launch) {
    const state *s = launch->state;
    void *bias = launch->outputs[1];
    if (s->primitive.primitive != NULL) {
        ons_onednn_run(&s->primitive,
                       (const void *const[]){launch->inputs[0], launch->inputs[1], launch->outputs[0], bias},
                       launch->scratch, launch->fault);
        return;
    }
    memset(launch->outputs[0], 0, s->bytes);
    if (bias != NULL) memset(bias, 0, s->bias_bytes);
}

ONS_KERNELS(cpu, conv_weight_gradient, ONS_KERNEL(conv_weight_gradient_prepare, conv_weight_gradient_run))
