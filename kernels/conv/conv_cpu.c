/* Conv on the CPU. */
#include "kernels/conv/conv.h"

#include "kernels/convolution/cpu_convolution.h"

/* With no channels going in there is nothing to do, and the result is the bias. */
typedef struct conv_state {
    ons_cpu_convolution convolution; /* first: it is what destroy gets */
    int64_t elements, positions, channels;
} conv_state;

static ons_status *conv_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_convolution c;
    ons_resolved(resolve_conv(o, &c));
    c.y.layout = o->outputs[0].layout;
    conv_state *state;
    ONS_NEW_STATE(state, p);
    state->elements = ons_elements(&c.y);
    state->positions = ons_window_outputs(&c.window);
    state->channels = c.y.shape.dims[1];
    return ons_cpu_convolution_prepare(p, &c, &state->convolution);
}

static void conv_run(const ons_launch *launch) {
    const conv_state *state = launch->state;
    const float *bias = launch->inputs[2];
    float *y = launch->outputs[0];
    const void *const arguments[] = {launch->inputs[0], launch->inputs[1], y, bias};
    if (!ons_cpu_convolution_run(&state->convolution, arguments, launch))
        for (int64_t i = 0; i < state->elements; ++i)
            y[i] = bias != NULL ? bias[i / state->positions % state->channels] : 0;
}

ONS_KERNELS(cpu, conv, ONS_KERNEL(conv_prepare, conv_run))
