/* FakeQuantize: what is left of a float that goes through an integer and back. See kernels/common/fake_quantize.h. */
#include "kernels/common/fake_quantize.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/fake_quantize/fake_quantize.h"

enum { X, FROM_SCALE, TO_SCALE, FROM_ZERO, TO_ZERO };

static ons_status *fake_quantize_infer(ons_operands *o) {
    ons_fake fake;
    ONS_TRY(ons_fake_resolve(o, X, &fake));
    o->outputs[0] = o->inputs[X];
    return NULL;
}

/* Quotient, rounding, two zero points, clipping, product. */
static ons_cost fake_quantize_cost(const ons_operands *o) {
    return (ons_cost){6 * (double)ons_elements(&o->inputs[X]), ons_operand_bytes(o)};
}

static double zero_at(const ons_operands *o, const void *const *inputs, uint32_t input, int64_t k) {
    return ons_has_input(o, input) ? (double)((const int64_t *)inputs[input])[k] : 0;
}

/* The quotient in float, as QuantizeLinear has it: in double a tie may fall the other way. */
static void fake_quantize_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                    void *const *outputs) {
    (void)step;
    ons_fake fake;
    ons_status_free(ons_fake_resolve(o, X, &fake));
    const double *from = inputs[FROM_SCALE], *to = inputs[TO_SCALE];
    for (int64_t i = 0; i < fake.scales.elements; ++i) {
        int64_t k = ons_scale_of(&fake.scales, i);
        float q = ons_quantize((float)((const double *)inputs[X])[i], (float)from[k],
                               (float)zero_at(o, inputs, FROM_ZERO, k), fake.low, fake.high);
        ((double *)outputs[0])[i] = ((double)q - zero_at(o, inputs, TO_ZERO, k)) * to[k];
    }
}

static ons_status *fake_quantize_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_fake_quantize), &memory));
    ons_fake_quantize *state = memory;
    state->has_from = ons_has_input(p->operands, FROM_ZERO);
    state->has_to = ons_has_input(p->operands, TO_ZERO);
    return ons_fake_resolve(p->operands, X, &state->fake);
}

/* Elements [begin, end), which share their scales. */
static void run_span(const float *x, float *y, int64_t begin, int64_t end, const ons_fake *fake, float from, float to,
                     float from_zero, float to_zero) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i)
        y[i] = (ons_quantize(x[i], from, from_zero, fake->low, fake->high) - to_zero) * to;
}

static void fake_quantize_run(const ons_launch *launch) {
    enum { SPAN = 4096 };
    const ons_fake_quantize *state = launch->state;
    const ons_fake *fake = &state->fake;
    const ons_scales *s = &fake->scales;
    const float *x = launch->inputs[X], *from = launch->inputs[FROM_SCALE], *to = launch->inputs[TO_SCALE];
    const void *from_zeros = state->has_from ? launch->inputs[FROM_ZERO] : NULL;
    const void *to_zeros = state->has_to ? launch->inputs[TO_ZERO] : NULL;
    float *y = launch->outputs[0];
    int64_t span = s->count == 1 ? SPAN : s->blocked ? 1 : s->inner;
#pragma omp parallel for schedule(static) if (s->elements > ONS_PARALLEL_GRAIN)
    for (int64_t begin = 0; begin < s->elements; begin += span) {
        int64_t k = ons_scale_of(s, begin), end = begin + span < s->elements ? begin + span : s->elements;
        run_span(x, y, begin, end, fake, from[k], to[k], ons_fake_zero(fake, from_zeros, k),
                 ons_fake_zero(fake, to_zeros, k));
    }
}

static ons_status *fake_quantize_gradient(ons_gradient *g) {
    const ons_operands *o = g->operands;
    bool free = ons_attribute_int(o, ONS_FAKE_FIXED) == 0;
    bool wanted[3] = {g->wanted[X], free && g->wanted[FROM_SCALE], free && g->wanted[TO_SCALE]};
    ons_value_id zeros[2] = {ONS_NONE, ONS_NONE}, results[3];
    for (uint32_t i = 0; i < 2; ++i)
        if (ons_has_input(o, FROM_ZERO + i)) zeros[i] = ons_gradient_input(g, FROM_ZERO + i);
    if (!wanted[0] && !wanted[1] && !wanted[2]) return NULL;
    ons_build_node_like(g->builder, &ons_op_fake_quantize_gradient,
                        ONS_IN(g->cotangents[0], ons_gradient_input(g, X), ons_gradient_input(g, FROM_SCALE),
                               ons_gradient_input(g, TO_SCALE), zeros[0], zeros[1]),
                        o->attributes, 3, wanted, results);
    for (uint32_t i = 0; i < 3; ++i) g->gradients[i] = results[i];
    return NULL;
}

