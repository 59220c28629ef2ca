/* Clip: max(low, min(high, x)), where either bound may be left out. */
#include "graph/upgrade.h"
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"
#include "kernels/common/unary.h"

static bool agree(ons_dtype a, ons_dtype b) { return a == b || (ons_dtype_is_float(a) && ons_dtype_is_float(b)); }

/* A bound may be another float type than the data: before opset 11 it was an attribute. */
static ons_status *clip_infer(ons_operands *o) {
    ONS_TRY(ons_need_number(o, 0));
    for (uint32_t i = 1; i < o->input_count; ++i)
        if (ons_has_input(o, i) && (!agree(o->inputs[i].dtype, o->inputs[0].dtype) || ons_elements(&o->inputs[i]) != 1))
            return ons_node_error(o, "the %s must be a scalar of the data's element type, %s",
                                  i == 1 ? "minimum" : "maximum", ons_dtype_name(o->inputs[0].dtype));
    o->outputs[0] = o->inputs[0];
    return NULL;
}

static void clip_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                           void *const *outputs) {
    (void)step;
    int64_t n = ons_elements(&o->outputs[0]);
    if (ons_dtype_is_float(o->inputs[0].dtype)) {
        double low = ons_has_input(o, 1) ? *(const double *)inputs[1] : -INFINITY;
        double high = ons_has_input(o, 2) ? *(const double *)inputs[2] : INFINITY;
        for (int64_t i = 0; i < n; ++i) {
            double x = ((const double *)inputs[0])[i];
            x = x < low ? low : x;
            ((double *)outputs[0])[i] = x > high ? high : x;
        }
        return;
    }
    /* Moved by half the range, unsigned numbers are in the order of signed ones. */
    uint64_t shift = o->inputs[0].dtype == ONS_UINT64 ? (uint64_t)1 << 63 : 0;
    int64_t low = ons_has_input(o, 1) ? (int64_t)(*(const uint64_t *)inputs[1] ^ shift) : INT64_MIN;
    int64_t high = ons_has_input(o, 2) ? (int64_t)(*(const uint64_t *)inputs[2] ^ shift) : INT64_MAX;
    for (int64_t i = 0; i < n; ++i) {
        int64_t x = (int64_t)(((const uint64_t *)inputs[0])[i] ^ shift);
        x = x < low ? low : x;
        ((uint64_t *)outputs[0])[i] = (uint64_t)(x > high ? high : x) ^ shift;
    }
}

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

static ons_status *clip_gradient(ons_gradient *g) {
    g->gradients[0] = ons_build(
        g->builder, &ons_op_clip_gradient,
        ONS_IN(g->cotangents[0], ons_gradient_input(g, 0), ons_gradient_input(g, 1), ons_gradient_input(g, 2)),
        ONS_DEFAULTS);
    return NULL;
}

/* Before opset 11 the bounds were attributes. */
static ons_status *clip_upgrade(ons_upgrade *u) {
    if (u->opset >= 11) return NULL;
    ONS_TRY(ons_upgrade_attribute_to_input(u, "min", 1, ONS_FLOAT32));
    return ons_upgrade_attribute_to_input(u, "max", 2, ONS_FLOAT32);
}

static ons_status *clip_cuda_prepare(ons_prepare *p) { return ons_cuda_leading_prepare(p, 1); }

static const ons_case clip_cases[] = {
    {.name = "both", .inputs = {ONS_F32_IN(-3, 9, 5, 7), ONS_F32_SCALAR(0), ONS_F32_SCALAR(6)}, .flops = 35},
    {.name = "low", .inputs = {ONS_F32(5, 7), ONS_F32_SCALAR(-0.5)}, .flops = 35},
    {.name = "high", .inputs = {ONS_F32(5, 7), ONS_LEFT_OUT, ONS_F32_SCALAR(0.5)}, .flops = 35},
    {.name = "neither", .inputs = {ONS_F32(5, 7)}, .flops = 35},
    {.name = "crossed",
     .inputs = {ONS_F32(35), ONS_F32_SCALAR(0.5), ONS_F32_SCALAR(-0.5)},
     .flops = 35,
     .no_gradient = true},
    {.name = "from_data", .inputs = {ONS_F32(35), ONS_F32_IN(-0.5, -0.2), ONS_F32_IN(0.2, 0.5)}, .flops = 35},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32_SCALAR(-0.5), ONS_F32_SCALAR(0.5)}, .flops = 1},
    {.name = "threads",
     .inputs = {ONS_F32_IN(-3, 9, 3, 16, 33, 35), ONS_F32_SCALAR(0), ONS_F32_SCALAR(6)},
     .flops = 55440},
    {.name = "int64",
     .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 5), ONS_I64_SCALAR(-2), ONS_I64_SCALAR(3)},
     .flops = 5,
     .no_gradient = true},
    {.name = "int8",
     .inputs = {ONS_RANDOM(ONS_INT8, -9, 9, 5),
                ONS_LEFT_OUT,
                {.dtype = ONS_INT8, .value_count = 1, .values = {3}, .constant = true}},
     .flops = 5,
     .no_gradient = true},
    {.name = "uint64",
     .inputs = {{.dtype = ONS_UINT64, .shape = ONS_DIMS(4), .value_count = 4, .values = {0, 7, -1, -9}},
                {.dtype = ONS_UINT64, .value_count = 1, .values = {3}, .constant = true},
                {.dtype = ONS_UINT64, .value_count = 1, .values = {-5}, .constant = true}},
     .flops = 4,
     .no_gradient = true},
    {.name = "old_bounds",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -3, 9, 5), ONS_F32_SCALAR(0), ONS_F32_SCALAR(6)},
     .tolerance = 1e-6,
     .flops = 5,
     .no_gradient = true},
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_F32_SCALAR(0)}, .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32_IN(-3, 9, 64, 64, 56, 56), ONS_F32_SCALAR(0), ONS_F32_SCALAR(6)},
     .flops = 12845056,
     .benchmark = true},
    {.name = "bound", .inputs = {ONS_F32(3), ONS_F32(3)}, .error = "scalar"},
    {.name = "types", .inputs = {ONS_F32(3), ONS_I64_SCALAR(3)}, .error = "element type"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(clip, "Clip", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 3, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(clip_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(clip_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2), 0),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0), ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}),
                    ONS_FOLLOWS_LAYOUT, ONS_FORMS(clip_upgrade, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(clip_reference),
                    ONS_CPU_KERNEL(clip_prepare, clip_run), ONS_CUDA_KERNEL(clip_cuda_prepare, ons_cuda_clip),
                    clip_cases);
