/* Conv: convolution over 1 to 3 spatial dims, with groups, strides, dilations and padding. */
#include "kernels/conv/conv.h"

#include "kernels/convolution/convolution.h"
#include "kernels/operators.h"

static ons_status *conv_infer(ons_operands *o) {
    ons_convolution c;
    ONS_TRY(resolve_conv(o, &c));
    if (c.bias && (o->inputs[2].shape.rank != 1 || o->inputs[2].shape.dims[0] != c.y.shape.dims[1]))
        return ons_node_error(o, "the bias must be a vector of %lld", (long long)c.y.shape.dims[1]);
    ONS_TRY_AT(ons_shape_check(&c.y.shape), "node '%s'", o->name);
    o->outputs[0] = c.y;
    o->outputs[0].layout = ONS_LAYOUT_ONNX;
    return NULL;
}

static ons_cost conv_cost(const ons_operands *o) {
    ons_convolution c;
    ons_resolved(resolve_conv(o, &c));
    double bias = c.bias ? (double)ons_elements(&o->outputs[0]) : 0;
    return (ons_cost){ons_convolution_flops(&c) + bias, ons_operand_bytes(o)};
}

static ons_status *conv_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    ons_convolution c;
    ons_resolved(resolve_conv(o, &c));
    ONS_TRY(ons_convolution_choose(o, &c));
    inputs[0] = c.x.layout;
    inputs[1] = c.w.layout;
    outputs[0] = c.y.layout;
    return NULL;
}

static void conv_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                           void *const *outputs) {
    ons_convolution c;
    ons_resolved(resolve_conv(o, &c));
    const double *bias = c.bias ? inputs[2] : NULL;
    double *y = outputs[0];
    int64_t positions = ons_window_outputs(&c.window), channels = c.y.shape.dims[1];
    for (int64_t i = 0, count = ons_elements(&c.y); i < count; ++i)
        y[i] = bias != NULL ? bias[i / positions % channels] : 0;
    ons_convolution_reference(&c, inputs[0], inputs[1], NULL, y);
}

static ons_status *conv_gradient(ons_gradient *g) {
    ons_convolution c;
    ons_window_settings s;
    ons_resolved(resolve_conv(g->operands, &c));
    ons_window_get_settings(&c.window, &c.x.shape, &s);
    ons_value_id dy = g->cotangents[0];
    ons_setting group = ONS_AT_INT(ONS_CONVOLUTION_GROUP, c.groups);
    if (g->wanted[0])
        g->gradients[0] = ons_build(g->builder, &ons_op_conv_input_gradient, ONS_IN(dy, ons_gradient_input(g, 1)),
                                    ONS_WITH(ONS_WINDOW_WITH(&c.window, &s), group,
                                             ONS_AT_INTS(ONS_CONVOLUTION_GROUP + 1, c.x.shape.rank, s.input)));
    bool bias = c.bias && g->wanted[2];
    if (g->wanted[1]) { /* the bias' gradient comes along at little cost */
        ons_value_id made[2] = {ONS_NONE, ONS_NONE};
        ons_build_node(g->builder, &ons_op_conv_weight_gradient, ONS_IN(ons_gradient_input(g, 0), dy),
                       ONS_WITH(ONS_WINDOW_WITH(&c.window, &s), group), 2, (const bool[]){true, bias}, made);
        g->gradients[1] = made[0];
        if (bias) g->gradients[2] = made[1];
    } else if (bias) {
        int64_t axes[1 + ONS_WINDOW_DIMS] = {0, 2, 3, 4};
        g->gradients[2] =
            ons_build(g->builder, ons_registry_role(g->builder->registry, ONS_ROLE_REDUCE_SUM),
                      ONS_IN(dy, ons_build_integers(g->builder, axes, c.y.shape.rank - 1)), ONS_WITH(ONS_AT_INT(0, 0)));
    }
    return NULL;
}

ONS_DEFINE_OPERATOR(conv, "Conv", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_WINDOW_ATTRIBUTES, ONS_INT_ATTRIBUTE("group", 1)), ONS_INFER(conv_infer),
                    ONS_COST(conv_cost), ONS_GRADIENT_RULE(conv_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_DENSE_OPERATOR, ONS_NO_ALIASES,
                    ONS_CHOOSES_LAYOUT(conv_choose), ONS_ONE_FORM, ONS_REFERENCE(conv_reference));
