#include "kernels/common/layout/window.h"

#include <string.h>

enum { SIZE_MAX_OF_A_DIM = 1 << 30 }; /* keeps every product of two sizes far from overflow, and within oneDNN's int */

/* Reads an attribute of `count` integers into the last places of `values`; leaves the defaults where it is absent. */
static ons_status *read_sizes(const ons_operands *o, uint32_t attribute, uint32_t count, int64_t least,
                              int64_t *values) {
    const ons_attribute *given = &o->attributes[attribute];
    if (given->kind == ONS_ATTRIBUTE_ABSENT) return NULL;
    const char *name = o->op->attributes[attribute].name;
    if (given->count != count)
        return ons_node_error(o, "attribute '%s' has %u numbers where %u are needed", name, given->count, count);
    for (uint32_t i = 0; i < count; ++i) {
        if (given->ints[i] < least || given->ints[i] > SIZE_MAX_OF_A_DIM)
            return ons_node_error(o, "attribute '%s' holds %lld, which is out of range", name,
                                  (long long)given->ints[i]);
        values[i] = given->ints[i];
    }
    return NULL;
}

static int64_t reach(const ons_window *w, uint32_t i) { return w->dilation[i] * (w->kernel[i] - 1) + 1; }

/* Padding that gives ceil(input / stride) outputs; the odd one goes behind (upper) or in front (lower). */
static void pad_same(ons_window *w, uint32_t i, bool upper) {
    int64_t outputs = (w->input[i] + w->stride[i] - 1) / w->stride[i];
    int64_t total = (outputs - 1) * w->stride[i] + reach(w, i) - w->input[i];
    total = total < 0 ? 0 : total;
    w->begin[i] = upper ? total / 2 : (total + 1) / 2;
    w->end[i] = total - w->begin[i];
}

static ons_status *resolve_dim(const ons_operands *o, uint32_t i, bool ceil_mode, ons_window *w) {
    long long padded = w->input[i] + w->begin[i] + w->end[i];
    int64_t room = padded - reach(w, i);
    if (room < 0)
        return ons_node_error(o, "the window reaches over %lld positions, the padded input has only %lld",
                              (long long)reach(w, i), padded);
    w->output[i] = room / w->stride[i] + 1;
    /* A window in ceil mode must begin inside of the input or of the padding before it. */
    if (ceil_mode && room % w->stride[i] != 0 && w->output[i] * w->stride[i] < w->input[i] + w->begin[i])
        ++w->output[i];
    w->last[i] = (w->output[i] - 1) * w->stride[i] + reach(w, i) - w->input[i] - w->begin[i];
    return NULL;
}

/* Input, kernel, strides and dilations; *first is the place of the first real dim. */
static ons_status *read_window(const ons_operands *o, const ons_shape *input, const int64_t *kernel, uint32_t *start,
                               ons_window *w) {
    if (input->rank < 3 || input->rank > 2 + ONS_WINDOW_DIMS)
        return ons_node_error(o, "the input has %u spatial dimensions; 1 to 3 are supported",
                              input->rank < 2 ? 0 : input->rank - 2);
    uint32_t spatial = input->rank - 2, first = ONS_WINDOW_DIMS - spatial;
    *start = first;
    memset(w, 0, sizeof *w);
    w->spatial = spatial;
    for (uint32_t i = 0; i < ONS_WINDOW_DIMS; ++i) w->input[i] = w->kernel[i] = w->stride[i] = w->dilation[i] = 1;
    for (uint32_t i = 0; i < spatial; ++i) {
        w->input[first + i] = input->dims[2 + i];
        if (input->dims[2 + i] > SIZE_MAX_OF_A_DIM)
            return ons_node_error(o, "a spatial dimension of %lld is too large", (long long)input->dims[2 + i]);
        if (kernel != NULL) w->kernel[first + i] = kernel[i];
    }
    ONS_TRY(read_sizes(o, ONS_WINDOW_KERNEL_SHAPE, spatial, 1, w->kernel + first));
    if (kernel == NULL && !ons_has_attribute(o, ONS_WINDOW_KERNEL_SHAPE))
        return ons_node_error(o, "attribute 'kernel_shape' is missing");
    for (uint32_t i = 0; i < spatial; ++i)
        if (kernel != NULL && (kernel[i] != w->kernel[first + i] || kernel[i] < 1 || kernel[i] > SIZE_MAX_OF_A_DIM))
            return ons_node_error(o, "the weight has a kernel of %lld, attribute 'kernel_shape' says %lld",
                                  (long long)kernel[i], (long long)w->kernel[first + i]);
    ONS_TRY(read_sizes(o, ONS_WINDOW_STRIDES, spatial, 1, w->stride + first));
    return read_sizes(o, ONS_WINDOW_DILATIONS, spatial, 1, w->dilation + first);
}

