/* Momentum as ONNX has it, standard or Nesterov's; torch's, which `onstage train` offers, is kernels/sgd. */
#include "kernels/operators.h"
#include "kernels/optimizers/training_update.h"

enum { ALPHA, BETA, MODE, NORM };

static bool is_nesterov(const ons_operands *o) { return strcmp(ons_attribute_string(o, MODE), "nesterov") == 0; }

static ons_status *training_momentum_infer(ons_operands *o) {
    const char *mode = ons_attribute_string(o, MODE);
    if (!is_nesterov(o) && strcmp(mode, "standard") != 0)
        return ons_node_error(o, "mode '%s'; 'standard' and 'nesterov' are known", mode);
    return ons_update_infer(o, 1);
}

/* v = α v + β g, with 1 in β's place where T is 0; x -= R v, or R (g + α v). */
static void step_values(ons_replacement *m, ons_update_values *v) {
    const ons_operands *o = m->operands;
    double alpha = ons_attribute_float(o, ALPHA);
    ons_value_id g = ons_update_regularized(m, v, ons_attribute_float(o, NORM));
    ons_value_id beta = ons_update_if_counted(m, v, ons_expand_scalar_like(m, v->x, ons_attribute_float(o, BETA)),
                                              ons_expand_scalar_like(m, v->x, 1));
    v->states[0] = ons_update_blend(m, alpha, v->states[0], 1, ons_expand2(m, &ons_op_mul, beta, g));
    ons_value_id way = is_nesterov(o) ? ons_update_blend(m, 1, g, alpha, v->states[0]) : v->states[0];
    v->x = ons_expand2(m, &ons_op_sub, v->x, ons_expand2(m, &ons_op_mul, v->rate, way));
}

static void step_numbers(const ons_operands *o, ons_update_numbers *v) {
    double alpha = ons_attribute_float(o, ALPHA), beta = v->count > 0 ? ons_attribute_float(o, BETA) : 1;
    double g = v->gradient + ons_attribute_float(o, NORM) * v->x;
    v->states[0] = alpha * v->states[0] + beta * g;
    v->x -= v->rate * (is_nesterov(o) ? g + alpha * v->states[0] : v->states[0]);
}

static ons_status *training_momentum_expand(ons_replacement *m) { return ons_update_expand(m, 1, step_values); }

static void training_momentum_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                        void *const *outputs) {
    ons_update_reference(o, 1, inputs, outputs, step_numbers);
}

ONS_DEFINE_EXPANSION(training_momentum, "Momentum", ONS_PREVIEW_TRAINING, ONS_ARITY(3, ONS_VARIADIC, 1, ONS_VARIADIC),
                     ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("alpha", ONS_ATTRIBUTE_FLOAT),
                                    ONS_REQUIRED_ATTRIBUTE("beta", ONS_ATTRIBUTE_FLOAT),
                                    ONS_REQUIRED_ATTRIBUTE("mode", ONS_ATTRIBUTE_STRING),
                                    ONS_REQUIRED_ATTRIBUTE("norm_coefficient", ONS_ATTRIBUTE_FLOAT)),
                     training_momentum_infer, ons_update_cost, ONS_ALL_INPUTS, training_momentum_expand,
                     training_momentum_reference);
