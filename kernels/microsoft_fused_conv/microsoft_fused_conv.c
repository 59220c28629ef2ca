/* com.microsoft.FusedConv: activation(Conv(x, w, bias) + z). */
#include "kernels/common/layout/window.h"
#include "kernels/microsoft/activation.h"
#include "kernels/operators.h"

enum { X, W, BIAS, Z };

enum { ACTIVATION = ONS_WINDOW_ATTRIBUTE_COUNT + 1, PARAMETERS };

static ons_status *find_activation(const ons_operands *o, ons_activation *activation) {
    const ons_attribute *given = &o->attributes[PARAMETERS];
    *activation = (ons_activation){.name = ons_attribute_string(o, ACTIVATION)};
    for (uint32_t i = 0; ons_has_attribute(o, PARAMETERS) && i < given->count && i < ONS_ACTIVATION_PARAMETERS; ++i)
        activation->parameters[activation->parameter_count++] = given->floats[i];
    return ons_activation_resolve(o, activation);
}

static ons_status *microsoft_fused_conv_infer(ons_operands *o) {
    ons_activation activation;
    ONS_TRY(ons_op_conv.infer(o));
    if (ons_has_input(o, Z) && !ons_type_equal(&o->inputs[Z], &o->outputs[0]))
        return ons_node_error(o, "what is added must have the shape of the result");
    return find_activation(o, &activation);
}

static ons_cost microsoft_fused_conv_cost(const ons_operands *o) { return ons_op_conv.cost(o); }

static ons_status *microsoft_fused_conv_expand(ons_replacement *m) {
    ons_activation activation;
    ons_resolved(find_activation(m->operands, &activation));
    ons_value_id y = ONS_NONE;
    ons_build_node_like(m->builder, &ons_op_conv, ONS_IN(m->inputs[X], m->inputs[W], ons_expand_input(m, BIAS)),
                        m->operands->attributes, 1, NULL, &y);
    y = ons_expand_sum(m, y, ons_expand_input(m, Z));
    return ons_expand_finish(m, ons_activation_expand(m, &activation, y));
}

static void microsoft_fused_conv_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                           void *const *outputs) {
    ons_activation activation;
    ons_resolved(find_activation(o, &activation));
    ons_op_conv.reference(o, step, inputs, outputs);
    double *y = outputs[0];
    const double *z = ons_has_input(o, Z) ? inputs[Z] : NULL;
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i)
        y[i] = ons_activation_reference(&activation, z == NULL ? y[i] : y[i] + z[i]);
}

ONS_DEFINE_EXPANSION(microsoft_fused_conv, "FusedConv", ONS_MICROSOFT, ONS_ARITY(2, 4, 1, 1),
                     ONS_ATTRIBUTES(ONS_WINDOW_ATTRIBUTES, ONS_INT_ATTRIBUTE("group", 1),
                                    ONS_STRING_ATTRIBUTE("activation", ""),
                                    ONS_OPTIONAL_ATTRIBUTE("activation_params", ONS_ATTRIBUTE_FLOATS)),
                     microsoft_fused_conv_infer, microsoft_fused_conv_cost, ONS_ALL_INPUTS, microsoft_fused_conv_expand,
                     microsoft_fused_conv_reference);
