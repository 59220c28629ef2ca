#include "kernels/col2im/unfold.h"

static const int64_t size_max = (int64_t)1 << 30;

/* `count` numbers of an attribute within [least, size_max]; leaves the defaults where it is absent. */
static ons_status *read_sizes(const ons_operands *o, uint32_t attribute, uint32_t count, int64_t least,
                              int64_t *values) {
    const ons_attribute *given = &o->attributes[attribute];
    const char *name = o->op->attributes[attribute].name;
    if (given->kind == ONS_ATTRIBUTE_ABSENT) return NULL;
    if (given->count != count)
        return ons_node_error(o, "attribute '%s' has %u numbers where %u are needed", name, given->count, count);
    for (uint32_t i = 0; i < count; ++i) {
        if (given->ints[i] < least || given->ints[i] > size_max)
            return ons_node_error(o, "attribute '%s' holds %lld, which is out of range", name,
                                  (long long)given->ints[i]);
        values[i] = given->ints[i];
    }
    return NULL;
}

static ons_status *multiply(const ons_operands *o, int64_t factor, int64_t *product) {
    if (__builtin_mul_overflow(*product, factor, product) || *product > INT64_MAX / 16)
        return ons_node_error(o, "the image or its blocks are too large");
    return NULL;
}

static ons_status *resolve_unfold(const ons_operands *o, ons_unfold *u) {
    int64_t image[ONS_INTEGERS_MAX], block[ONS_INTEGERS_MAX], pads[2 * ONS_UNFOLD_DIMS] = {0};
    uint32_t dims, block_dims;
    *u = (ons_unfold){.pixels = 1, .taps = 1, .positions = 1};
    ONS_TRY(ons_constant_integers(o, 1, image, &dims));
    ONS_TRY(ons_constant_integers(o, 2, block, &block_dims));
    if (dims != block_dims || dims == 0 || dims > ONS_UNFOLD_DIMS)
        return ons_node_error(o, "an image of %u dimensions in blocks of %u", dims, block_dims);
    u->dims = dims;
    for (uint32_t i = 0; i < dims; ++i) u->stride[i] = u->dilation[i] = 1;
    ONS_TRY(read_sizes(o, ONS_UNFOLD_STRIDES, dims, 1, u->stride));
    ONS_TRY(read_sizes(o, ONS_UNFOLD_DILATIONS, dims, 1, u->dilation));
    ONS_TRY(read_sizes(o, ONS_UNFOLD_PADS, 2 * dims, 0, pads));
    for (uint32_t i = 0; i < dims; ++i) {
        if (image[i] < 0 || image[i] > size_max || block[i] < 1 || block[i] > size_max)
            return ons_node_error(o, "an image of %lld elements in blocks of %lld", (long long)image[i],
                                  (long long)block[i]);
        u->image[i] = image[i];
        u->block[i] = block[i];
        u->begin[i] = pads[i];
        int64_t room = image[i] + pads[i] + pads[dims + i] - u->dilation[i] * (block[i] - 1) - 1;
        u->blocks[i] = room < 0 ? 0 : room / u->stride[i] + 1;
        ONS_TRY(multiply(o, image[i], &u->pixels));
        ONS_TRY(multiply(o, block[i], &u->taps));
        ONS_TRY(multiply(o, u->blocks[i], &u->positions));
    }
    return NULL;
}

ons_status *ons_unfold_of_columns(const ons_operands *o, const ons_type *columns, ons_unfold *u, ons_type *image) {
    const ons_shape *shape = &columns->shape;
    char text[ONS_TYPE_TEXT];
    ONS_TRY(resolve_unfold(o, u));
    if (shape->rank != 3 || shape->dims[1] % u->taps != 0 || shape->dims[2] != u->positions)
        return ons_node_error(o, "%s is not (N, C × %lld, %lld)", ons_type_print(columns, text), (long long)u->taps,
                              (long long)u->positions);
    u->batch = shape->dims[0];
    u->channels = shape->dims[1] / u->taps;
    *image = ons_type_make(columns->dtype, (ons_shape){.rank = 2 + u->dims, .dims = {u->batch, u->channels}});
    for (uint32_t i = 0; i < u->dims; ++i) image->shape.dims[2 + i] = u->image[i];
    return NULL;
}

ons_status *ons_unfold_of_image(const ons_operands *o, const ons_type *image, ons_unfold *u, ons_type *columns) {
    const ons_shape *shape = &image->shape;
    char text[ONS_TYPE_TEXT];
    ONS_TRY(resolve_unfold(o, u));
    bool fits = shape->rank == 2 + u->dims;
    for (uint32_t i = 0; i < u->dims && fits; ++i) fits = shape->dims[2 + i] == u->image[i];
    if (!fits) return ons_node_error(o, "%s is not the image", ons_type_print(image, text));
    u->batch = shape->dims[0];
    u->channels = shape->dims[1];
    int64_t rows = u->channels;
    ONS_TRY(multiply(o, u->taps, &rows));
    *columns = ons_type_make(image->dtype, (ons_shape){3, {u->batch, rows, u->positions}});
    return NULL;
}

int64_t ons_unfold_pixel(const ons_unfold *u, int64_t tap, int64_t position) {
    int64_t pixel = 0, stride = 1;
    for (uint32_t i = u->dims; i-- > 0;) {
        int64_t at = position % u->blocks[i] * u->stride[i] + tap % u->block[i] * u->dilation[i] - u->begin[i];
        if (at < 0 || at >= u->image[i]) return -1;
        pixel += at * stride;
        stride *= u->image[i];
        position /= u->blocks[i];
        tap /= u->block[i];
    }
    return pixel;
}