/* Padding where it does not follow from the sizes. */
static ons_status *read_pads(const ons_operands *o, const char *mode, uint32_t first, ons_window *w) {
    if (strcmp(mode, "VALID") == 0) return NULL;
    if (strcmp(mode, "NOTSET") != 0 && mode[0] != '\0')
        return ons_node_error(o, "auto_pad '%s' is not one of NOTSET, SAME_UPPER, SAME_LOWER, VALID", mode);
    int64_t pads[2 * ONS_WINDOW_DIMS] = {0};
    ONS_TRY(read_sizes(o, ONS_WINDOW_PADS, 2 * w->spatial, 0, pads));
    memcpy(w->begin + first, pads, w->spatial * sizeof pads[0]);
    memcpy(w->end + first, pads + w->spatial, w->spatial * sizeof pads[0]);
    return NULL;
}

ons_status *ons_window_resolve(const ons_operands *o, const ons_shape *input, const int64_t *kernel, bool ceil_mode,
                               ons_window *w) {
    uint32_t first = 0;
    ONS_TRY(read_window(o, input, kernel, &first, w));
    const char *mode = ons_attribute_string(o, ONS_WINDOW_AUTO_PAD);
    bool upper = strcmp(mode, "SAME_UPPER") == 0;
    if (upper || strcmp(mode, "SAME_LOWER") == 0)
        for (uint32_t i = first; i < ONS_WINDOW_DIMS; ++i) pad_same(w, i, upper);
    else
        ONS_TRY(read_pads(o, mode, first, w));
    for (uint32_t i = 0; i < ONS_WINDOW_DIMS; ++i) ONS_TRY(resolve_dim(o, i, ceil_mode, w));
    return NULL;
}

/* One dim of a transposed convolution, whose window is that of the convolution which it turns round: w->output is
 * known, w->input comes from the padding or, where `wanted` > 0, the other way round. What the padding cannot make up
 * for lies behind the last window and gets nothing from it. */
static ons_status *resolve_transposed_dim(const ons_operands *o, uint32_t i, int64_t extra, int64_t wanted, bool upper,
                                          ons_window *w) {
    if (w->output[i] < 1) return ons_node_error(o, "a spatial dimension is empty");
    int64_t all = (w->output[i] - 1) * w->stride[i] + reach(w, i);
    if (wanted > 0) {
        int64_t total = all + extra - wanted;
        total = total < 0 ? 0 : total;
        w->begin[i] = upper ? total / 2 : total - total / 2;
        w->end[i] = total - w->begin[i];
        w->input[i] = wanted;
    } else {
        w->input[i] = all + extra - w->begin[i] - w->end[i];
    }
    if (w->input[i] < 1 || w->input[i] > SIZE_MAX_OF_A_DIM)
        return ons_node_error(o, "padding of %lld and %lld and a stride of %lld make an output of size %lld",
                              (long long)w->begin[i], (long long)w->end[i], (long long)w->stride[i],
                              (long long)w->input[i]);
    w->last[i] = all - w->input[i] - w->begin[i];
    return NULL;
}

