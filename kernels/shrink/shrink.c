/* Shrink: x brought towards 0 by bias where it is farther than lambd from it, 0 elsewhere. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

/* Integers by way of double, as the attributes are floats. */
static double shrunk(const ons_operands *o, double x) {
    double lambd = ons_attribute_float(o, 0), bias = ons_attribute_float(o, 1);
    return x < -lambd ? x + bias : x > lambd ? x - bias : 0;
}

ONS_UNARY_WORDS(shrink_floats, double, double, shrunk(o, x))

ONS_UNARY_WORDS(shrink_integers, int64_t, int64_t, ons_wrap_to(o->outputs[0].dtype, (int64_t)shrunk(o, (double)x)))

static void shrink_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                             void *const *outputs) {
    ons_unary_each(o, inputs, outputs, ons_dtype_is_float(o->inputs[0].dtype) ? shrink_floats : shrink_integers);
}

ONS_GRADIENT_BY_INPUT(shrink)

ONS_DEFINE_UNARY(shrink, "Shrink", ONS_ONNX(9, ONS_NEWEST),
                 ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("lambd", 0.5), ONS_FLOAT_ATTRIBUTE("bias", 0.0)),
                 ONS_INFER(ons_infer_number_unary), ONS_GRADIENT_RULE(shrink_gradient, ONS_ALL_INPUTS),
                 ONS_SAVES(ONS_INPUT_BIT(0), 0), ONS_ELEMENTWISE_OPERATOR, ONS_ONE_FORM,
                 ONS_REFERENCE(shrink_reference));
