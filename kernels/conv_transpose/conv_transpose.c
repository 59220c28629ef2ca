/* ConvTranspose: what a convolution does to gradients on their way back to its input. Its weight (input channels,
 * output channels ÷ groups, kernel) is that convolution's weight as it stands, so kernels and gradients are those of
 * Conv: of the convolution that leads from this operator's output (its x) to this operator's input (its y). */
#include <string.h>

#include "kernels/common/convolution.h"
#include "kernels/common/cuda_convolution.h"
#include "kernels/common/rules.h"

enum { OUTPUT_PADDING = ONS_CONVOLUTION_GROUP + 1, OUTPUT_SHAPE };

static ons_status *resolve(const ons_operands *o, ons_convolution *c) {
    const ons_type *x = &o->inputs[0], *w = &o->inputs[1];
    int64_t groups = ons_attribute_int(o, ONS_CONVOLUTION_GROUP);
    if (!ons_dtype_is_float(x->dtype) || w->dtype != x->dtype)
        return ons_node_error(o, "input and weight must be floats of one type, not %s and %s", ons_dtype_name(x->dtype),
                              ons_dtype_name(w->dtype));
    if (w->shape.rank != x->shape.rank || x->shape.rank < 3)
        return ons_node_error(o,
                              "the input has rank %u, the weight %u; both need two dimensions and 1 to 3 spatial ones",
                              x->shape.rank, w->shape.rank);
    int64_t channels = x->shape.dims[1];
    if (groups < 1 || groups > ONS_LAYOUT_GROUPS_MAX) return ons_node_error(o, "group is %lld", (long long)groups);
    if (channels != w->shape.dims[0] || channels % groups != 0)
        return ons_node_error(o, "%lld channels in %lld groups do not fit a weight of %lld channels",
                              (long long)channels, (long long)groups, (long long)w->shape.dims[0]);
    if (w->shape.dims[1] > INT64_MAX / groups) return ons_node_error(o, "group is %lld", (long long)groups);
    *c = (ons_convolution){
        .kind = ONS_CONVOLUTION_INPUT_GRADIENT, .groups = groups, .y = *x, .w = *w, .bias = ons_has_input(o, 2)};
    ONS_TRY(ons_window_resolve_transposed(o, &x->shape, w->shape.dims + 2, OUTPUT_PADDING, OUTPUT_SHAPE, &c->window));
    ons_shape shape = {.rank = x->shape.rank, .dims = {x->shape.dims[0], w->shape.dims[1] * groups}};
    memcpy(shape.dims + 2, c->window.input + ONS_WINDOW_DIMS - c->window.spatial, c->window.spatial * sizeof(int64_t));
    ONS_TRY_AT(ons_shape_check(&shape), "node '%s'", o->name);
    c->x = ons_type_make(x->dtype, shape);
    return NULL;
}

static ons_status *conv_transpose_infer(ons_operands *o) {
    ons_convolution c;
    ONS_TRY(resolve(o, &c));
    if (c.bias && (o->inputs[2].shape.rank != 1 || o->inputs[2].shape.dims[0] != c.x.shape.dims[1] ||
                   o->inputs[2].dtype != c.x.dtype))
        return ons_node_error(o, "the bias must be a vector of %lld", (long long)c.x.shape.dims[1]);
    o->outputs[0] = c.x;
    return NULL;
}

static ons_cost conv_transpose_cost(const ons_operands *o) {
    ons_convolution c;
    ons_status_free(resolve(o, &c));
    double bias = c.bias ? (double)ons_elements(&c.x) : 0;
    return (ons_cost){ons_convolution_flops(&c) + bias, ons_operand_bytes(o)};
}

static void conv_transpose_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                     void *const *outputs) {
    (void)step;
    ons_convolution c;
    ons_status_free(resolve(o, &c));
    const double *bias = c.bias ? inputs[2] : NULL;
    double *y = outputs[0];
    int64_t positions = ons_window_inputs(&c.window), channels = c.x.shape.dims[1];
    for (int64_t i = 0, count = ons_elements(&c.x); i < count; ++i)
        y[i] = bias != NULL ? bias[i / positions % channels] : 0;
    ons_convolution_reference(&c, NULL, inputs[1], inputs[0], y);
}

