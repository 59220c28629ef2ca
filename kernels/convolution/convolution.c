#include "kernels/convolution/convolution.h"

#include <string.h>

#include "kernels/common/layout/channels.h"

ons_status *ons_convolution_resolve(const ons_operands *o, const ons_type *x, const ons_type *w, ons_convolution *c) {
    c->groups = ons_attribute_int(o, ONS_CONVOLUTION_GROUP);
    c->x = *x;
    c->w = *w;
    if (w->dtype != x->dtype)
        return ons_node_error(o, "input and weight have different element types, %s and %s", ons_dtype_name(x->dtype),
                              ons_dtype_name(w->dtype));
    if (w->shape.rank != x->shape.rank || x->shape.rank < 3)
        return ons_node_error(o,
                              "the input has rank %u, the weight %u; both need batch or outputs, channels and 1 to 3 "
                              "spatial dimensions",
                              x->shape.rank, w->shape.rank);
    if (c->groups < 1 || c->groups > ONS_LAYOUT_GROUPS_MAX)
        return ons_node_error(o, "group is %lld", (long long)c->groups);
    int64_t channels = x->shape.dims[1], outputs = w->shape.dims[0];
    if (channels % c->groups != 0 || outputs % c->groups != 0 || channels / c->groups != w->shape.dims[1])
        return ons_node_error(o, "%lld channels in %lld groups do not fit a weight of %lld outputs and %lld channels",
                              (long long)channels, (long long)c->groups, (long long)outputs,
                              (long long)w->shape.dims[1]);
    ONS_TRY(ons_window_resolve(o, &x->shape, w->shape.dims + 2, false, &c->window));
    c->y = ons_type_make(x->dtype, ons_window_output_shape(&c->window, x->shape.dims[0], outputs));
    return NULL;
}

/* Multiply-adds of one input channel for one output channel: taps in the padding multiply nothing, and kernels leave
 * them out. */
static double multiply_adds(const ons_window *w) {
    double product = 1;
    for (int d = 0; d < ONS_WINDOW_DIMS; ++d) {
        int64_t count = 0, stride = w->stride[d];
        for (int64_t tap = 0; tap < w->kernel[d]; ++tap) { /* of the outputs where it lies in the input */
            int64_t at = tap * w->dilation[d] - w->begin[d], behind = w->input[d] - at;
            int64_t first = at < 0 ? (-at + stride - 1) / stride : 0;
            int64_t end = behind > 0 ? (behind + stride - 1) / stride : 0;
            end = end < w->output[d] ? end : w->output[d];
            count += end > first ? end - first : 0;
        }
        product *= (double)count;
    }
    return product;
}

double ons_convolution_flops(const ons_convolution *c) {
    return 2.0 * (double)c->y.shape.dims[0] * (double)c->y.shape.dims[1] * (double)c->w.shape.dims[1] *
           multiply_adds(&c->window);
}

/* --------------------------------------------------------------------------------------------- oneDNN's description */

/* `any_weight`: oneDNN may choose the weight's format. False for types that oneDNN does not know. */
static bool describe(const ons_convolution *c, bool any_weight, ons_onednn_convolution *d) {
    static const dnnl_prop_kind_t kinds[] = {dnnl_forward_training, dnnl_backward_data, dnnl_backward_weights};
    *d = (ons_onednn_convolution){.kind = kinds[c->kind], .has_bias = c->bias};
    ons_onednn_describe_window(&c->window, &d->window);
    if (!ons_onednn_describe(&c->x, 0, &d->x) || !ons_onednn_describe(&c->y, 0, &d->y) ||
        !ons_onednn_describe(&c->w, c->groups > 1 ? c->groups : 0, &d->w))
        return false;
    if (any_weight) {
        d->w.format = ONS_ONEDNN_TAGGED;
        d->w.tag = dnnl_format_tag_any;
    }
    d->bias =
        (ons_onednn_memory){.rank = 1, .dims = {c->y.shape.dims[1]}, .type = dnnl_f32, .format = ONS_ONEDNN_ROW_MAJOR};
    return true;
}

