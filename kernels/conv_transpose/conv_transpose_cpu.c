/* ConvTranspose on the CPU. */
#include "kernels/conv_transpose/conv_transpose.h"

#include <string.h>

#include "kernels/convolution/cpu_convolution.h"

/* The bias is added where the primitive has left its result: oneDNN's backward convolutions have none. Nor do they take
 * results that end far behind their last window: these are made without that end, in scratch. */
typedef struct conv_transpose_state {
    ons_cpu_convolution convolution; /* first: it is what destroy gets */
    int64_t batch, channels, positions;
    bool last, bias, crops;
    int64_t scratch; /* bytes of the convolution's own; the result lies behind it */
    int64_t made[ONS_WINDOW_DIMS], whole[ONS_WINDOW_DIMS]; /* spatial sizes without and with the end */
} conv_transpose_state;

static ons_status *conv_transpose_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_convolution c;
    ons_resolved(ons_conv_transpose_resolve(o, &c));
    c.x.layout = o->outputs[0].layout;
    conv_transpose_state *s;
    ONS_NEW_STATE(s, p);
    s->batch = c.x.shape.dims[0];
    s->channels = c.x.shape.dims[1];
    s->positions = ons_window_inputs(&c.window);
    s->last = c.x.layout == ONS_LAYOUT_CHANNELS_LAST;
    s->bias = c.bias;
    memcpy(s->whole, c.window.input, sizeof s->whole);
    s->crops = ons_conv_transpose_crop(&c);
    memcpy(s->made, c.window.input, sizeof s->made);
    ONS_TRY(ons_cpu_convolution_prepare(p, &c, &s->convolution));
    s->scratch = p->scratch_bytes;
    if (s->crops) p->scratch_bytes += (ons_type_dense_bytes(&c.x) + 63) / 64 * 64;
    return NULL;
}

/* Into the beginning of every row of y; zeros behind. */
static void copy_cropped(const conv_transpose_state *s, const float *from, float *y) {
    int64_t width = s->last ? s->channels : 1, planes = s->last ? s->batch : s->batch * s->channels;
    int64_t rows = s->whole[0] * s->whole[1], length = s->made[2] * width;
#pragma omp parallel for schedule(static) if (planes * rows * length > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < planes * rows; ++i) {
        int64_t plane = i / rows, z = i % rows / s->whole[1], row = i % rows % s->whole[1];
        bool made = z < s->made[0] && row < s->made[1];
        float *to = y + i * s->whole[2] * width;
        int64_t copied = made ? length : 0;
        if (made)
            memcpy(to, from + ((plane * s->made[0] + z) * s->made[1] + row) * length, (size_t)length * sizeof *to);
        memset(to + copied, 0, (size_t)(s->whole[2] * width - copied) * sizeof *to);
    }
}

static void add_bias(const conv_transpose_state *s, const float *restrict bias, float *restrict y) {
    int64_t rows = s->last ? s->batch * s->positions : s->batch * s->channels;
    int64_t length = s->last ? s->channels : s->positions;
#pragma omp parallel for schedule(static) if (rows * length > ONS_PARALLEL_GRAIN)
    for (int64_t row = 0; row < rows; ++row) {
        float *to = y + row * length, one = bias[s->last ? 0 : row % s->channels];
        if (s->last)
            for (int64_t i = 0; i < length; ++i) to[i] += bias[i];
        else
            for (int64_t i = 0; i < length; ++i) to[i] += one;
    }
}

static void conv_transpose_run(const ons_launch *launch) {
    const conv_transpose_state *s = launch->state;
    float *y = launch->outputs[0], *made = s->crops ? (float *)(void *)((char *)launch->scratch + s->scratch) : y;
    const void *const arguments[4] = {launch->inputs[0], launch->inputs[1], made};
    if (ons_cpu_convolution_run(&s->convolution, arguments, launch)) {
        if (s->crops) copy_cropped(s, made, y);
    } else {
        memset(y, 0, (size_t)(s->batch * s->channels * s->positions) * sizeof *y);
    }
    if (s->bias && s->channels > 0) add_bias(s, launch->inputs[2], y);
}

ONS_KERNELS(cpu, conv_transpose, ONS_KERNEL(conv_transpose_prepare, conv_transpose_run))
