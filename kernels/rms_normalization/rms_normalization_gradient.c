/* Gradients of RMSNormalization, both in one pass over the rows: from cotangent dy, input x, scale, and the saved
 * r = 1 / √(mean(x²) + epsilon) of every row, with n = x r and a = dy scale:
 *
 *   dx = r (a - n mean(a n)),   dscale = Σ dy n   (sums over rows)
 *
 * Where they are there, input 4 is added to dx, as it comes to x along the residual stream, and input 5 to dy.
 */
#include "kernels/rms_normalization/rms_normalization_gradient.h"

static ons_status *rms_normalization_gradient_infer(ons_operands *o) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    ons_layer_norm norm;
    ONS_TRY(find_norm(o, &norm));
    if (!ons_type_equal(&o->inputs[0], &o->inputs[1]))
        return ons_node_error(o, "cotangent %s and input %s differ", ons_type_print(&o->inputs[0], left),
                              ons_type_print(&o->inputs[1], right));
    if (ons_elements(&o->inputs[3]) != norm.rows)
        return ons_node_error(o, "the saved input must hold a number for each of %lld rows, not %s",
                              (long long)norm.rows, ons_type_print(&o->inputs[3], left));
    ONS_TRY(ons_norm_gradient_check(o, EXTRA));
    o->outputs[0] = o->inputs[1];
    if (o->output_count > 1) o->outputs[1] = o->inputs[2];
    return NULL;
}

/* Normalisation 1, scale 1, the mean 2, dx 3, the sum 2; what is added 1 each. */
static ons_cost rms_normalization_gradient_cost(const ons_operands *o) {
    return (ons_cost){(9 + ons_norm_gradient_sums(o, EXTRA)) * (double)ons_elements(&o->inputs[1]),
                      ons_operand_bytes(o)};
}

static void rms_normalization_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                                 void *const *outputs) {
    ons_layer_norm norm;
    ons_resolved(find_norm(o, &norm));
    const double *scale = inputs[2];
    double *dscale = o->output_count > 1 ? outputs[1] : NULL;
    for (int64_t i = 0; dscale != NULL && i < norm.columns; ++i) dscale[i] = 0;
    for (int64_t row = 0; row < norm.rows; ++row) {
        const double *dy = (const double *)inputs[0] + row * norm.columns;
        const double *x = (const double *)inputs[1] + row * norm.columns;
        double r = ((const double *)inputs[3])[row], mean = 0;
        for (int64_t i = 0; i < norm.columns; ++i) {
            double d = dy[i] + ons_norm_summand(o, EXTRA + 1, inputs, row * norm.columns + i);
            mean += d * scale[i] * x[i] * r / (double)norm.columns;
            if (dscale != NULL) dscale[i] += d * x[i] * r;
        }
        for (int64_t i = 0; outputs[0] != NULL && i < norm.columns; ++i)
            ((double *)outputs[0])[row * norm.columns + i] =
                r * ((dy[i] + ons_norm_summand(o, EXTRA + 1, inputs, row * norm.columns + i)) * scale[i] -
                     x[i] * r * mean) +
                ons_norm_summand(o, EXTRA, inputs, row * norm.columns + i);
    }
}

ONS_DEFINE_OPERATOR(rms_normalization_gradient, "RMSNormalizationGradient", ONS_INTERNAL, ONS_ARITY(4, 6, 0, 2),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", -1)), ONS_INFER(rms_normalization_gradient_infer),
                    ONS_COST(rms_normalization_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}, {ONS_ALIAS_MAY, 0, 4},
                                {ONS_ALIAS_MAY, 0, 5}),
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(rms_normalization_gradient_reference));