/* For convolutions that the table does not have. oneDNN prefers its batch-reduce kernel for channels last; with AVX-512
 * the direct one is ahead by a fifth to a half where few channels go in, and where few positions share a large weight.
 */
static ons_way usual_way(const ons_convolution *c, const_dnnl_primitive_desc_t batch_reduce) {
    int64_t channels = c->w.shape.dims[1];
    bool direct = strstr(ons_onednn_implementation(batch_reduce), "avx512_core") != NULL &&
                  (channels <= 16 || (ons_window_outputs(&c->window) <= 16 && channels >= 256));
    return direct ? ONS_CONVOLUTION_DIRECT : ONS_CONVOLUTION_BATCH_REDUCE;
}

static ons_way choose_way(const ons_convolution *c, const_dnnl_primitive_desc_t batch_reduce) {
    const ons_window *w = &c->window;
    return ons_choose(&(ons_choice_question){
        .point = ONS_CHOICE_CONVOLUTION,
        .sizes = {(int64_t)c->kind, c->x.shape.dims[0], c->w.shape.dims[1], c->y.shape.dims[1], ons_window_outputs(w),
                  ons_window_taps(w), c->groups, w->stride[ONS_WINDOW_DIMS - 1]},
        .possible = ONS_WAY_BIT(ONS_CONVOLUTION_BATCH_REDUCE) | ONS_WAY_BIT(ONS_CONVOLUTION_DIRECT),
        .rule = usual_way(c, batch_reduce),
    });
}

/* The direct kernel of the same instructions: "brgconv:avx512_core", "jit:avx512_core". */
static bool is_direct_for(const_dnnl_primitive_desc_t description, const_dnnl_primitive_desc_t batch_reduce) {
    const char *name = ons_onednn_implementation(description),
               *instructions = strrchr(ons_onednn_implementation(batch_reduce), ':');
    return strncmp(name, "jit:", 4) == 0 && instructions != NULL && strcmp(name + 3, instructions) == 0;
}

/* In the place of *found, oneDNN's batch-reduce kernel, the direct one where that is chosen and there is one. */
static void choose_direct(const ons_convolution *c, const ons_onednn_convolution *d, dnnl_primitive_attr_t attributes,
                          dnnl_engine_t engine, dnnl_primitive_desc_t *found) {
    dnnl_primitive_desc_t second;
    if (choose_way(c, *found) != ONS_CONVOLUTION_DIRECT ||
        ons_onednn_describe_convolution(d, 1, attributes, engine, &second) != dnnl_success)
        return;
    bool direct = is_direct_for(second, *found);
    dnnl_primitive_desc_destroy(direct ? *found : second);
    *found = direct ? second : *found;
}

/* oneDNN's kernel for filters of one element leaves out what a stride passes over by a copy of the input (up to 3.x:
 * cpu/x64/jit_uni_1x1_conv_utils.hpp, reduce to unit stride), whose place has as many channels as the input, while the
 * copy has as many as fill a block: with channels last it writes over what lies behind it. The weight's gradient is
 * wrong then, or threads wait for each other for ever. */
static bool overwrites(const ons_convolution *c, const_dnnl_primitive_desc_t description) {
    const char *name = ons_onednn_implementation(description);
    int64_t stride = 1, block = strstr(name, "avx512") != NULL ? 16 : 8;
    for (int d = 0; d < ONS_WINDOW_DIMS; ++d) stride *= c->window.stride[d];
    return strncmp(name, "jit_1x1:", 8) == 0 && stride > 1 && c->x.shape.dims[1] % block != 0;
}

