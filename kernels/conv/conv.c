/* Conv: convolution over 1 to 3 spatial dims, with groups, strides, dilations and padding. */
#include "kernels/common/convolution.h"
#include "kernels/common/cuda_convolution.h"

static ons_status *resolve(const ons_operands *o, ons_convolution *c) {
    *c = (ons_convolution){.kind = ONS_CONVOLUTION_FORWARD, .bias = ons_has_input(o, 2)};
    return ons_convolution_resolve(o, &o->inputs[0], &o->inputs[1], c);
}

static ons_status *conv_infer(ons_operands *o) {
    ons_convolution c;
    ONS_TRY(resolve(o, &c));
    if (c.bias && (o->inputs[2].shape.rank != 1 || o->inputs[2].shape.dims[0] != c.y.shape.dims[1]))
        return ons_node_error(o, "the bias must be a vector of %lld", (long long)c.y.shape.dims[1]);
    ONS_TRY_AT(ons_shape_check(&c.y.shape), "node '%s'", o->name);
    o->outputs[0] = c.y;
    o->outputs[0].layout = ONS_LAYOUT_ONNX;
    return NULL;
}

static ons_cost conv_cost(const ons_operands *o) {
    ons_convolution c;
    ons_status_free(resolve(o, &c));
    double bias = c.bias ? (double)ons_elements(&o->outputs[0]) : 0;
    return (ons_cost){ons_convolution_flops(&c) + bias, ons_operand_bytes(o)};
}

static ons_status *conv_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    ons_convolution c;
    ONS_TRY(resolve(o, &c));
    ONS_TRY(ons_convolution_choose(o, &c));
    inputs[0] = c.x.layout;
    inputs[1] = c.w.layout;
    outputs[0] = c.y.layout;
    return NULL;
}

static void conv_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                           void *const *outputs) {
    (void)step;
    ons_convolution c;
    ons_status_free(resolve(o, &c));
    const double *bias = c.bias ? inputs[2] : NULL;
    double *y = outputs[0];
    int64_t positions = ons_window_outputs(&c.window), channels = c.y.shape.dims[1];
    for (int64_t i = 0, count = ons_elements(&c.y); i < count; ++i)
        y[i] = bias != NULL ? bias[i / positions % channels] : 0;
    ons_convolution_reference(&c, inputs[0], inputs[1], NULL, y);
}

/* With no channels going in there is nothing for oneDNN to do, and the result is the bias. */
typedef struct conv_state {
    ons_dnnl primitive; /* first: it is what destroy gets */
    int64_t elements, positions, channels;
} conv_state;

static ons_status *conv_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_convolution c;
    ONS_TRY(resolve(o, &c));
    c.y.layout = o->outputs[0].layout;
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(conv_state), &memory));
    conv_state *state = memory;
    state->elements = ons_elements(&c.y);
    state->positions = ons_window_outputs(&c.window);
    state->channels = c.y.shape.dims[1];
    return ons_convolution_prepare(p, &c, &state->primitive);
}

static void conv_run(const ons_launch *launch) {
    const conv_state *state = launch->state;
    const float *bias = launch->inputs[2];
    float *y = launch->outputs[0];
    if (state->primitive.primitive != NULL)
        ons_dnnl_run(&state->primitive, (const void *const[]){launch->inputs[0], launch->inputs[1], y, bias},
                     launch->scratch, launch->fault);
    else
        for (int64_t i = 0; i < state->elements; ++i)
            y[i] = bias != NULL ? bias[i / state->positions % state->channels] : 0;
}

