/* Adagrad as ONNX has it; torch's, which `onstage train` offers, is kernels/adagrad. */
#include <math.h>

#include "kernels/operators.h"
#include "kernels/optimizers/training_update.h"

enum { DECAY, EPSILON, NORM };

static ons_status *training_adagrad_infer(ons_operands *o) { return ons_update_infer(o, 1); }

/* r = R / (1 + T decay); h += g²; x -= r g / (√h + ε), where g is the regularised gradient. */
static void step_values(ons_replacement *m, ons_update_values *v) {
    const ons_operands *o = m->operands;
    ons_value_id count = ons_expand_cast(m, v->count, ons_builder_type(m->builder, v->x).dtype);
    ons_value_id decayed = ons_expand_sum(m, ons_expand_scale(m, count, ons_attribute_float(o, DECAY)),
                                          ons_expand_scalar_like(m, v->x, 1));
    ons_value_id rate = ons_expand2(m, &ons_op_div, v->rate, decayed);
    ons_value_id g = ons_update_regularized(m, v, ons_attribute_float(o, NORM));
    v->states[0] = ons_expand2(m, &ons_op_add, v->states[0], ons_expand2(m, &ons_op_mul, g, g));
    ons_value_id root = ons_expand_sum(m, ons_expand1(m, &ons_op_sqrt, v->states[0]),
                                       ons_expand_scalar_like(m, v->x, ons_attribute_float(o, EPSILON)));
    ons_value_id change = ons_expand2(m, &ons_op_div, ons_expand2(m, &ons_op_mul, rate, g), root);
    v->x = ons_expand2(m, &ons_op_sub, v->x, change);
}

static void step_numbers(const ons_operands *o, ons_update_numbers *v) {
    double rate = v->rate / (1 + (double)v->count * ons_attribute_float(o, DECAY));
    double g = v->gradient + ons_attribute_float(o, NORM) * v->x;
    v->states[0] += g * g;
    v->x -= rate * g / (sqrt(v->states[0]) + ons_attribute_float(o, EPSILON));
}

static ons_status *training_adagrad_expand(ons_replacement *m) { return ons_update_expand(m, 1, step_values); }

static void training_adagrad_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                       void *const *outputs) {
    ons_update_reference(o, 1, inputs, outputs, step_numbers);
}

ONS_DEFINE_EXPANSION(training_adagrad, "Adagrad", ONS_PREVIEW_TRAINING, ONS_ARITY(3, ONS_VARIADIC, 1, ONS_VARIADIC),
                     ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("decay_factor", 0), ONS_FLOAT_ATTRIBUTE("epsilon", 1e-6),
                                    ONS_FLOAT_ATTRIBUTE("norm_coefficient", 0)),
                     training_adagrad_infer, ons_update_cost, ONS_ALL_INPUTS, training_adagrad_expand,
                     training_adagrad_reference);