/* The implementation that oneDNN likes best of those that compute what they should. */
static dnnl_status_t find_sound(const ons_convolution *c, const ons_onednn_convolution *d,
                                dnnl_primitive_attr_t attributes, dnnl_engine_t engine, dnnl_primitive_desc_t *found) {
    dnnl_status_t status = ons_onednn_describe_convolution(d, 0, attributes, engine, found);
    for (int place = 1; status == dnnl_success && overwrites(c, *found); ++place) {
        dnnl_primitive_desc_destroy(*found);
        status = ons_onednn_describe_convolution(d, place, attributes, engine, found);
    }
    return status;
}

/* The implementation for the types' layouts, the weight's being free if `any_weight`; *found NULL where there is none.
 */
static ons_status *find_primitive(const ons_operands *o, const ons_convolution *c, bool any_weight,
                                  dnnl_primitive_desc_t *found) {
    *found = NULL;
    ons_onednn_convolution d;
    if (!describe(c, any_weight, &d)) return NULL;
    dnnl_engine_t engine = NULL;
    ONS_TRY(ons_onednn_engine(&engine));
    dnnl_primitive_attr_t attributes;
    ONS_TRY(ons_onednn_attributes(o, &attributes));
    dnnl_status_t status = find_sound(c, &d, attributes, engine, found);
    if (status == dnnl_success && ons_onednn_is_batched_gemm(*found)) choose_direct(c, &d, attributes, engine, found);
    dnnl_primitive_attr_destroy(attributes);
    return status == dnnl_unimplemented ? NULL : ons_onednn_check(o, status, "a convolution");
}

/* -------------------------------------------------------------------------------------------------- layout, prepare */

static bool is_slow(const_dnnl_primitive_desc_t description) {
    return strstr(ons_onednn_implementation(description), "ref") != NULL;
}

/* The weight's best layout for the activations' layouts: *fast false where only a slow way takes them, or where the
 * format that oneDNN chose has no tag with which it would choose the same way again. */
static ons_status *weight_layout(const ons_operands *o, const ons_convolution *c, bool *fast, ons_layout *layout) {
    dnnl_primitive_desc_t description;
    ONS_TRY(find_primitive(o, c, true, &description));
    *fast = false;
    if (description == NULL) return NULL;
    dnnl_query_t weight =
        c->kind == ONS_CONVOLUTION_WEIGHT_GRADIENT ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
    bool tagged =
        !is_slow(description) && ons_onednn_layout(description, weight, c->groups > 1 ? c->groups : 0, layout);
    dnnl_primitive_desc_destroy(description);
    if (!tagged) return NULL;
    ons_convolution again = *c;
    again.w.layout = *layout;
    ONS_TRY(find_primitive(o, &again, false, &description));
    *fast = description != NULL && !is_slow(description);
    if (description != NULL) dnnl_primitive_desc_destroy(description);
    return NULL;
}

/* With one channel or one position, channels last is ONNX's order: no reorder is needed. */
static ons_layout channels_last(const ons_type *type) {
    return ons_layout_same_bytes(&type->shape, ONS_LAYOUT_ONNX, ONS_LAYOUT_CHANNELS_LAST) ? type->layout
                                                                                          : ONS_LAYOUT_CHANNELS_LAST;
}

static bool is_empty(const ons_convolution *c) {
    return ons_elements(&c->x) == 0 || ons_elements(&c->w) == 0 || ons_elements(&c->y) == 0;
}

/* For CUDA: channels last for all three, a filter as (outputs, kernel…, channels). */
static ons_status *choose_for_cuda(ons_convolution *c) {
    ons_type *types[] = {&c->x, &c->w, &c->y};
    for (int i = 0; i < 3; ++i) types[i]->layout = is_empty(c) ? ONS_LAYOUT_ONNX : channels_last(types[i]);
    return NULL;
}

