/* DeformConv: a convolution whose taps are moved by offsets and weighed by a mask. Inputs: x, weight, offset, bias,
 * mask. */
#include <oneapi/dnnl/dnnl.h>

#include "kernels/common/cuda_deformable.h"
#include "kernels/common/deformable.h"
#include "kernels/common/rules.h"

enum { X, W, OFFSET, BIAS, MASK };

static ons_status *resolve(const ons_operands *o, ons_deformable *d) {
    static const ons_type none = {0};
    return ons_deformable_resolve(o, &o->inputs[X], &o->inputs[W], &o->inputs[OFFSET],
                                  ons_has_input(o, MASK) ? &o->inputs[MASK] : &none, d);
}

static ons_status *deform_conv_infer(ons_operands *o) {
    ons_deformable d;
    ONS_TRY(resolve(o, &d));
    if (ons_has_input(o, BIAS) && (o->inputs[BIAS].shape.rank != 1 || o->inputs[BIAS].shape.dims[0] != d.outputs ||
                                   o->inputs[BIAS].dtype != d.y.dtype))
        return ons_node_error(o, "the bias must be a vector of %lld", (long long)d.outputs);
    o->outputs[0] = d.y;
    return NULL;
}

static ons_cost deform_conv_cost(const ons_operands *o) {
    ons_deformable d;
    ons_status_free(resolve(o, &d));
    return (ons_cost){ons_deformable_flops(&d), ons_operand_bytes(o)};
}

static void deform_conv_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                  void *const *outputs) {
    (void)step;
    ons_deformable d = {0};
    ons_status_free(resolve(o, &d));
    const double *bias = ons_has_input(o, BIAS) ? inputs[BIAS] : NULL, *w = inputs[W];
    int64_t share = d.channels / d.groups, positions = d.positions;
    for (int64_t i = 0, count = ons_elements(&d.y); i < count; ++i) {
        int64_t at = i % positions, output = i / positions % d.outputs, sample = i / positions / d.outputs;
        const double *offsets = (const double *)inputs[OFFSET] + sample * 2 * d.offset_groups * d.taps * positions;
        const double *mask =
            d.has_mask ? (const double *)inputs[MASK] + sample * d.offset_groups * d.taps * positions : NULL;
        double sum = bias != NULL ? bias[output] : 0;
        for (int64_t k = 0; k < share * d.taps; ++k) {
            int64_t tap = k % d.taps, channel = output / (d.outputs / d.groups) * share + k / d.taps;
            int64_t group = channel / (d.channels / d.offset_groups);
            int64_t offset = ons_deformable_offset_at(&d, group, tap, at);
            const double *plane = (const double *)inputs[X] + (sample * d.channels + channel) * d.pixels;
            double value = 0;
            ons_exact_corners c;
            ons_deformable_corners(&d, tap, at, offsets[offset], offsets[offset + positions], &c);
            for (int corner = 0; corner < 4 && d.pixels > 0; ++corner)
                value += c.weights[corner] * plane[c.pixels[corner]];
            if (mask != NULL) value *= mask[ons_deformable_mask_at(&d, group, tap, at)];
            sum += value * w[output * share * d.taps + k];
        }
        ((double *)outputs[0])[i] = sum;
    }
}

typedef struct deform_conv_state {
    ons_deformable d;
    int64_t columns; /* bytes before the columns in scratch: the table of corners */
    bool bias, empty;
} deform_conv_state;

static ons_status *deform_conv_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(deform_conv_state), &memory));
    deform_conv_state *s = memory;
    ONS_TRY(resolve(p->operands, &s->d));
    const ons_deformable *d = &s->d;
    s->bias = ons_has_input(p->operands, BIAS);
    s->empty = d->channels * d->pixels * d->outputs * d->positions * d->batch == 0;
    s->columns = ons_deformable_table_bytes(d);
    p->scratch_bytes = s->columns + ons_deformable_columns_bytes(d);
    if (p->scratch_bytes > p->scratch_limit)
        return ons_node_error(p->operands, "needs %lld bytes of scratch, more than the %lld that the plan grants",
                              (long long)p->scratch_bytes, (long long)p->scratch_limit);
    return NULL;
}