static ons_status *fake_quantize_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed(p, fake_quantize_prepare);
}

static const ons_case fake_quantize_cases[] = {
    {.name = "tensor",
     .inputs = {ONS_F32_IN(-3, 3, 5, 7),
                {.dtype = ONS_FLOAT32, .value_count = 1, .values = {0.02}},
                {.dtype = ONS_FLOAT32, .value_count = 1, .values = {0.02}},
                {.dtype = ONS_UINT8, .value_count = 1, .values = {128}},
                {.dtype = ONS_UINT8, .value_count = 1, .values = {128}}},
     .tolerance = 1e-6,
     .flops = 210,
     .no_gradient = true},
    {.name = "no_zero_points",
     .inputs = {ONS_F32_IN(-3, 3, 5000),
                {.dtype = ONS_FLOAT32, .value_count = 1, .values = {0.02}},
                {.dtype = ONS_FLOAT32, .value_count = 1, .values = {0.03}}},
     .tolerance = 1e-6,
     .flops = 30000,
     .no_gradient = true},
    {.name = "axis",
     .inputs = {ONS_F32_IN(-3, 3, 2, 3, 5), ONS_F32_IN(0.01, 0.1, 3), ONS_F32_IN(0.01, 0.1, 3),
                ONS_RANDOM(ONS_INT8, -9, 9, 3), ONS_RANDOM(ONS_INT8, -9, 9, 3)},
     .settings = {ONS_SET_FLOAT("low", -128), ONS_SET_FLOAT("high", 127)},
     .tolerance = 1e-6,
     .flops = 180,
     .no_gradient = true},
    {.name = "blocks",
     .inputs = {ONS_F32_IN(-3, 3, 2, 5, 3), ONS_F32_IN(0.01, 0.1, 2, 3, 3), ONS_F32_IN(0.01, 0.1, 2, 3, 3)},
     .settings = {ONS_SET_INT("block_size", 2)},
     .tolerance = 1e-6,
     .flops = 180,
     .no_gradient = true},
    {.name = "empty", .inputs = {ONS_F32(0, 3), ONS_F32(), ONS_F32()}, .flops = 0, .no_gradient = true},
    {.name = "threads",
     .inputs = {ONS_F32_IN(-3, 3, 16, 33, 35), ONS_F32_IN(0.01, 0.1, 33), ONS_F32_IN(0.01, 0.1, 33)},
     .tolerance = 1e-6,
     .flops = 110880,
     .no_gradient = true},
    {.name = "scales", .inputs = {ONS_F32(5, 7), ONS_F32(), ONS_F32(7)}, .error = "scales"},
    {.name = "large",
     .inputs = {ONS_F32_IN(-3, 3, 1024, 4096), ONS_F32_IN(0.01, 0.1), ONS_F32_IN(0.01, 0.1)},
     .tolerance = 1e-6,
     .flops = 25165824,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(fake_quantize, "FakeQuantize", ONS_INTERNAL, ONS_ARITY(3, 5, 1, 1), ONS_FAKE_ATTRIBUTES,
                    ONS_INFER(fake_quantize_infer), ONS_COST(fake_quantize_cost),
                    ONS_GRADIENT_RULE(fake_quantize_gradient,
                                      ONS_INPUT_BIT(X) | ONS_INPUT_BIT(FROM_SCALE) | ONS_INPUT_BIT(TO_SCALE)),
                    ONS_SAVES(ONS_INPUT_BIT(X) | ONS_INPUT_BIT(FROM_SCALE) | ONS_INPUT_BIT(TO_SCALE) |
                                  ONS_INPUT_BIT(FROM_ZERO) | ONS_INPUT_BIT(TO_ZERO),
                              0),
                    ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, X}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(fake_quantize_reference), ONS_CPU_KERNEL(fake_quantize_prepare, fake_quantize_run),
                    ONS_CUDA_KERNEL(fake_quantize_prepare_cuda, ons_cuda_fake_quantize), fake_quantize_cases);
