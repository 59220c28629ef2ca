/* Gradients of LayerNormalization, all in one pass over the rows: from cotangent dy, input x, scale, and the saved mean
 * and inverse standard deviation r of every row, with n = (x - mean) r and a = dy scale:
 *
 *   dx = r (a - mean(a) - n mean(a n)),   dscale = Σ dy n,   dbias = Σ dy   (sums over rows)
 *
 * Where they are there, input 5 is added to dx, as it comes to x along the residual stream, and input 6 to dy.
 */
#include "kernels/layer_normalization/layer_normalization_gradient.h"

static ons_status *layer_normalization_gradient_infer(ons_operands *o) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    ons_layer_norm norm;
    ONS_TRY(find_norm(o, &norm));
    if (!ons_type_equal(&o->inputs[0], &o->inputs[1]))
        return ons_node_error(o, "cotangent %s and input %s differ", ons_type_print(&o->inputs[0], left),
                              ons_type_print(&o->inputs[1], right));
    for (uint32_t i = 3; i < 5; ++i)
        if (ons_elements(&o->inputs[i]) != norm.rows)
            return ons_node_error(o, "input %u must hold a number for each of %lld rows, not %s", i,
                                  (long long)norm.rows, ons_type_print(&o->inputs[i], left));
    ONS_TRY(ons_norm_gradient_check(o, EXTRA));
    o->outputs[0] = o->inputs[1];
    o->outputs[1] = o->outputs[2] = o->inputs[2];
    return NULL;
}

/* Normalisation 2, scale 1, the two means 3, dx 4, the two sums 3; what is added 1 each. */
static ons_cost layer_normalization_gradient_cost(const ons_operands *o) {
    return (ons_cost){(13 + ons_norm_gradient_sums(o, EXTRA)) * (double)ons_elements(&o->inputs[1]),
                      ons_operand_bytes(o)};
}

static void layer_normalization_gradient_reference(const ons_operands *o, const ons_step *step,
                                                   const void *const *inputs, void *const *outputs) {
    (void)step;
    ons_layer_norm norm;
    ons_resolved(find_norm(o, &norm));
    const double *scale = inputs[2];
    double *dscale = outputs[1], *dbias = outputs[2], columns = (double)norm.columns;
    for (int64_t i = 0; i < norm.columns; ++i) {
        if (dscale != NULL) dscale[i] = 0;
        if (dbias != NULL) dbias[i] = 0;
    }
    for (int64_t row = 0; row < norm.rows; ++row) {
        const double *dy = (const double *)inputs[0] + row * norm.columns;
        const double *x = (const double *)inputs[1] + row * norm.columns;
        double mean = ((const double *)inputs[3])[row], r = ((const double *)inputs[4])[row], first = 0, second = 0;
        for (int64_t i = 0; i < norm.columns; ++i) {
            double n = (x[i] - mean) * r, d = dy[i] + ons_norm_summand(o, EXTRA + 1, inputs, row * norm.columns + i);
            first += d * scale[i] / columns;
            second += d * scale[i] * n / columns;
            if (dscale != NULL) dscale[i] += d * n;
            if (dbias != NULL) dbias[i] += d;
        }
        for (int64_t i = 0; outputs[0] != NULL && i < norm.columns; ++i)
            ((double *)outputs[0])[row * norm.columns + i] =
                r * ((dy[i] + ons_norm_summand(o, EXTRA + 1, inputs, row * norm.columns + i)) * scale[i] - first -
                     (x[i] - mean) * r * second) +
                ons_norm_summand(o, EXTRA, inputs, row * norm.columns + i);
    }
}

ONS_DEFINE_OPERATOR(layer_normalization_gradient, "LayerNormalizationGradient", ONS_INTERNAL, ONS_ARITY(5, 7, 0, 3),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", -1)), ONS_INFER(layer_normalization_gradient_infer),
                    ONS_COST(layer_normalization_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}, {ONS_ALIAS_MAY, 0, 5},
                                {ONS_ALIAS_MAY, 0, 6}),
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(layer_normalization_gradient_reference));
