#include "runtime/program/samples.h"

ons_sample_relation ons_samples_relate(const ons_type *all, int64_t rows, const ons_type *some, int64_t some_rows) {
    uint32_t axis = 0;
    if (all->shape.rank != some->shape.rank || all->layout != some->layout) return ONS_SAMPLES_UNLIKE;
    while (axis < all->shape.rank && all->shape.dims[axis] == some->shape.dims[axis]) ++axis;
    if (axis == all->shape.rank) return ONS_SAMPLES_ALIKE;
    bool outermost = ons_shape_span(&all->shape, 0, axis) == 1 && (axis == 0 || all->layout == ONS_LAYOUT_ONNX);
    for (uint32_t i = axis + 1; i < all->shape.rank; ++i)
        if (all->shape.dims[i] != some->shape.dims[i]) return ONS_SAMPLES_UNLIKE;
    if (all->shape.dims[axis] * some_rows != some->shape.dims[axis] * rows) return ONS_SAMPLES_UNLIKE;
    return outermost ? ONS_SAMPLES_OUTERMOST : ONS_SAMPLES_WITHIN;
}