ons_status *ons_window_resolve_transposed(const ons_operands *o, const ons_shape *input, const int64_t *kernel,
                                          uint32_t output_padding, uint32_t output_shape, ons_window *w) {
    uint32_t first = 0;
    ONS_TRY(read_window(o, input, kernel, &first, w));
    uint32_t spatial = w->spatial;
    memcpy(w->output, w->input, sizeof w->output);
    int64_t extra[ONS_WINDOW_DIMS] = {0}, wanted[ONS_WINDOW_DIMS] = {0};
    ONS_TRY(read_sizes(o, output_padding, spatial, 0, extra + first));
    const char *mode = ons_attribute_string(o, ONS_WINDOW_AUTO_PAD);
    bool upper = strcmp(mode, "SAME_UPPER") == 0, same = upper || strcmp(mode, "SAME_LOWER") == 0;
    if (!same) ONS_TRY(read_pads(o, mode, first, w));
    if (ons_has_attribute(o, output_shape))
        ONS_TRY(read_sizes(o, output_shape, spatial, 1, wanted + first));
    else if (same)
        for (uint32_t i = first; i < ONS_WINDOW_DIMS; ++i) wanted[i] = w->output[i] * w->stride[i];
    for (uint32_t i = 0; i < ONS_WINDOW_DIMS; ++i) ONS_TRY(resolve_transposed_dim(o, i, extra[i], wanted[i], upper, w));
    return NULL;
}

ons_shape ons_window_output_shape(const ons_window *w, int64_t batch, int64_t channels) {
    ons_shape shape = {.rank = 2 + w->spatial, .dims = {batch, channels}};
    memcpy(shape.dims + 2, w->output + ONS_WINDOW_DIMS - w->spatial, w->spatial * sizeof(int64_t));
    return shape;
}

int64_t ons_window_inputs(const ons_window *w) { return w->input[0] * w->input[1] * w->input[2]; }
int64_t ons_window_outputs(const ons_window *w) { return w->output[0] * w->output[1] * w->output[2]; }
int64_t ons_window_taps(const ons_window *w) { return w->kernel[0] * w->kernel[1] * w->kernel[2]; }

bool ons_window_position(const ons_window *w, int64_t output, int64_t tap, int64_t *input) {
    int64_t position = 0, scale = 1;
    for (int i = ONS_WINDOW_DIMS - 1; i >= 0; --i) {
        int64_t at = output % w->output[i] * w->stride[i] + tap % w->kernel[i] * w->dilation[i] - w->begin[i];
        if (at < 0 || at >= w->input[i]) return false;
        position += at * scale;
        scale *= w->input[i];
        output /= w->output[i];
        tap /= w->kernel[i];
    }
    *input = position;
    return true;
}

void ons_window_get_settings(const ons_window *w, const ons_shape *input, ons_window_settings *settings) {
    uint32_t first = ONS_WINDOW_DIMS - w->spatial;
    size_t bytes = w->spatial * sizeof(int64_t);
    memcpy(settings->dilations, w->dilation + first, bytes);
    memcpy(settings->kernel, w->kernel + first, bytes);
    memcpy(settings->strides, w->stride + first, bytes);
    memcpy(settings->pads, w->begin + first, bytes);
    memcpy(settings->pads + w->spatial, w->end + first, bytes);
    memcpy(settings->input, input->dims, sizeof settings->input);
}

ons_status *ons_window_shape_attribute(const ons_operands *o, uint32_t attribute, ons_shape *shape) {
    const ons_attribute *given = &o->attributes[attribute];
    if (given->kind != ONS_ATTRIBUTE_INTS || given->count > ONS_RANK_MAX)
        return ons_node_error(o, "attribute '%s' must be a shape", o->op->attributes[attribute].name);
    *shape = ons_shape_make(given->count, given->ints);
    ONS_TRY_AT(ons_shape_check(shape), "node '%s'", o->name);
    return NULL;
}
