/* Stochastic gradient descent with momentum: g += decay p; b = momentum b + g; p -= lr (nesterov ? g + momentum b : b).
 * A momentum buffer of zeros gives torch's first step, b = g. */
#include "kernels/sgd/sgd.h"

#include "kernels/optimizers/optimizer.h"

static void sgd_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    const double *parameter = inputs[0], *gradient = inputs[1];
    const double *buffer = ons_has_input(o, ONS_STATE_IN) ? inputs[ONS_STATE_IN] : NULL;
    double *new_parameter = outputs[0];
    double momentum = ons_attribute_float(o, MOMENTUM), decay = ons_attribute_float(o, WEIGHT_DECAY);
    double rate = ons_reference_rate(o, step);
    if (ons_reference_skips(o, inputs, outputs)) return;
    for (int64_t i = 0; i < ons_elements(&o->inputs[0]); ++i) {
        double g = gradient[i] * ons_reference_factor(o, inputs) + decay * parameter[i];
        if (buffer != NULL) {
            double b = momentum * buffer[i] + g;
            ((double *)outputs[1])[i] = b;
            g = ons_attribute_int(o, NESTEROV) != 0 ? g + momentum * b : b;
        }
        new_parameter[i] = parameter[i] - rate * g;
    }
    ons_reference_write_half(o, outputs);
}

/* Factor, decay and step 5; the buffer 2 and its share of the step 3. */
static ons_cost sgd_cost(const ons_operands *o) {
    return ons_optimizer_cost(o, ons_has_input(o, ONS_STATE_IN) ? 10 : 5);
}

ONS_DEFINE_OPERATOR(sgd, "Sgd", ONS_INTERNAL, ONS_ARITY(2, 5, 1, 3),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("momentum", 0), ONS_FLOAT_ATTRIBUTE("weight_decay", 0),
                                   ONS_INT_ATTRIBUTE("nesterov", 0), ONS_OWN_RATE_ATTRIBUTE),
                    ONS_INFER(ons_optimizer_infer), ONS_COST(sgd_cost), ONS_NOT_DIFFERENTIABLE("it is an update"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_ROLE_SGD, 0, 0), ONS_UPDATES_ONE_STATE, ONS_FOLLOWS_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(sgd_reference));
