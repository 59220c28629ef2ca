/* RMSprop: g += decay p; s = alpha s + (1 - alpha) g²; q = g / (√s + eps); with momentum b = momentum b + q, p -= lr b,
 * else p -= lr q. */
#include "kernels/rmsprop/rmsprop.h"

#include "kernels/optimizers/optimizer.h"

static void rmsprop_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs) {
    const double *parameter = inputs[0], *gradient = inputs[1], *square = inputs[3];
    const double *buffer = ons_has_input(o, ONS_STATE_IN + 1) ? inputs[ONS_STATE_IN + 1] : NULL;
    double *new_parameter = outputs[0], *new_square = outputs[1];
    double alpha = ons_attribute_float(o, ALPHA), decay = ons_attribute_float(o, WEIGHT_DECAY);
    double rate = ons_reference_rate(o, step);
    if (ons_reference_skips(o, inputs, outputs)) return;
    for (int64_t i = 0; i < ons_elements(&o->inputs[0]); ++i) {
        double g = gradient[i] * ons_reference_factor(o, inputs) + decay * parameter[i];
        new_square[i] = alpha * square[i] + (1 - alpha) * g * g;
        double change = g / (sqrt(new_square[i]) + ons_attribute_float(o, EPSILON));
        if (buffer != NULL) {
            change += ons_attribute_float(o, MOMENTUM) * buffer[i];
            ((double *)outputs[2])[i] = change;
        }
        new_parameter[i] = parameter[i] - rate * change;
    }
    ons_reference_write_half(o, outputs);
}

/* Factor and decay 3, average 4, root 2, quotient and step 3; with momentum 2 more. */
static ons_cost rmsprop_cost(const ons_operands *o) {
    return ons_optimizer_cost(o, ons_has_input(o, ONS_STATE_IN + 1) ? 14 : 12);
}

ONS_DEFINE_OPERATOR(rmsprop, "RmsProp", ONS_INTERNAL, ONS_ARITY(2, 6, 2, 4),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 0.99), ONS_FLOAT_ATTRIBUTE("eps", 1e-8),
                                   ONS_FLOAT_ATTRIBUTE("weight_decay", 0), ONS_FLOAT_ATTRIBUTE("momentum", 0),
                                   ONS_OWN_RATE_ATTRIBUTE),
                    ONS_INFER(ons_optimizer_infer), ONS_COST(rmsprop_cost), ONS_NOT_DIFFERENTIABLE("it is an update"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_ROLE_RMSPROP, 0, 0), ONS_UPDATES_TWO_STATES, ONS_FOLLOWS_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(rmsprop_reference));
