/* Hardmax: 1 at the first of the largest elements along an axis, 0 elsewhere. */
#include "kernels/hardmax/hardmax.h"

#include "kernels/softmax/softmax_axis.h"

static void hardmax_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs) {
    ons_axis_view view = ons_softmax_view(o);
    const double *x = inputs[0];
    double *y = outputs[0];
    for (int64_t row = 0; row < view.outer * view.inner && view.length > 0; ++row) {
        int64_t first = row / view.inner * view.length * view.inner + row % view.inner, best = 0;
        for (int64_t k = 1; k < view.length; ++k)
            if (IS_LARGER(x[first + k * view.inner], x[first + best * view.inner])) best = k;
        for (int64_t k = 0; k < view.length; ++k) y[first + k * view.inner] = k == best;
    }
}

ONS_DEFINE_OPERATOR(hardmax, "Hardmax", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_SOFTMAX_ATTRIBUTES,
                    ONS_INFER(ons_softmax_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("the result jumps between 0 and 1 and is constant in between"),
                    ONS_SAVES_NOTHING, ONS_ANY_PRECISION_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT,
                    ONS_FORMS(ons_softmax_upgrade, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(hardmax_reference));