/* The bias is added where the primitive has left its result: oneDNN's backward convolutions have none. Nor do they take
 * results that end far behind their last window: these are made without that end, in scratch. */
typedef struct conv_transpose_state {
    ons_dnnl primitive; /* first: it is what destroy gets; none where there is nothing to multiply */
    int64_t batch, channels, positions;
    bool last, bias, crops;
    int64_t scratch;                                       /* bytes of the primitive's own; the result lies behind it */
    int64_t made[ONS_WINDOW_DIMS], whole[ONS_WINDOW_DIMS]; /* spatial sizes without and with the end */
} conv_transpose_state;

/* Takes away the end, as far as a convolution's padding cannot say it; whether there is any. */
static bool crop(ons_convolution *c) {
    ons_window *w = &c->window;
    bool crops = false;
    for (uint32_t i = 0; i < ONS_WINDOW_DIMS; ++i) {
        int64_t end = -w->last[i] - (w->stride[i] - 1);
        if (end <= 0) continue;
        crops = true;
        w->input[i] -= end;
        w->last[i] += end;
    }
    memcpy(c->x.shape.dims + 2, w->input + ONS_WINDOW_DIMS - w->spatial, w->spatial * sizeof(int64_t));
    return crops;
}

static ons_status *conv_transpose_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    ons_convolution c;
    ONS_TRY(resolve(o, &c));
    crop(&c);
    ONS_TRY(ons_convolution_choose(o, &c));
    inputs[0] = c.y.layout;
    inputs[1] = c.w.layout;
    outputs[0] = c.x.layout;
    return NULL;
}

static ons_status *conv_transpose_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_convolution c;
    ONS_TRY(resolve(o, &c));
    c.x.layout = o->outputs[0].layout;
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(conv_transpose_state), &memory));
    conv_transpose_state *s = memory;
    s->batch = c.x.shape.dims[0];
    s->channels = c.x.shape.dims[1];
    s->positions = ons_window_inputs(&c.window);
    s->last = c.x.layout == ONS_LAYOUT_CHANNELS_LAST;
    s->bias = c.bias;
    memcpy(s->whole, c.window.input, sizeof s->whole);
    s->crops = crop(&c);
    memcpy(s->made, c.window.input, sizeof s->made);
    ONS_TRY(ons_convolution_prepare(p, &c, &s->primitive));
    s->scratch = p->scratch_bytes;
    if (s->crops) p->scratch_bytes += (ons_type_dense_bytes(&c.x) + 63) / 64 * 64;
    return NULL;
}

/* Into the beginning of every row of y; zeros behind. */
static void copy_cropped(const conv_transpose_state *s, const float *from, float *y) {
    int64_t width = s->last ? s->channels : 1, planes = s->last ? s->batch : s->batch * s->channels;
    int64_t rows = s->whole[0] * s->whole[1], length = s->made[2] * width;
#pragma omp parallel for schedule(static) if (planes * rows * length > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < planes * rows; ++i) {
        int64_t plane = i / rows, z = i % rows / s->whole[1], row = i % rows % s->whole[1];
        bool made = z < s->made[0] && row < s->made[1];
        float *to = y + i * s->whole[2] * width;
        int64_t copied = made ? length : 0;
        if (made)
            memcpy(to, from + ((plane * s->made[0] + z) * s->made[1] + row) * length, (size_t)length * sizeof *to);
        memset(to + copied, 0, (size_t)(s->whole[2] * width - copied) * sizeof *to);
    }
}