static ons_status *conv_gradient(ons_gradient *g) {
    ons_convolution c;
    ons_window_settings s;
    ONS_TRY(resolve(g->operands, &c));
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

static ons_status *conv_prepare_cuda(ons_prepare *p) {
    ons_convolution c;
    ONS_TRY(resolve(p->operands, &c));
    c.y.layout = p->operands->outputs[0].layout;
    return ons_cuda_convolution_prepare(p, &c);
}

static const ons_case conv_cases[] = {
    {.name = "plain", .inputs = {ONS_F32(2, 3, 7, 6), ONS_F32(5, 3, 3, 2)}, .tolerance = 1e-5, .flops = 9000},
    {.name = "bias",
     .inputs = {ONS_F32(2, 3, 7, 6), ONS_F32(5, 3, 3, 3), ONS_F32(5)},
     .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1), ONS_SET_INTS("kernel_shape", 3, 3)},
     .tolerance = 1e-5,
     .flops = 18660},
    {.name = "one_channel",
     .inputs = {ONS_F32(3, 1, 9, 9), ONS_F32(6, 1, 5, 5), ONS_F32(6)},
     .settings = {ONS_SET_INTS("pads", 2, 2, 2, 2)},
     .tolerance = 1e-5,
     .flops = 56214},
    {.name = "strides",
     .inputs = {ONS_F32(1, 4, 9, 11), ONS_F32(6, 4, 3, 3)},
     .settings = {ONS_SET_INTS("strides", 2, 3)},
     .tolerance = 1e-5,
     .flops = 5184},
    {.name = "dilations",
     .inputs = {ONS_F32(1, 4, 9, 11), ONS_F32(6, 4, 3, 3)},
     .settings = {ONS_SET_INTS("dilations", 2, 3)},
     .tolerance = 1e-5,
     .flops = 10800},
    {.name = "asymmetric_pads",
     .inputs = {ONS_F32(1, 2, 5, 5), ONS_F32(3, 2, 3, 3), ONS_F32(3)},
     .settings = {ONS_SET_INTS("pads", 0, 1, 2, 0), ONS_SET_INTS("strides", 2, 1)},
     .tolerance = 1e-5,
     .flops = 960},
    {.name = "same_upper",
     .inputs = {ONS_F32(1, 2, 6, 5), ONS_F32(3, 2, 3, 2)},
     .settings = {ONS_SET_STRING("auto_pad", "SAME_UPPER"), ONS_SET_INTS("strides", 2, 2)},
     .tolerance = 1e-5,
     .flops = 480},
    {.name = "same_lower",
     .inputs = {ONS_F32(1, 2, 6, 5), ONS_F32(3, 2, 3, 2)},
     .settings = {ONS_SET_STRING("auto_pad", "SAME_LOWER"), ONS_SET_INTS("strides", 2, 2)},
     .tolerance = 1e-5,
     .flops = 480},
    {.name = "valid",
     .inputs = {ONS_F32(1, 2, 6, 5), ONS_F32(3, 2, 3, 2)},
     .settings = {ONS_SET_STRING("auto_pad", "VALID")},
     .tolerance = 1e-5,
     .flops = 1152},
    {.name = "groups",
     .inputs = {ONS_F32(2, 6, 5, 5), ONS_F32(4, 3, 3, 3), ONS_F32(4)},
     .settings = {ONS_SET_INT("group", 2)},
     .tolerance = 1e-5,
     .flops = 3960},
    {.name = "depthwise",
     .inputs = {ONS_F32(2, 12, 6, 6), ONS_F32(12, 1, 3, 3)},
     .settings = {ONS_SET_INT("group", 12), ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .tolerance = 1e-5,
     .flops = 12288},
    {.name = "depthwise_multiplied",
     .inputs = {ONS_F32(1, 3, 6, 6), ONS_F32(6, 1, 3, 3)},
     .settings = {ONS_SET_INT("group", 3)},
     .tolerance = 1e-5,
     .flops = 1728},
    {.name = "pointwise", .inputs = {ONS_F32(2, 20, 5, 4), ONS_F32(17, 20, 1, 1)}, .tolerance = 1e-5, .flops = 27200},
    {.name = "wide",
     .inputs = {ONS_F32(2, 48, 6, 6), ONS_F32(80, 48, 3, 3)},
     .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .tolerance = 1e-5,
     .flops = 3932160,
     .no_gradient = true},
    {.name = "one_dim",
     .inputs = {ONS_F32(2, 3, 11), ONS_F32(4, 3, 3), ONS_F32(4)},
     .settings = {ONS_SET_INTS("strides", 2), ONS_SET_INTS("pads", 1, 0)},
     .tolerance = 1e-5,
     .flops = 712},
    {.name = "three_dims",
     .inputs = {ONS_F32(1, 2, 4, 5, 6), ONS_F32(3, 2, 2, 3, 2), ONS_F32(3)},
     .settings = {ONS_SET_INTS("pads", 0, 1, 0, 1, 1, 0)},
     .tolerance = 1e-5,
     .flops = 11220},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 7, 6), ONS_F32(5, 3, 3, 2)}, .flops = 0},
    {.name = "resnet",
     .inputs = {ONS_F32(16, 64, 56, 56), ONS_F32(64, 64, 3, 3)},
     .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .tolerance = 1e-5,
     .flops = 3611820032,
     .benchmark = true},
    {.name = "lenet",
     .inputs = {ONS_F32(64, 1, 28, 28), ONS_F32(6, 1, 5, 5), ONS_F32(6)},
     .settings = {ONS_SET_INTS("pads", 2, 2, 2, 2)},
     .tolerance = 1e-5,
     .flops = 14091264,
     .benchmark = true},
    {.name = "groups_differ",
     .inputs = {ONS_F32(2, 6, 5, 5), ONS_F32(4, 3, 3, 3)},
     .settings = {ONS_SET_INT("group", 3)},
     .error = "groups"},
    {.name = "no_groups",
     .inputs = {ONS_F32(2, 6, 5, 5), ONS_F32(4, 3, 3, 3)},
     .settings = {ONS_SET_INT("group", 0)},
     .error = "group"},
    {.name = "window_too_large", .inputs = {ONS_F32(2, 3, 5, 5), ONS_F32(4, 3, 6, 3)}, .error = "padded input"},
    {.name = "stride_of_zero",
     .inputs = {ONS_F32(2, 3, 5, 5), ONS_F32(4, 3, 3, 3)},
     .settings = {ONS_SET_INTS("strides", 0, 1)},
     .error = "strides"},
    {.name = "pads_too_few",
     .inputs = {ONS_F32(2, 3, 5, 5), ONS_F32(4, 3, 3, 3)},
     .settings = {ONS_SET_INTS("pads", 1, 1)},
     .error = "pads"},
    {.name = "unknown_padding",
     .inputs = {ONS_F32(2, 3, 5, 5), ONS_F32(4, 3, 3, 3)},
     .settings = {ONS_SET_STRING("auto_pad", "SOME")},
     .error = "auto_pad"},
    {.name = "bias_differs", .inputs = {ONS_F32(2, 3, 5, 5), ONS_F32(4, 3, 3, 3), ONS_F32(3)}, .error = "bias"},
    {.name = "four_dims", .inputs = {ONS_F32(1, 1, 2, 2, 2, 2), ONS_F32(1, 1, 1, 1, 1, 1)}, .error = "spatial"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(conv, "Conv", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_WINDOW_ATTRIBUTES, ONS_INT_ATTRIBUTE("group", 1)), ONS_INFER(conv_infer),
                    ONS_COST(conv_cost), ONS_GRADIENT_RULE(conv_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_DENSE_OPERATOR, ONS_NO_ALIASES,
                    ONS_CHOOSES_LAYOUT(conv_choose), ONS_ONE_FORM, ONS_REFERENCE(conv_reference),
                    ONS_CPU_KERNEL(conv_prepare, conv_run), ONS_CUDA_KERNEL(conv_prepare_cuda, ons_cuda_conv),
                    conv_cases);
