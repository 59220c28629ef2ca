/* Pow: a to the power of b; the element types may differ, the result has that of a. */
#include "graph/evaluate.h"
#include "kernels/common/binary.h"
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"

static ons_status *pow_infer(ons_operands *o) {
    ONS_TRY(ons_need_number(o, 0));
    ONS_TRY(ons_need_number(o, 1));
    ons_operands alike = *o;
    ons_type inputs[2] = {o->inputs[0], o->inputs[1]};
    inputs[1].dtype = inputs[0].dtype;
    alike.inputs = inputs;
    return ons_infer_broadcast(&alike);
}

/* -------------------------------------------------------------------------------------------------------- reference */

static double word_as_double(ons_dtype dtype, const void *words, int64_t index) {
    if (ons_dtype_is_float(dtype)) return ((const double *)words)[index];
    return dtype == ONS_UINT64 ? (double)((const uint64_t *)words)[index] : (double)((const int64_t *)words)[index];
}

/* Integers to an integer power exactly; to a float one by way of double. */
static int64_t integer_power(const ons_operands *o, const void *const *inputs, int64_t at, int64_t exponent_at) {
    int64_t base = ((const int64_t *)inputs[0])[at];
    if (o->inputs[1].dtype == ONS_UINT64) return ons_unsigned_power(base, ((const uint64_t *)inputs[1])[exponent_at]);
    if (!ons_dtype_is_float(o->inputs[1].dtype))
        return ons_integer_power(base, ((const int64_t *)inputs[1])[exponent_at]);
    double power = pow(word_as_double(o->inputs[0].dtype, inputs[0], at), ((const double *)inputs[1])[exponent_at]);
    if (o->inputs[0].dtype == ONS_UINT64 && power >= 0x1p63)
        return power >= 0x1p64 ? -1 /* the largest */ : (int64_t)(uint64_t)power;
    return power >= 0x1p63 ? INT64_MAX : power > -0x1p63 ? (int64_t)power : power == power ? INT64_MIN : 0;
}

static void pow_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    (void)step;
    const ons_shape *shape = &o->outputs[0].shape;
    for (int64_t i = 0, n = ons_shape_elements(shape); i < n; ++i) {
        int64_t a = ons_broadcast_index(shape, &o->inputs[0].shape, i);
        int64_t b = ons_broadcast_index(shape, &o->inputs[1].shape, i);
        if (ons_dtype_is_float(o->outputs[0].dtype))
            ((double *)outputs[0])[i] =
                pow(word_as_double(o->inputs[0].dtype, inputs[0], a), word_as_double(o->inputs[1].dtype, inputs[1], b));
        else
            ((int64_t *)outputs[0])[i] = ons_wrap_to(o->outputs[0].dtype, integer_power(o, inputs, a, b));
    }
}

/* ----------------------------------------------------------------------------------------------------------- kernel */

ONS_BINARY_SPAN(power, float, float, float, powf(a, b))
ONS_BINARY_SPAN(int64_power, int64_t, int64_t, int64_t, ons_integer_power(a, b))
/* Powers known beforehand: `b` is not read. */
ONS_BINARY_SPAN(power_0, float, float, float, ((void)a, (void)b, 1.0f))
ONS_BINARY_SPAN(power_1, float, float, float, ((void)b, a))
ONS_BINARY_SPAN(power_2, float, float, float, ((void)b, a *a))
ONS_BINARY_SPAN(power_3, float, float, float, ((void)b, a *a *a))
ONS_BINARY_SPAN(power_half, float, float, float, ((void)b, __builtin_sqrtf(a)))
ONS_BINARY_SPAN(power_minus_1, float, float, float, ((void)b, 1.0f / a))
ONS_BINARY_SPAN(power_minus_half, float, float, float, ((void)b, 1.0f / __builtin_sqrtf(a)))

static const struct {
    double exponent;
    ons_span_function *function;
} fixed_powers[] = {
    {0, power_0},
    {1, power_1},
    {2, power_2},
    {3, power_3},
    {0.5, power_half},
    {-1, power_minus_1},
    {-0.5, power_minus_half},
};

