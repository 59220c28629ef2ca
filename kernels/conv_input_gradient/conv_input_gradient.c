/* The gradient of Conv's input: from the output's gradient and the weight. `input_shape` is that of the result. */
#include <string.h>

#include "kernels/common/convolution.h"
#include "kernels/common/cuda_convolution.h"

enum { INPUT_SHAPE = ONS_CONVOLUTION_GROUP + 1 };

static ons_status *resolve(const ons_operands *o, ons_convolution *c) {
    *c = (ons_convolution){.kind = ONS_CONVOLUTION_INPUT_GRADIENT};
    ons_type x = ons_type_make(o->inputs[0].dtype, (ons_shape){0});
    ONS_TRY(ons_window_shape_attribute(o, INPUT_SHAPE, &x.shape));
    ONS_TRY(ons_convolution_resolve(o, &x, &o->inputs[1], c));
    if (!ons_shape_equal(&c->y.shape, &o->inputs[0].shape))
        return ons_node_error(o, "the gradient does not have the shape of the convolution's output");
    c->y.layout = o->inputs[0].layout;
    return NULL;
}

static ons_status *conv_input_gradient_infer(ons_operands *o) {
    ons_convolution c;
    ONS_TRY(resolve(o, &c));
    o->outputs[0] = c.x;
    return NULL;
}

static ons_cost conv_input_gradient_cost(const ons_operands *o) {
    ons_convolution c;
    ons_status_free(resolve(o, &c));
    return (ons_cost){ons_convolution_flops(&c), ons_operand_bytes(o)};
}

static ons_status *conv_input_gradient_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    ons_convolution c;
    ONS_TRY(resolve(o, &c));
    ONS_TRY(ons_convolution_choose(o, &c));
    inputs[0] = c.y.layout;
    inputs[1] = c.w.layout;
    outputs[0] = c.x.layout;
    return NULL;
}

static void conv_input_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                          void *const *outputs) {
    (void)step;
    ons_convolution c;
    ons_status_free(resolve(o, &c));
    memset(outputs[0], 0, (size_t)ons_elements(&c.x) * sizeof(double));
    ons_convolution_reference(&c, NULL, inputs[1], inputs[0], outputs[0]);
}

typedef struct state {
    ons_dnnl primitive; /* first: it is what destroy gets */
    size_t bytes;       /* of the result */
} state;

static ons_status *conv_input_gradient_prepare(ons_prepare *p) {
    ons_convolution c;
    ONS_TRY(resolve(p->operands, &c));
    c.x.layout = p->operands->outputs[0].layout;
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(state), &memory));
    state *s = memory;
    s->bytes = (size_t)ons_layout_bytes(&c.x);
    return ons_convolution_prepare(p, &c, &s->primitive);
}

static void conv_input_gradient_run(const ons_launch *launch) {
    const state *s = launch->state;
    if (s->primitive.primitive != NULL)
        ons_dnnl_run(&s->primitive, (const void *const[]){launch->inputs[0], launch->inputs[1], launch->outputs[0]},
                     launch->scratch, launch->fault);
    else
        memset(launch->outputs[0], 0, s->bytes);
}

static ons_status *conv_input_gradient_prepare_cuda(ons_prepare *p) {
    ons_convolution c;
    ONS_TRY(resolve(p->operands, &c));
    c.x.layout = p->operands->outputs[0].layout;
    return ons_cuda_convolution_prepare(p, &c);
}

static const ons_case conv_input_gradient_cases[] = {
    {.name = "bias",
     .inputs = {ONS_F32(2, 5, 7, 6), ONS_F32(5, 3, 3, 3)},
     .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1), ONS_SET_INTS("input_shape", 2, 3, 7, 6)},
     .tolerance = 1e-5,
     .flops = 18240,
     .no_gradient = true},
    {.name = "strides",
     .inputs = {ONS_F32(1, 6, 4, 3), ONS_F32(6, 4, 3, 3)},
     .settings = {ONS_SET_INTS("strides", 2, 3), ONS_SET_INTS("input_shape", 1, 4, 9, 11)},
     .tolerance = 1e-5,
     .flops = 5184,
     .no_gradient = true},
    {.name = "asymmetric",
     .inputs = {ONS_F32(1, 3, 3, 4), ONS_F32(3, 2, 3, 3)},
     .settings = {ONS_SET_INTS("pads", 0, 1, 2, 0), ONS_SET_INTS("strides", 2, 1),
                  ONS_SET_INTS("input_shape", 1, 2, 5, 5)},
     .tolerance = 1e-5,
     .flops = 924,
     .no_gradient = true},
    {.name = "depthwise",
     .inputs = {ONS_F32(2, 12, 6, 6), ONS_F32(12, 1, 3, 3)},
     .settings = {ONS_SET_INT("group", 12), ONS_SET_INTS("pads", 1, 1, 1, 1), ONS_SET_INTS("input_shape", 2, 12, 6, 6)},
     .tolerance = 1e-5,
     .flops = 12288,
     .no_gradient = true},
    {.name = "one_dim",
     .inputs = {ONS_F32(2, 4, 5), ONS_F32(4, 3, 3)},
     .settings = {ONS_SET_INTS("strides", 2), ONS_SET_INTS("pads", 1, 0), ONS_SET_INTS("input_shape", 2, 3, 11)},
     .tolerance = 1e-5,
     .flops = 672,
     .no_gradient = true},
    {.name = "resnet",
     .inputs = {ONS_F32(16, 64, 56, 56), ONS_F32(64, 64, 3, 3)},
     .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1), ONS_SET_INTS("input_shape", 16, 64, 56, 56)},
     .tolerance = 1e-5,
     .flops = 3611820032,
     .no_gradient = true,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(conv_input_gradient, "ConvInputGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_WINDOW_ATTRIBUTES, ONS_INT_ATTRIBUTE("group", 1),
                                   ONS_REQUIRED_ATTRIBUTE("input_shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(conv_input_gradient_infer), ONS_COST(conv_input_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("second derivatives are not supported"), ONS_SAVES_NOTHING,
                    ONS_DENSE_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(conv_input_gradient_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(conv_input_gradient_reference),
                    ONS_CPU_KERNEL(conv_input_gradient_prepare, conv_input_gradient_run),
                    ONS_CUDA_KERNEL(conv_input_gradient_prepare_cuda, ons_cuda_conv_input_gradient),
                    conv_input_gradient_cases);