static void fill_bias(const deform_conv_state *s, const float *bias, float *y) {
    const ons_deformable *d = &s->d;
#pragma omp parallel for schedule(static) if (d->outputs * d->positions > ONS_PARALLEL_GRAIN)
    for (int64_t output = 0; output < d->outputs; ++output)
        for (int64_t at = 0; at < d->positions; ++at) y[output * d->positions + at] = bias != NULL ? bias[output] : 0;
}

static void deform_conv_run(const ons_launch *launch) {
    const deform_conv_state *s = launch->state;
    const ons_deformable *d = &s->d;
    const float *w = launch->inputs[W], *mask = d->has_mask ? launch->inputs[MASK] : NULL;
    float *columns = (float *)(void *)((char *)launch->scratch + s->columns);
    int64_t lines = d->offset_groups * d->taps * d->positions;
    int64_t m = d->outputs / d->groups, k = d->channels / d->groups * d->taps, n = d->positions;
    for (int64_t sample = 0; sample < d->batch; ++sample) {
        float *y = (float *)launch->outputs[0] + sample * d->outputs * n;
        fill_bias(s, s->bias ? launch->inputs[BIAS] : NULL, y);
        if (s->empty) continue;
        ons_deformable_fill_table(d, (const float *)launch->inputs[OFFSET] + sample * 2 * lines, launch->scratch);
        ons_deformable_gather(d, launch->scratch, (const float *)launch->inputs[X] + sample * d->channels * d->pixels,
                              mask != NULL ? mask + sample * lines : NULL, columns);
        for (int64_t group = 0; group < d->groups; ++group)
            dnnl_sgemm('N', 'N', m, n, k, 1, w + group * m * k, k, columns + group * k * n, n, 1, y + group * m * n, n);
    }
}

static ons_status *deform_conv_gradient(ons_gradient *g) {
    ons_deformable d;
    ONS_TRY(resolve(g->operands, &d));
    if (ons_has_input(g->operands, BIAS) && g->wanted[BIAS])
        g->gradients[BIAS] = ons_make1(g, &ons_op_channel_sum, g->cotangents[0]);
    bool wanted[4] = {g->wanted[X], g->wanted[W], g->wanted[OFFSET], d.has_mask && g->wanted[MASK]};
    if (!wanted[0] && !wanted[1] && !wanted[2] && !wanted[3]) return NULL;
    ons_window_settings s;
    ons_window_get_settings(&d.window, &g->operands->inputs[X].shape, &s);
    ons_value_id made[4];
    ons_build_node(g->builder, &ons_op_deform_conv_gradient,
                   ONS_IN(g->cotangents[0], ons_gradient_input(g, X), ons_gradient_input(g, W),
                          ons_gradient_input(g, OFFSET), d.has_mask ? ons_gradient_input(g, MASK) : ONS_NONE),
                   ONS_WITH(ONS_WINDOW_WITH(&d.window, &s), ONS_AT_INT(ONS_DEFORMABLE_GROUP, d.groups),
                            ONS_AT_INT(ONS_DEFORMABLE_OFFSET_GROUP, d.offset_groups)),
                   4, wanted, made);
    for (uint32_t i = 0; i < 3; ++i)
        if (wanted[i]) g->gradients[i] = made[i];
    if (wanted[3]) g->gradients[MASK] = made[3];
    return NULL;
}

/* Offsets of a third and more keep clear of whole positions, where interpolation has its kinks. */
static ons_status *deform_conv_prepare_cuda(ons_prepare *p) {
    ons_deformable d = {0};
    ONS_TRY(resolve(p->operands, &d));
    return ons_cuda_deformable_prepare(p, &d, ons_has_input(p->operands, BIAS), 1);
}