/* Whether the exponent is one number known beforehand. */
static bool constant_exponent(const ons_operands *o, double *exponent) {
    if (o->constants[1].data == NULL || ons_elements(&o->inputs[1]) != 1) return false;
    uint64_t word;
    ons_widen(o->inputs[1].dtype, o->constants[1].data, 1, &word);
    *exponent = word_as_double(o->inputs[1].dtype, &word, 0);
    return true;
}

/* Pairs of types that pow.cu has. */
static bool has_cuda_kernel(ons_dtype base, ons_dtype exponent) {
    if (base == ONS_INT64 || base == ONS_INT32) return exponent == ONS_FLOAT32;
    bool number = exponent == ONS_FLOAT64 || exponent == ONS_INT64 || exponent == ONS_UINT64 || exponent == ONS_INT32;
    return base == exponent || (base == ONS_FLOAT32 && number);
}

static ons_status *pow_cuda_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (!has_cuda_kernel(o->inputs[0].dtype, o->inputs[1].dtype))
        return ons_node_error(o, "no CUDA kernel for %s to the power of %s", ons_dtype_name(o->inputs[0].dtype),
                              ons_dtype_name(o->inputs[1].dtype));
    return ons_cuda_number_prepare(p);
}

static ons_status *pow_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_broadcast *state;
    double exponent;
    if (o->inputs[0].dtype == ONS_INT64 && o->inputs[1].dtype == ONS_INT64)
        return ons_broadcast_prepare(p, int64_power, &state);
    if (o->inputs[0].dtype != ONS_FLOAT32) return ons_refuse_dtype(o, o->inputs[0].dtype);
    for (size_t i = 0; constant_exponent(o, &exponent) && i < sizeof fixed_powers / sizeof fixed_powers[0]; ++i)
        if (fixed_powers[i].exponent == exponent) return ons_broadcast_prepare(p, fixed_powers[i].function, &state);
    if (o->inputs[1].dtype != ONS_FLOAT32) return ons_refuse_dtype(o, o->inputs[1].dtype);
    return ons_broadcast_prepare(p, power, &state);
}

/* --------------------------------------------------------------------------------------------------------- gradient */

/* b·a^(b-1), with the shortest form for exponents that models have. */
static void constant_power_gradient(ons_gradient *g, double exponent) {
    ons_value_id a = ons_gradient_input(g, 0), dy = g->cotangents[0];
    if (exponent == 0) return;
    if (exponent == 1) {
        g->gradients[0] = dy;
        return;
    }
    ons_value_id power = exponent == 2 ? a : ons_make2(g, &ons_op_pow, a, ons_make_scalar(g, exponent - 1));
    ons_value_id slope = ons_make2(g, &ons_op_mul, power, ons_make_scalar(g, exponent));
    g->gradients[0] = ons_make2(g, &ons_op_mul, dy, slope);
}

/* As in the common frameworks, an exponent of 0 gives the base no gradient, and a base of 0 gives none to an exponent
 * that is not negative; the formulas would give NaN. */
