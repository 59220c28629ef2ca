/* Adam as ONNX has it; torch's, which `onstage train` offers, is kernels/adam. */
#include <math.h>

#include "kernels/operators.h"
#include "kernels/optimizers/training_update.h"

enum { ALPHA, BETA, EPSILON, NORM, NORM_AFTER };

static ons_status *training_adam_infer(ons_operands *o) { return ons_update_infer(o, 2); }

/* 1 - base^T, a scalar in double: in float nothing is left of it where T is small. */
static ons_value_id correction(ons_replacement *m, const ons_update_values *v, double base) {
    ons_value_id count = ons_expand_cast(m, v->count, ONS_FLOAT64);
    ons_value_id power = ons_expand2(m, &ons_op_pow, ons_build_scalar(m->builder, ONS_FLOAT64, base), count);
    return ons_expand2(m, &ons_op_sub, ons_build_scalar(m->builder, ONS_FLOAT64, 1), power);
}

/* v = α v + (1 - α) g; h = β h + (1 - β) g²; r = R √(1 - βᵀ) / (1 - αᵀ) where T > 0, else R;
 * x = (x - r v / (√h + ε)) (1 - the coefficient after the update). */
static void step_values(ons_replacement *m, ons_update_values *v) {
    const ons_operands *o = m->operands;
    double alpha = ons_attribute_float(o, ALPHA), beta = ons_attribute_float(o, BETA);
    ons_value_id g = ons_update_regularized(m, v, ons_attribute_float(o, NORM));
    v->states[0] = ons_update_blend(m, alpha, v->states[0], 1 - alpha, g);
    v->states[1] = ons_update_blend(m, beta, v->states[1], 1 - beta, ons_expand2(m, &ons_op_mul, g, g));
    ons_value_id root = ons_expand_sum(m, ons_expand1(m, &ons_op_sqrt, v->states[1]),
                                       ons_expand_scalar_like(m, v->x, ons_attribute_float(o, EPSILON)));
    ons_value_id factor =
        ons_expand2(m, &ons_op_div, ons_expand1(m, &ons_op_sqrt, correction(m, v, beta)), correction(m, v, alpha));
    factor = ons_expand_cast(m, factor, ons_builder_type(m->builder, v->x).dtype);
    ons_value_id rate = ons_update_if_counted(m, v, ons_expand2(m, &ons_op_mul, v->rate, factor), v->rate);
    ons_value_id change = ons_expand2(m, &ons_op_div, ons_expand2(m, &ons_op_mul, rate, v->states[0]), root);
    v->x = ons_expand_scale(m, ons_expand2(m, &ons_op_sub, v->x, change), 1 - ons_attribute_float(o, NORM_AFTER));
}

static void step_numbers(const ons_operands *o, ons_update_numbers *v) {
    double alpha = ons_attribute_float(o, ALPHA), beta = ons_attribute_float(o, BETA), rate = v->rate;
    double g = v->gradient + ons_attribute_float(o, NORM) * v->x, count = (double)v->count;
    v->states[0] = alpha * v->states[0] + (1 - alpha) * g;
    v->states[1] = beta * v->states[1] + (1 - beta) * g * g;
    if (v->count > 0) rate *= sqrt(1 - pow(beta, count)) / (1 - pow(alpha, count));
    v->x -= rate * v->states[0] / (sqrt(v->states[1]) + ons_attribute_float(o, EPSILON));
    v->x *= 1 - ons_attribute_float(o, NORM_AFTER);
}

static ons_status *training_adam_expand(ons_replacement *m) { return ons_update_expand(m, 2, step_values); }

static void training_adam_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                    void *const *outputs) {
    ons_update_reference(o, 2, inputs, outputs, step_numbers);
}

ONS_DEFINE_EXPANSION(training_adam, "Adam", ONS_PREVIEW_TRAINING, ONS_ARITY(3, ONS_VARIADIC, 1, ONS_VARIADIC),
                     ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 0.9), ONS_FLOAT_ATTRIBUTE("beta", 0.999),
                                    ONS_FLOAT_ATTRIBUTE("epsilon", 1e-6), ONS_FLOAT_ATTRIBUTE("norm_coefficient", 0),
                                    ONS_FLOAT_ATTRIBUTE("norm_coefficient_post", 0)),
                     training_adam_infer, ons_update_cost, ONS_ALL_INPUTS, training_adam_expand,
                     training_adam_reference);