static const ons_case deform_conv_cases[] = {
    {.name = "offset",
     .inputs = {ONS_F32(2, 3, 5, 6), ONS_F32(4, 3, 3, 2), ONS_F32_IN(-1.5, 1.5, 2, 12, 3, 5)},
     .tolerance = 1e-5,
     .flops = 4320},
    {.name = "mask",
     .inputs = {ONS_F32(2, 4, 5, 5), ONS_F32(4, 2, 3, 3), ONS_F32_IN(-1, 1, 2, 36, 3, 3), ONS_F32(4),
                ONS_F32_IN(0, 1, 2, 18, 3, 3)},
     .settings = {ONS_SET_INT("group", 2), ONS_SET_INT("offset_group", 2), ONS_SET_INTS("pads", 1, 1, 1, 1),
                  ONS_SET_INTS("strides", 2, 2)},
     .tolerance = 1e-5,
     .flops = 2592},
    {.name = "mask_without_bias",
     .inputs = {ONS_F32(1, 2, 7, 7), ONS_F32(3, 2, 2, 2), ONS_F32_IN(-1, 1, 1, 8, 5, 5), ONS_LEFT_OUT,
                ONS_F32_IN(0, 1, 1, 4, 5, 5)},
     .settings = {ONS_SET_INTS("dilations", 2, 2), ONS_SET_INTS("kernel_shape", 2, 2)},
     .tolerance = 1e-5,
     .flops = 1200},
    {.name = "far_away",
     .inputs = {ONS_F32(1, 2, 4, 4), ONS_F32(3, 2, 2, 2), ONS_F32_IN(90, 99, 1, 8, 3, 3), ONS_F32(3)},
     .flops = 432},
    {.name = "empty", .inputs = {ONS_F32(0, 2, 4, 4), ONS_F32(3, 2, 2, 2), ONS_F32(0, 8, 3, 3)}, .flops = 0},
    {.name = "resnet",
     .inputs = {ONS_F32(4, 128, 28, 28), ONS_F32(128, 128, 3, 3), ONS_F32(4, 18, 28, 28), ONS_F32(128),
                ONS_F32_IN(0, 1, 4, 9, 28, 28)},
     .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .tolerance = 1e-4,
     .flops = 924844032,
     .benchmark = true},
    {.name = "offset_differs",
     .inputs = {ONS_F32(1, 2, 4, 4), ONS_F32(3, 2, 2, 2), ONS_F32(1, 4, 3, 3)},
     .error = "offset"},
    {.name = "mask_differs",
     .inputs = {ONS_F32(1, 2, 4, 4), ONS_F32(3, 2, 2, 2), ONS_F32(1, 8, 3, 3), ONS_LEFT_OUT, ONS_F32(1, 8, 3, 3)},
     .error = "mask"},
    {.name = "three_dims",
     .inputs = {ONS_F32(1, 2, 4, 4, 4), ONS_F32(3, 2, 2, 2, 2), ONS_F32(1, 24, 3, 3, 3)},
     .error = "spatial"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(deform_conv, "DeformConv", ONS_ONNX(19, ONS_NEWEST), ONS_ARITY(3, 5, 1, 1),
                    ONS_ATTRIBUTES(ONS_DEFORMABLE_ATTRIBUTES), ONS_INFER(deform_conv_infer), ONS_COST(deform_conv_cost),
                    ONS_GRADIENT_RULE(deform_conv_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(X) | ONS_INPUT_BIT(W) | ONS_INPUT_BIT(OFFSET) | ONS_INPUT_BIT(MASK), 0),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_DENSE | ONS_TRAIT_FULL_PRECISION, 0), ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(deform_conv_reference),
                    ONS_CPU_KERNEL(deform_conv_prepare, deform_conv_run),
                    ONS_CUDA_KERNEL(deform_conv_prepare_cuda, ons_cuda_deform_conv), deform_conv_cases);
