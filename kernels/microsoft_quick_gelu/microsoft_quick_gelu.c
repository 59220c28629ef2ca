/* com.microsoft.QuickGelu: x · sigmoid(alpha x). */
#include <math.h>

#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/expand.h"

static ons_status *microsoft_quick_gelu_expand(ons_replacement *m) {
    ons_value_id scaled = ons_expand_scale(m, m->inputs[0], ons_attribute_float(m->operands, 0));
    return ons_expand_finish(m, ons_expand2(m, &ons_op_mul, m->inputs[0], ons_expand1(m, &ons_op_sigmoid, scaled)));
}

static void microsoft_quick_gelu_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                           void *const *outputs) {
    const double *x = inputs[0];
    double alpha = ons_attribute_float(o, 0);
    for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i)
        ((double *)outputs[0])[i] = x[i] / (1 + exp(-alpha * x[i]));
}

ONS_DEFINE_EXPANSION(microsoft_quick_gelu, "QuickGelu", ONS_MICROSOFT, ONS_ARITY(1, 1, 1, 1),
                     ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.702)), ons_infer_float_unary, ons_cost_elementwise,
                     ONS_ALL_INPUTS, microsoft_quick_gelu_expand, microsoft_quick_gelu_reference);