ons_status *ons_convolution_choose(const ons_operands *o, ons_convolution *c) {
    if (ons_layout_is_for_cuda(o)) return choose_for_cuda(c);
    ons_convolution attempt = *c;
    attempt.x.layout = attempt.y.layout = ONS_LAYOUT_CHANNELS_LAST;
    attempt.w.layout = ONS_LAYOUT_ONNX;
    bool fast = ons_convolution_way(c) != ONS_FILTER_LIBRARY;
    ons_layout weight = fast ? ons_convolution_filter_layout() : ONS_LAYOUT_ONNX;
    if (!fast && !is_empty(c)) ONS_TRY(weight_layout(o, &attempt, &fast, &weight));
    c->x.layout = fast ? channels_last(&c->x) : ONS_LAYOUT_ONNX;
    c->y.layout = fast ? channels_last(&c->y) : ONS_LAYOUT_ONNX;
    c->w.layout = fast ? weight : ONS_LAYOUT_ONNX;
    return NULL;
}

static ons_status *prepare(ons_prepare *p, const ons_convolution *given, ons_onednn *d) {
    static const int arguments[][4] = {
        {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS},
        {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
        {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS},
    };
    ons_convolution c = *given;
    /* Channels last and ONNX's order may be the same bytes; oneDNN's fast kernels want to hear that it is the former.
     */
    bool last = c.x.layout == ONS_LAYOUT_CHANNELS_LAST || c.y.layout == ONS_LAYOUT_CHANNELS_LAST ||
                ons_layout_is_weight(c.w.layout);
    if (last) c.x.layout = c.y.layout = ONS_LAYOUT_CHANNELS_LAST;
    dnnl_primitive_desc_t description;
    ONS_TRY(find_primitive(p->operands, &c, false, &description));
    if (description == NULL)
        return ons_node_error(p->operands, "oneDNN has no convolution for the layouts %s, %s, %s",
                              ons_layout_name(c.x.layout), ons_layout_name(c.w.layout), ons_layout_name(c.y.layout));
    int count = c.kind == ONS_CONVOLUTION_INPUT_GRADIENT ? 3 : c.bias ? 4 : 3;
    ons_status *status = ons_onednn_make(p, description, arguments[c.kind], count, d);
    dnnl_primitive_desc_destroy(description);
    return status;
}

ons_status *ons_convolution_prepare(ons_prepare *p, const ons_convolution *c, ons_onednn *d) {
    ONS_TRY(ons_require_float32_of(p->operands, &c->x));
    if (is_empty(c)) return NULL; /* the run sees that there is no primitive */
    int before = ons_onednn_enter(ons_team_size(p));
    ons_status *status = prepare(p, c, d);
    ons_onednn_leave(before);
    if (status == NULL) p->destroy = ons_onednn_destroy;
    return status;
}

/* -------------------------------------------------------------------------------------------------------- reference */

void ons_convolution_reference(const ons_convolution *c, const double *x, const double *w, const double *y,
                               double *result) {
    int64_t batch = c->x.shape.dims[0], outputs = c->y.shape.dims[1], channels = c->w.shape.dims[1];
    int64_t inputs = c->x.shape.dims[1], per_group = outputs / c->groups;
    int64_t x_size = ons_window_inputs(&c->window), y_size = ons_window_outputs(&c->window),
            taps = ons_window_taps(&c->window);
    for (int64_t n = 0; n < batch; ++n)
        for (int64_t o = 0; o < outputs; ++o)
            for (int64_t at = 0; at < y_size; ++at) {
                int64_t y_at = (n * outputs + o) * y_size + at;
                for (int64_t i = 0; i < channels; ++i)
                    for (int64_t tap = 0; tap < taps; ++tap) {
                        int64_t from;
                        if (!ons_window_position(&c->window, at, tap, &from)) continue;
                        int64_t x_at = (n * inputs + o / per_group * channels + i) * x_size + from;
                        int64_t w_at = (o * channels + i) * taps + tap;
                        if (c->kind == ONS_CONVOLUTION_FORWARD)
                            result[y_at] += x[x_at] * w[w_at];
                        else if (c->kind == ONS_CONVOLUTION_INPUT_GRADIENT)
                            result[x_at] += y[y_at] * w[w_at];
                        else
                            result[w_at] += x[x_at] * y[y_at];
                    }
            }
}
