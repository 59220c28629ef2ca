/* StopGradient: the input itself, to which no gradient flows: PyTorch's detach. Derivatives that are not those of a
 * form's nodes are built with it (derivatives.h). */
#include <string.h>

#include "kernels/common/operator/kernel.h"
#include "kernels/stop_gradient/derivatives.h"

static void stop_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                    void *const *outputs) {
    memcpy(outputs[0], inputs[0], (size_t)ons_elements(&o->outputs[0]) * 8);
}

/* Never asked for: no input is differentiable. */
static ons_status *stop_gradient_gradient(ons_gradient *g) { return NULL; }

#define STOPS                                                                                                          \
    { .build = stop_gradient_gradient, .why_not = "it is there to stop gradients" }

ONS_DEFINE_OPERATOR(stop_gradient, "StopGradient", ONS_INTERNAL, ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_like_first), ONS_COST(ons_cost_free), STOPS, ONS_SAVES_NOTHING,
                    ONS_ELEMENTWISE_OPERATOR, ONS_ALIASES({ONS_ALIAS_VIEW, 0, 0}), ONS_FOLLOWS_LAYOUT,
                    ONS_FORMS(NULL, ONS_DERIVATIVE_PATTERNS, NULL), ONS_REFERENCE(stop_gradient_reference));