static void add_bias(const conv_transpose_state *s, const float *restrict bias, float *restrict y) {
    int64_t rows = s->last ? s->batch * s->positions : s->batch * s->channels;
    int64_t length = s->last ? s->channels : s->positions;
#pragma omp parallel for schedule(static) if (rows * length > ONS_PARALLEL_GRAIN)
    for (int64_t row = 0; row < rows; ++row) {
        float *to = y + row * length, one = bias[s->last ? 0 : row % s->channels];
        if (s->last)
            for (int64_t i = 0; i < length; ++i) to[i] += bias[i];
        else
            for (int64_t i = 0; i < length; ++i) to[i] += one;
    }
}

static void conv_transpose_run(const ons_launch *launch) {
    const conv_transpose_state *s = launch->state;
    float *y = launch->outputs[0], *made = s->crops ? (float *)(void *)((char *)launch->scratch + s->scratch) : y;
    if (s->primitive.primitive != NULL) {
        ons_dnnl_run(&s->primitive, (const void *const[]){launch->inputs[0], launch->inputs[1], made}, launch->scratch,
                     launch->fault);
        if (s->crops) copy_cropped(s, made, y);
    } else {
        memset(y, 0, (size_t)(s->batch * s->channels * s->positions) * sizeof *y);
    }
    if (s->bias && s->channels > 0) add_bias(s, launch->inputs[2], y);
}

/* Takes from `cotangent` what lies behind all windows, and from the padding behind what makes room for one more: then
 * the convolution of the settings has exactly as many outputs as this operator has inputs. */
static ons_value_id fit_cotangent(ons_gradient *g, ons_window *w, ons_value_id cotangent) {
    int64_t starts[ONS_WINDOW_DIMS] = {0}, ends[ONS_WINDOW_DIMS], axes[ONS_WINDOW_DIMS];
    bool crops = false;
    uint32_t first = ONS_WINDOW_DIMS - w->spatial;
    for (uint32_t i = first; i < ONS_WINDOW_DIMS; ++i) {
        int64_t excess = w->end[i] - w->last[i] - (w->stride[i] - 1);
        int64_t less_padding = excess <= 0 ? 0 : excess < w->end[i] ? excess : w->end[i];
        int64_t crop = excess > w->end[i] ? excess - w->end[i] : 0;
        w->end[i] -= less_padding;
        w->input[i] -= crop;
        crops |= crop > 0;
        ends[i - first] = w->input[i];
        axes[i - first] = 2 + i - first;
    }
    if (!crops) return cotangent;
    ons_builder *b = g->builder;
    return ons_build(b, &ons_op_slice,
                     ONS_IN(cotangent, ons_build_integers(b, starts, w->spatial),
                            ons_build_integers(b, ends, w->spatial), ons_build_integers(b, axes, w->spatial)),
                     ONS_DEFAULTS);
}

static ons_status *conv_transpose_gradient(ons_gradient *g) {
    ons_convolution c;
    ONS_TRY(resolve(g->operands, &c));
    if (c.bias && g->wanted[2]) g->gradients[2] = ons_make1(g, &ons_op_channel_sum, g->cotangents[0]);
    if (!g->wanted[0] && !g->wanted[1]) return NULL;
    ons_value_id dy = fit_cotangent(g, &c.window, g->cotangents[0]);
    ons_window_settings s;
    ons_window_get_settings(&c.window, &c.x.shape, &s);
    ons_setting group = ONS_AT_INT(ONS_CONVOLUTION_GROUP, c.groups);
    ons_settings settings = ONS_WITH(ONS_WINDOW_WITH(&c.window, &s), group);
    if (g->wanted[0])
        g->gradients[0] = ons_build(g->builder, &ons_op_conv, ONS_IN(dy, ons_gradient_input(g, 1)), settings);
    if (g->wanted[1])
        g->gradients[1] =
            ons_build(g->builder, &ons_op_conv_weight_gradient, ONS_IN(dy, ons_gradient_input(g, 0)), settings);
    return NULL;
}

static ons_status *conv_transpose_prepare_cuda(ons_prepare *p) {
    ons_convolution c;
    ONS_TRY(resolve(p->operands, &c));
    c.x.layout = p->operands->outputs[0].layout;
    return ons_cuda_convolution_prepare(p, &c);
}

