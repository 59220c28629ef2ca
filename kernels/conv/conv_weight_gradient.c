/* The gradients of Conv's weight and, where wanted, of its bias: from the input and the output's gradient. The
 * attribute kernel_shape gives the weight's spatial size. */
#include "kernels/conv/conv_weight_gradient.h"

#include <string.h>

#include "kernels/convolution/convolution.h"

ons_status *ons_conv_weight_gradient_resolve(const ons_operands *o, ons_convolution *c) {
    *c = (ons_convolution){.kind = ONS_CONVOLUTION_WEIGHT_GRADIENT, .bias = ons_has_output(o, 1)};
    const ons_shape *x = &o->inputs[0].shape, *dy = &o->inputs[1].shape;
    const ons_attribute *kernel = &o->attributes[ONS_WINDOW_KERNEL_SHAPE];
    int64_t groups = ons_attribute_int(o, ONS_CONVOLUTION_GROUP);
    if (x->rank < 3 || dy->rank != x->rank || kernel->count != x->rank - 2 || groups < 1 || x->dims[1] % groups != 0)
        return ons_node_error(o, "input, gradient, kernel_shape and group do not fit each other");
    ons_type w =
        ons_type_make(o->inputs[0].dtype, (ons_shape){.rank = x->rank, .dims = {dy->dims[1], x->dims[1] / groups}});
    memcpy(w.shape.dims + 2, kernel->ints, kernel->count * sizeof(int64_t));
    ONS_TRY(ons_convolution_resolve(o, &o->inputs[0], &w, c));
    if (!ons_shape_equal(&c->y.shape, dy))
        return ons_node_error(o, "the gradient does not have the shape of the convolution's output");
    c->y.layout = o->inputs[1].layout;
    return NULL;
}

static ons_status *conv_weight_gradient_infer(ons_operands *o) {
    ons_convolution c;
    ONS_TRY(ons_conv_weight_gradient_resolve(o, &c));
    ONS_TRY_AT(ons_shape_check(&c.w.shape), "node '%s'", o->name);
    o->outputs[0] = c.w;
    if (o->output_count > 1)
        o->outputs[1] = ons_type_make(c.w.dtype, (ons_shape){.rank = 1, .dims = {c.w.shape.dims[0]}});
    return NULL;
}

static ons_cost conv_weight_gradient_cost(const ons_operands *o) {
    ons_convolution c;
    ons_resolved(ons_conv_weight_gradient_resolve(o, &c));
    double bias = c.bias ? (double)ons_elements(&c.y) : 0;
    return (ons_cost){ons_convolution_flops(&c) + bias, ons_operand_bytes(o)};
}

static ons_status *conv_weight_gradient_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    ons_convolution c;
    ons_resolved(ons_conv_weight_gradient_resolve(o, &c));
    ONS_TRY(ons_convolution_choose(o, &c));
    inputs[0] = c.x.layout;
    inputs[1] = c.y.layout;
    outputs[0] = c.w.layout;
    return NULL;
}

static void conv_weight_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                           void *const *outputs) {
    ons_convolution c;
    ons_resolved(ons_conv_weight_gradient_resolve(o, &c));
    memset(outputs[0], 0, (size_t)ons_elements(&c.w) * sizeof(double));
    ons_convolution_reference(&c, inputs[0], NULL, inputs[1], outputs[0]);
    const double *dy = inputs[1];
    double *bias = outputs[1];
    int64_t channels = c.y.shape.dims[1], positions = ons_window_outputs(&c.window);
    if (!ons_has_output(o, 1) || bias == NULL || channels == 0) return;
    memset(bias, 0, (size_t)channels * sizeof(double));
    if (positions == 0) return;
    for (int64_t i = 0, count = ons_elements(&c.y); i < count; ++i) bias[i / positions % channels] += dy[i];
}

ONS_DEFINE_OPERATOR(conv_weight_gradient, "ConvWeightGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 2),
                    ONS_ATTRIBUTES(ONS_WINDOW_ATTRIBUTES, ONS_INT_ATTRIBUTE("group", 1)),
                    ONS_INFER(conv_weight_gradient_infer), ONS_COST(conv_weight_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("second derivatives are not supported"), ONS_SAVES_NOTHING,
                    ONS_DENSE_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(conv_weight_gradient_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(conv_weight_gradient_reference));
