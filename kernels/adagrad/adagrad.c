/* Adagrad: g += decay p; s += g²; p -= lr g / (√s + eps). */
#include "kernels/adagrad/adagrad.h"

#include "kernels/optimizers/optimizer.h"

static void adagrad_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs) {
    const double *parameter = inputs[0], *gradient = inputs[1], *sum = inputs[3];
    double *new_parameter = outputs[0], *new_sum = outputs[1], decay = ons_attribute_float(o, WEIGHT_DECAY);
    double rate = ons_reference_rate(o, step);
    if (ons_reference_skips(o, inputs, outputs)) return;
    for (int64_t i = 0; i < ons_elements(&o->inputs[0]); ++i) {
        double g = gradient[i] * ons_reference_factor(o, inputs) + decay * parameter[i];
        new_sum[i] = sum[i] + g * g;
        new_parameter[i] = parameter[i] - rate * g / (sqrt(new_sum[i]) + ons_attribute_float(o, EPSILON));
    }
    ons_reference_write_half(o, outputs);
}

/* Factor and decay 3, sum 2, root 2, quotient and step 3. */
static ons_cost adagrad_cost(const ons_operands *o) { return ons_optimizer_cost(o, 10); }

ONS_DEFINE_OPERATOR(adagrad, "Adagrad", ONS_INTERNAL, ONS_ARITY(2, 5, 2, 3),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("eps", 1e-10), ONS_FLOAT_ATTRIBUTE("weight_decay", 0),
                                   ONS_OWN_RATE_ATTRIBUTE),
                    ONS_INFER(ons_optimizer_infer), ONS_COST(adagrad_cost), ONS_NOT_DIFFERENTIABLE("it is an update"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_ROLE_ADAGRAD, 0, 0), ONS_UPDATES_ONE_STATE, ONS_FOLLOWS_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(adagrad_reference));