static ons_status *pow_gradient(ons_gradient *g) {
    double exponent;
    if (constant_exponent(g->operands, &exponent)) {
        constant_power_gradient(g, exponent);
        return NULL;
    }
    ons_value_id a = ons_gradient_input(g, 0), b = ons_gradient_input(g, 1), dy = g->cotangents[0];
    ons_value_id zero = ons_make_scalar(g, 0);
    ons_setting type = ONS_AT_INT(0, g->operands->inputs[0].dtype);
    if (g->operands->inputs[1].dtype != g->operands->inputs[0].dtype)
        b = ons_build(g->builder, &ons_op_cast, ONS_IN(b), (ons_settings){&type, 1});
    if (g->wanted[0]) {
        ons_value_id lower = ons_make2(g, &ons_op_pow, a, ons_make2(g, &ons_op_sub, b, ons_make_scalar(g, 1)));
        ons_value_id slope = ons_make2(g, &ons_op_mul, b, lower);
        slope = ons_make3(g, &ons_op_where, ons_make2(g, &ons_op_equal, b, zero), zero, slope);
        g->gradients[0] = ons_make2(g, &ons_op_mul, dy, slope);
    }
    if (g->wanted[1]) {
        ons_value_id slope = ons_make2(g, &ons_op_mul, ons_gradient_output(g, 0), ons_make1(g, &ons_op_log, a));
        ons_value_id flat = ons_make2(g, &ons_op_and, ons_make2(g, &ons_op_equal, a, zero),
                                      ons_make2(g, &ons_op_greater_or_equal, b, zero));
        slope = ons_make3(g, &ons_op_where, flat, zero, slope);
        ons_value_id gradient = ons_make2(g, &ons_op_mul, dy, slope);
        type.value.i = g->operands->inputs[1].dtype;
        g->gradients[1] = g->operands->inputs[1].dtype == g->operands->inputs[0].dtype
                              ? gradient
                              : ons_build(g->builder, &ons_op_cast, ONS_IN(gradient), (ons_settings){&type, 1});
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ cases */

#define POSITIVE(...) ONS_F32_IN(0.3, 2, ##__VA_ARGS__)
#define FIXED(NAME, EXPONENT)                                                                                          \
    { .name = (NAME), .inputs = {POSITIVE(5, 7), ONS_F32_SCALAR(EXPONENT)}, .tolerance = 1e-6, .flops = 35 }
static const ons_case pow_cases[] = {
    ONS_BROADCAST_CASES(POSITIVE, ONS_F32, 1e-6),
    FIXED("exponent_0", 0),
    FIXED("exponent_1", 1),
    FIXED("exponent_2", 2),
    FIXED("exponent_3", 3),
    FIXED("exponent_half", 0.5),
    FIXED("exponent_minus_1", -1),
    FIXED("exponent_minus_half", -0.5),
    FIXED("exponent_any", 1.7),
    {.name = "negative_base", .inputs = {ONS_F32(5, 7), ONS_F32_SCALAR(3)}, .tolerance = 1e-6, .flops = 35},
    {.name = "integer_exponent", .inputs = {ONS_F32(5, 7), ONS_I64_SCALAR(2)}, .tolerance = 1e-6, .flops = 35},
    {.name = "int64",
     .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 5, 7), ONS_RANDOM(ONS_INT64, 0, 5, 7)},
     .flops = 35,
     .no_gradient = true},
    {.name = "double_exponent",
     .inputs = {ONS_F32(5, 7), {.dtype = ONS_FLOAT64, .value_count = 1, .values = {3}, .constant = true}},
     .tolerance = 1e-6,
     .flops = 35},
    {.name = "int32_float",
     .inputs = {ONS_RANDOM(ONS_INT32, 1, 9, 35), ONS_F32_IN(0, 3, 35)},
     .flops = 35,
     .no_gradient = true},
    {.name = "float_int32",
     .inputs = {ONS_F32_IN(0.3, 2, 35), ONS_RANDOM(ONS_INT32, -3, 3, 35)},
     .tolerance = 1e-6,
     .flops = 35},
    {.name = "float_uint64",
     .inputs = {ONS_F32_IN(0.3, 2, 35), ONS_RANDOM(ONS_UINT64, 0, 3, 35)},
     .tolerance = 1e-6,
     .flops = 35},
    {.name = "uint8",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 9, 35), ONS_RANDOM(ONS_UINT8, 0, 5, 35)},
     .flops = 35,
     .no_gradient = true},
    ONS_UINT64_CASE,
    {.name = "square_large",
     .inputs = {ONS_F32(64, 128, 1024), ONS_F32_SCALAR(2)},
     .tolerance = 1e-6,
     .flops = 8388608,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(pow, "Pow", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES, ONS_INFER(pow_infer),
                    ONS_COST(ons_cost_elementwise), ONS_GRADIENT_RULE(pow_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), ONS_INPUT_BIT(0)),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT, ONS_BROADCAST_FORMS,
                    ONS_REFERENCE(pow_reference), ONS_CPU_KERNEL(pow_prepare, ons_broadcast_run),
                    ONS_CUDA_KERNEL(pow_cuda_prepare, ons_cuda_pow), pow_cases);
