/* Pow: a to the power of b; the element types may differ, the result has that of a. */
#include "kernels/pow/pow.h"

#include <math.h>

#include "kernels/common/elementwise/binary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

static ons_status *pow_infer(ons_operands *o) {
    ONS_TRY(ons_need_number(o, 0));
    ONS_TRY(ons_need_number(o, 1));
    ons_operands alike = *o;
    ons_type inputs[2] = {o->inputs[0], o->inputs[1]};
    inputs[1].dtype = inputs[0].dtype;
    alike.inputs = inputs;
    return ons_infer_broadcast(&alike);
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

ONS_DEFINE_OPERATOR(pow, "Pow", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES, ONS_INFER(pow_infer),
                    ONS_COST(ons_cost_elementwise), ONS_GRADIENT_RULE(pow_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), ONS_INPUT_BIT(0)),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT, ONS_BROADCAST_FORMS,
                    ONS_REFERENCE(pow_reference));
