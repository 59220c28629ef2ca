/* ConvTranspose: what a convolution does to gradients on their way back to its input. Its weight (input channels,
 * output channels ÷ groups, kernel) is that convolution's weight as it stands, so kernels and gradients are those of
 * Conv: of the convolution that leads from this operator's output (its x) to this operator's input (its y). */
#include "kernels/conv_transpose/conv_transpose.h"

#include <string.h>

#include "kernels/common/operator/rules.h"
#include "kernels/convolution/convolution.h"
#include "kernels/operators.h"

enum { OUTPUT_PADDING = ONS_CONVOLUTION_GROUP + 1, OUTPUT_SHAPE };

ons_status *ons_conv_transpose_resolve(const ons_operands *o, ons_convolution *c) {
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
    ONS_TRY(ons_conv_transpose_resolve(o, &c));
    if (c.bias && (o->inputs[2].shape.rank != 1 || o->inputs[2].shape.dims[0] != c.x.shape.dims[1] ||
                   o->inputs[2].dtype != c.x.dtype))
        return ons_node_error(o, "the bias must be a vector of %lld", (long long)c.x.shape.dims[1]);
    o->outputs[0] = c.x;
    return NULL;
}

static ons_cost conv_transpose_cost(const ons_operands *o) {
    ons_convolution c;
    ons_resolved(ons_conv_transpose_resolve(o, &c));
    double bias = c.bias ? (double)ons_elements(&c.x) : 0;
    return (ons_cost){ons_convolution_flops(&c) + bias, ons_operand_bytes(o)};
}

static void conv_transpose_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                     void *const *outputs) {
    ons_convolution c;
    ons_resolved(ons_conv_transpose_resolve(o, &c));
    const double *bias = c.bias ? inputs[2] : NULL;
    double *y = outputs[0];
    int64_t positions = ons_window_inputs(&c.window), channels = c.x.shape.dims[1];
    for (int64_t i = 0, count = ons_elements(&c.x); i < count; ++i)
        y[i] = bias != NULL ? bias[i / positions % channels] : 0;
    ons_convolution_reference(&c, NULL, inputs[1], inputs[0], y);
}

bool ons_conv_transpose_crop(ons_convolution *c) {
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
    ons_resolved(ons_conv_transpose_resolve(o, &c));
    ons_conv_transpose_crop(&c);
    ONS_TRY(ons_convolution_choose(o, &c));
    inputs[0] = c.y.layout;
    inputs[1] = c.w.layout;
    outputs[0] = c.x.layout;
    return NULL;
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
        int64_t ons_conv_transpose_crop = excess > w->end[i] ? excess - w->end[i] : 0;
        w->end[i] -= less_padding;
        w->input[i] -= ons_conv_transpose_crop;
        crops |= ons_conv_transpose_crop > 0;
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
    ons_resolved(ons_conv_transpose_resolve(g->operands, &c));
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

ONS_DEFINE_OPERATOR(conv_transpose, "ConvTranspose", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_WINDOW_ATTRIBUTES, ONS_INT_ATTRIBUTE("group", 1),
                                   ONS_OPTIONAL_ATTRIBUTE("output_padding", ONS_ATTRIBUTE_INTS),
                                   ONS_OPTIONAL_ATTRIBUTE("output_shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(conv_transpose_infer), ONS_COST(conv_transpose_cost),
                    ONS_GRADIENT_RULE(conv_transpose_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_DENSE_OPERATOR, ONS_NO_ALIASES,
                    ONS_CHOOSES_LAYOUT(conv_transpose_choose), ONS_ONE_FORM, ONS_REFERENCE(conv_transpose_reference));
