/* The gradient of LRN's input, from the output's gradient and x. With s as in the forward operator,
 *   dx = dy s^-beta - 2 alpha beta ÷ size × x × Σ dy x s^(-beta - 1),
 * the sum over the channels whose windows hold this one. */
#include <math.h>

#include "kernels/lrn/local_response.h"

static ons_status *lrn_gradient_infer(ons_operands *o) {
    ons_local_response l;
    ONS_TRY(ons_local_response_of(o, &o->inputs[1], &l));
    if (!ons_type_equal(&o->inputs[0], &o->inputs[1])) return ons_node_error(o, "cotangent and input differ");
    o->outputs[0] = o->inputs[1];
    return NULL;
}

static ons_cost lrn_gradient_cost(const ons_operands *o) {
    double size = (double)ons_attribute_int(o, ONS_LRN_SIZE);
    return (ons_cost){(3 * size + 9) * (double)ons_elements(&o->inputs[1]), ons_operand_bytes(o)};
}

static void lrn_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                   void *const *outputs) {
    ons_local_response l;
    ons_resolved(ons_local_response_of(o, &o->inputs[1], &l));
    const double *dy = inputs[0], *x = inputs[1];
    double beta = ons_attribute_float(o, ONS_LRN_BETA);
    double weight = ons_attribute_float(o, ONS_LRN_ALPHA) / (double)ons_attribute_int(o, ONS_LRN_SIZE);
    for (int64_t i = 0, count = ons_elements(&o->inputs[1]); i < count; ++i) {
        int64_t channel = i / l.size.positions % l.size.channels;
        double sum = 0;
        for (int64_t c = ons_local_first(channel, l.after); c < ons_local_end(&l, channel, l.before); ++c) {
            int64_t at = i + (c - channel) * l.size.positions;
            sum += dy[at] * x[at] * pow(ons_local_sum_exact(o, &o->inputs[1], x, at), -beta - 1);
        }
        ((double *)outputs[0])[i] =
            dy[i] * pow(ons_local_sum_exact(o, &o->inputs[1], x, i), -beta) - 2 * weight * beta * x[i] * sum;
    }
}

ONS_DEFINE_OPERATOR(lrn_gradient, "LRNGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_LRN_ATTRIBUTES), ONS_INFER(lrn_gradient_infer), ONS_COST(lrn_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(lrn_gradient_reference));
