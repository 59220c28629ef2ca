/* The model's own loss, averaged over the micro-batches: x × samples of the micro-batch ÷ samples of the step. */
#include "kernels/common/operator/kernel.h"
#include "kernels/operators.h"

static ons_status *sample_mean_infer(ons_operands *o) {
    char text[ONS_TYPE_TEXT];
    if (!ons_dtype_is_float(o->inputs[0].dtype) || ons_elements(&o->inputs[0]) != 1)
        return ons_node_error(o, "a loss must be one float number, not %s", ons_type_print(&o->inputs[0], text));
    o->outputs[0] = ons_loss_type(&o->inputs[0]);
    return NULL;
}

static void sample_mean_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                  void *const *outputs) {
    *(double *)outputs[0] = *(const double *)inputs[0] * step->sample_share;
}

static ons_status *sample_mean_gradient(ons_gradient *g) {
    g->gradients[0] = ons_build(g->builder, &ons_op_sample_mean_gradient,
                                ONS_IN(ons_gradient_input(g, 0), g->cotangents[0]), ONS_DEFAULTS);
    return NULL;
}

ONS_DEFINE_OPERATOR(sample_mean, "SampleMean", ONS_INTERNAL, ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(sample_mean_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(sample_mean_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                    ONS_ROLES(ONS_ROLE_SAMPLE_MEAN, 0, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(sample_mean_reference));
