/* The gradients of Conv's weight and, where wanted, of its bias: from the input and the output's gradient. The
 * attribute kernel_shape gives the weight's spatial size. */
#include <string.h>

#include "kernels/common/convolution.h"
#include "kernels/common/cuda_convolution.h"

static ons_status *resolve(const ons_operands *o, ons_convolution *c) {
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
    ONS_TRY(resolve(o, &c));
    ONS_TRY_AT(ons_shape_check(&c.w.shape), "node '%s'", o->name);
    o->outputs[0] = c.w;
    if (o->output_count > 1)
        o->outputs[1] = ons_type_make(c.w.dtype, (ons_shape){.rank = 1, .dims = {c.w.shape.dims[0]}});
    return NULL;
}

static ons_cost conv_weight_gradient_cost(const ons_operands *o) {
    ons_convolution c;
    ons_status_free(resolve(o, &c));
    double bias = c.bias ? (double)ons_elements(&c.y) : 0;
    return (ons_cost){ons_convolution_flops(&c) + bias, ons_operand_bytes(o)};
}

static ons_status *conv_weight_gradient_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    ons_convolution c;
    ONS_TRY(resolve(o, &c));
    ONS_TRY(ons_convolution_choose(o, &c));
    inputs[0] = c.x.layout;
    inputs[1] = c.y.layout;
    outputs[0] = c.w.layout;
    return NULL;
}

static void conv_weight_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                           void *const *outputs) {
    (void)step;
    ons_convolution c;
    ons_status_free(resolve(o, &c));
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

typedef struct state {
    ons_dnnl primitive; /* first: it is what destroy gets */
    size_t bytes, bias_bytes;
} state;

static ons_status *conv_weight_gradient_prepare(ons_prepare *p) {
    ons_convolution c;
    ONS_TRY(resolve(p->operands, &c));
    c.w.layout = p->operands->outputs[0].layout;
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(state), &memory));
    state *s = memory;
    s->bytes = (size_t)ons_layout_bytes(&c.w);
    s->bias_bytes = (size_t)c.w.shape.dims[0] * sizeof(float);
    return ons_convolution_prepare(p, &c, &s->primitive);
}

static void conv_weight_gradient_run(const ons_launch *launch) {
    const state *s = launch->state;
    void *bias = launch->outputs[1];
    if (s->primitive.primitive != NULL) {
        ons_dnnl_run(&s->primitive,
                     (const void *const[]){launch->inputs[0], launch->inputs[1], launch->outputs[0], bias},
                     launch->scratch, launch->fault);
        return;
    }
    memset(launch->outputs[0], 0, s->bytes);
    if (bias != NULL) memset(bias, 0, s->bias_bytes);
}

static ons_status *conv_weight_gradient_prepare_cuda(ons_prepare *p) {
    ons_convolution c;
    ONS_TRY(resolve(p->operands, &c));
    c.w.layout = p->operands->outputs[0].layout;
    return ons_cuda_convolution_prepare(p, &c);
}

static const ons_case conv_weight_gradient_cases[] = {
    {.name = "bias",
     .inputs = {ONS_F32(2, 3, 7, 6), ONS_F32(2, 5, 7, 6)},
     .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1), ONS_SET_INTS("kernel_shape", 3, 3)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 18660,
     .no_gradient = true},
    {.name = "strides",
     .inputs = {ONS_F32(1, 4, 9, 11), ONS_F32(1, 6, 4, 3)},
     .settings = {ONS_SET_INTS("strides", 2, 3), ONS_SET_INTS("kernel_shape", 3, 3)},
     .tolerance = 1e-5,
     .flops = 5184,
     .no_gradient = true},
    {.name = "asymmetric",
     .inputs = {ONS_F32(1, 2, 5, 5), ONS_F32(1, 3, 3, 4)},
     .settings = {ONS_SET_INTS("pads", 0, 1, 2, 0), ONS_SET_INTS("strides", 2, 1), ONS_SET_INTS("kernel_shape", 3, 3)},
     .tolerance = 1e-5,
     .flops = 924,
     .no_gradient = true},
    {.name = "depthwise",
     .inputs = {ONS_F32(2, 12, 6, 6), ONS_F32(2, 12, 6, 6)},
     .settings = {ONS_SET_INT("group", 12), ONS_SET_INTS("pads", 1, 1, 1, 1), ONS_SET_INTS("kernel_shape", 3, 3)},
     .tolerance = 1e-5,
     .flops = 12288,
     .no_gradient = true},
    {.name = "one_dim",
     .inputs = {ONS_F32(2, 3, 11), ONS_F32(2, 4, 5)},
     .settings = {ONS_SET_INTS("strides", 2), ONS_SET_INTS("pads", 1, 0), ONS_SET_INTS("kernel_shape", 3)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 712,
     .no_gradient = true},
    {.name = "resnet",
     .inputs = {ONS_F32(16, 64, 56, 56), ONS_F32(16, 64, 56, 56)},
     .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1), ONS_SET_INTS("kernel_shape", 3, 3)},
     .tolerance = 3e-5,
     .flops = 3611820032,
     .no_gradient = true,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(conv_weight_gradient, "ConvWeightGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 2),
                    ONS_ATTRIBUTES(ONS_WINDOW_ATTRIBUTES, ONS_INT_ATTRIBUTE("group", 1)),
                    ONS_INFER(conv_weight_gradient_infer), ONS_COST(conv_weight_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("second derivatives are not supported"), ONS_SAVES_NOTHING,
                    ONS_DENSE_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(conv_weight_gradient_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(conv_weight_gradient_reference),
                    ONS_CPU_KERNEL(conv_weight_gradient_prepare, conv_weight_gradient_run),
                    ONS_CUDA_KERNEL(conv_weight_gradient_prepare_cuda, ons_cuda_conv_weight_gradient),
                    conv_weight_gradient_cases);
