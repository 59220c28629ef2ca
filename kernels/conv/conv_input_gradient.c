/* The gradient of Conv's input: from the output's gradient and the weight. `input_shape` is that of the result. */
#include "kernels/conv/conv_input_gradient.h"

#include <string.h>

#include "kernels/convolution/convolution.h"

static ons_status *conv_input_gradient_infer(ons_operands *o) {
    ons_convolution c;
    ONS_TRY(resolve_conv(o, &c));
    o->outputs[0] = c.x;
    return NULL;
}

static ons_cost conv_input_gradient_cost(const ons_operands *o) {
    ons_convolution c;
    ons_resolved(resolve_conv(o, &c));
    return (ons_cost){ons_convolution_flops(&c), ons_operand_bytes(o)};
}

static ons_status *conv_input_gradient_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    ons_convolution c;
    ons_resolved(resolve_conv(o, &c));
    ONS_TRY(ons_convolution_choose(o, &c));
    inputs[0] = c.y.layout;
    inputs[1] = c.w.layout;
    outputs[0] = c.x.layout;
    return NULL;
}

static void conv_input_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                          void *const *outputs) {
    ons_convolution c;
    ons_resolved(resolve_conv(o, &c));
    memset(outputs[0], 0, (size_t)ons_elements(&c.x) * sizeof(double));
    ons_convolution_reference(&c, NULL, inputs[1], inputs[0], outputs[0]);
}

ONS_DEFINE_OPERATOR(conv_input_gradient, "ConvInputGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_WINDOW_ATTRIBUTES, ONS_INT_ATTRIBUTE("group", 1),
                                   ONS_REQUIRED_ATTRIBUTE("input_shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(conv_input_gradient_infer), ONS_COST(conv_input_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("second derivatives are not supported"), ONS_SAVES_NOTHING,
                    ONS_DENSE_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(conv_input_gradient_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(conv_input_gradient_reference));
