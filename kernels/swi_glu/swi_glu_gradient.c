/* Gradient of SwiGLU: from the cotangent, gate a and value b, the gradients of both. */
#include <math.h>

#include "graph/operator.h"
#include "kernels/common/operator/checks.h"
#include "kernels/common/operator/kernel.h"

enum { ALPHA };

static ons_status *swi_glu_gradient_infer(ons_operands *o) {
    ONS_TRY(ons_need_float(o, 0));
    for (uint32_t i = 1; i < o->input_count; ++i)
        if (!ons_type_equal(&o->inputs[0], &o->inputs[i])) return ons_node_error(o, "the operands differ in type");
    return ons_infer_like_first(o);
}

static void swi_glu_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                       void *const *outputs) {
    const double *dy = inputs[0], *a = inputs[1], *b = inputs[2];
    double *da = outputs[0], *db = outputs[1], alpha = ons_attribute_float(o, ALPHA);
    for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i) {
        double s = 1 / (1 + exp(-alpha * a[i]));
        if (da != NULL) da[i] = dy[i] * b[i] * (s + alpha * a[i] * s * (1 - s));
        if (db != NULL) db[i] = dy[i] * a[i] * s;
    }
}

ONS_DEFINE_OPERATOR(swi_glu_gradient, "SwiGLUGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 0, 2),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.0)), ONS_INFER(swi_glu_gradient_infer),
                    ONS_COST(ons_cost_elementwise), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_ELEMENTWISE_OPERATOR,
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}, {ONS_ALIAS_MAY, 0, 2},
                                {ONS_ALIAS_MAY, 1, 1}, {ONS_ALIAS_MAY, 1, 2}, {ONS_ALIAS_MAY, 1, 0}),
                    ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(swi_glu_gradient_reference));
