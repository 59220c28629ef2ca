/* Gradient (ai.onnx.preview.training): the derivatives of one value of the graph by others, which the attributes name.
 * Binding puts the nodes that compute them in its place (graph/passes/bind_gradient.h). */
#include "kernels/common/operator/kernel.h"
#include "kernels/optimizers/training_update.h"

enum { BY, OTHERS, OF };

static ons_status *gradient_infer(ons_operands *o) {
    uint32_t count = o->attributes[BY].count;
    if (count == 0 || count > o->input_count)
        return ons_node_error(o, "it names %u values and has %u inputs", count, o->input_count);
    if (o->output_count > count) return ons_node_error(o, "it has %u outputs for %u values", o->output_count, count);
    for (uint32_t i = 0; i < o->output_count; ++i) {
        ONS_TRY(ons_need_float(o, i));
        o->outputs[i] = o->inputs[i];
    }
    return NULL;
}

ONS_DEFINE_OPERATOR(gradient, "Gradient", ONS_PREVIEW_TRAINING, ONS_ARITY(1, ONS_VARIADIC, 1, ONS_VARIADIC),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("xs", ONS_ATTRIBUTE_STRINGS),
                                   ONS_OPTIONAL_ATTRIBUTE("zs", ONS_ATTRIBUTE_STRINGS),
                                   ONS_REQUIRED_ATTRIBUTE("y", ONS_ATTRIBUTE_STRING)),
                    ONS_INFER(gradient_infer), ONS_COST(ons_cost_free),
                    ONS_NOT_DIFFERENTIABLE("binding replaces it by the nodes of a backward pass"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_GRADIENT, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    NULL);