static const ons_case conv_transpose_cases[] = {
    {.name = "plain", .inputs = {ONS_F32(2, 3, 4, 5), ONS_F32(3, 4, 3, 2)}, .tolerance = 1e-5, .flops = 5760},
    {.name = "bias",
     .inputs = {ONS_F32(2, 3, 4, 5), ONS_F32(3, 4, 3, 3), ONS_F32(4)},
     .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1), ONS_SET_INTS("kernel_shape", 3, 3)},
     .tolerance = 1e-5,
     .flops = 6400},
    {.name = "doubles",
     .inputs = {ONS_F32(2, 16, 5, 6), ONS_F32(16, 8, 2, 2), ONS_F32(8)},
     .settings = {ONS_SET_INTS("strides", 2, 2)},
     .tolerance = 1e-5,
     .flops = 63360},
    {.name = "output_padding",
     .inputs = {ONS_F32(1, 3, 4, 5), ONS_F32(3, 2, 3, 3), ONS_F32(2)},
     .settings = {ONS_SET_INTS("strides", 2, 3), ONS_SET_INTS("pads", 1, 1, 1, 1),
                  ONS_SET_INTS("output_padding", 1, 2)},
     .tolerance = 1e-5,
     .flops = 2088},
    {.name = "output_padding_above_stride",
     .inputs = {ONS_F32(1, 3, 4, 5), ONS_F32(3, 2, 3, 3), ONS_F32(2)},
     .settings = {ONS_SET_INTS("dilations", 3, 3), ONS_SET_INTS("output_padding", 2, 1)},
     .tolerance = 1e-5,
     .flops = 2448},
    {.name = "output_padding_in_padding",
     .inputs = {ONS_F32(1, 3, 4, 5), ONS_F32(3, 2, 3, 3)},
     .settings = {ONS_SET_INTS("dilations", 3, 3), ONS_SET_INTS("output_padding", 2, 1),
                  ONS_SET_INTS("pads", 1, 1, 1, 2)},
     .tolerance = 1e-5,
     .flops = 1716},
    {.name = "output_shape",
     .inputs = {ONS_F32(1, 1, 3, 3), ONS_F32(1, 2, 3, 3)},
     .settings = {ONS_SET_INTS("strides", 3, 2), ONS_SET_INTS("output_shape", 10, 8)},
     .tolerance = 1e-5,
     .flops = 324},
    {.name = "output_shape_cuts",
     .inputs = {ONS_F32(1, 2, 4, 4), ONS_F32(2, 2, 3, 3)},
     .settings = {ONS_SET_INTS("strides", 2, 2), ONS_SET_INTS("output_shape", 8, 6)},
     .tolerance = 1e-5,
     .flops = 792},
    {.name = "same_upper",
     .inputs = {ONS_F32(1, 2, 3, 4), ONS_F32(2, 3, 3, 4)},
     .settings = {ONS_SET_INTS("strides", 2, 2), ONS_SET_STRING("auto_pad", "SAME_UPPER")},
     .tolerance = 1e-5,
     .flops = 1344},
    {.name = "same_lower",
     .inputs = {ONS_F32(1, 2, 3, 4), ONS_F32(2, 3, 3, 4)},
     .settings = {ONS_SET_INTS("strides", 2, 2), ONS_SET_STRING("auto_pad", "SAME_LOWER")},
     .tolerance = 1e-5,
     .flops = 1344},
    {.name = "asymmetric_pads",
     .inputs = {ONS_F32(1, 2, 5, 5), ONS_F32(2, 3, 3, 3), ONS_F32(3)},
     .settings = {ONS_SET_INTS("pads", 0, 1, 2, 0), ONS_SET_INTS("strides", 2, 1)},
     .tolerance = 1e-5,
     .flops = 2346},
    {.name = "dilations",
     .inputs = {ONS_F32(1, 2, 4, 3), ONS_F32(2, 3, 2, 3)},
     .settings = {ONS_SET_INTS("dilations", 2, 2)},
     .tolerance = 1e-5,
     .flops = 864},
    {.name = "groups",
     .inputs = {ONS_F32(2, 6, 4, 4), ONS_F32(6, 2, 3, 3), ONS_F32(6)},
     .settings = {ONS_SET_INT("group", 3), ONS_SET_INTS("strides", 2, 2)},
     .tolerance = 1e-5,
     .flops = 7884},
    {.name = "depthwise",
     .inputs = {ONS_F32(2, 16, 4, 4), ONS_F32(16, 1, 4, 4)},
     .settings = {ONS_SET_INT("group", 16), ONS_SET_INTS("strides", 2, 2), ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .tolerance = 1e-5,
     .flops = 12544},
    {.name = "one_dim",
     .inputs = {ONS_F32(2, 3, 7), ONS_F32(3, 4, 3), ONS_F32(4)},
     .settings = {ONS_SET_INTS("strides", 2), ONS_SET_INTS("pads", 1, 0)},
     .tolerance = 1e-5,
     .flops = 1072},
    {.name = "three_dims",
     .inputs = {ONS_F32(1, 2, 2, 3, 4), ONS_F32(2, 3, 2, 3, 2), ONS_F32(3)},
     .settings = {ONS_SET_INTS("strides", 2, 1, 2)},
     .tolerance = 1e-5,
     .flops = 3936},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 4, 5), ONS_F32(3, 4, 3, 2), ONS_F32(4)}, .flops = 0},
    {.name = "no_channels", .inputs = {ONS_F32(1, 0, 2, 2), ONS_F32(0, 3, 2, 2), ONS_F32(3)}, .flops = 27},
    {.name = "unet",
     .inputs = {ONS_F32(8, 128, 32, 32), ONS_F32(128, 64, 2, 2), ONS_F32(64)},
     .settings = {ONS_SET_INTS("strides", 2, 2)},
     .tolerance = 1e-5,
     .flops = 538968064,
     .benchmark = true},
    {.name = "channels_differ", .inputs = {ONS_F32(1, 3, 4, 4), ONS_F32(4, 3, 3, 3)}, .error = "channels"},
    {.name = "bias_differs", .inputs = {ONS_F32(1, 3, 4, 4), ONS_F32(3, 2, 3, 3), ONS_F32(3)}, .error = "bias"},
    {.name = "all_padding",
     .inputs = {ONS_F32(1, 3, 2, 2), ONS_F32(3, 2, 3, 3)},
     .settings = {ONS_SET_INTS("pads", 2, 0, 2, 0)},
     .error = "padding"},
    {.name = "no_groups",
     .inputs = {ONS_F32(1, 3, 4, 4), ONS_F32(3, 2, 3, 3)},
     .settings = {ONS_SET_INT("group", 0)},
     .error = "group"},
    {.name = "output_padding_too_long",
     .inputs = {ONS_F32(1, 3, 4, 4), ONS_F32(3, 2, 3, 3)},
     .settings = {ONS_SET_INTS("output_padding", 1, 1, 1)},
     .error = "output_padding"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(conv_transpose, "ConvTranspose", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_WINDOW_ATTRIBUTES, ONS_INT_ATTRIBUTE("group", 1),
                                   ONS_OPTIONAL_ATTRIBUTE("output_padding", ONS_ATTRIBUTE_INTS),
                                   ONS_OPTIONAL_ATTRIBUTE("output_shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(conv_transpose_infer), ONS_COST(conv_transpose_cost),
                    ONS_GRADIENT_RULE(conv_transpose_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_DENSE_OPERATOR, ONS_NO_ALIASES,
                    ONS_CHOOSES_LAYOUT(conv_transpose_choose), ONS_ONE_FORM, ONS_REFERENCE(conv_transpose_reference),
                    ONS_CPU_KERNEL(conv_transpose_prepare, conv_transpose_run),
                    ONS_CUDA_KERNEL(conv_transpose_prepare_cuda, ons_cuda_conv_transpose), conv_transpose_cases);
