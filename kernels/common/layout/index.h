/* From an element's number to its indices and back, for references and for what runs once. */
#ifndef ONSTAGE_KERNELS_COMMON_LAYOUT_INDEX_H
#define ONSTAGE_KERNELS_COMMON_LAYOUT_INDEX_H

#include <string.h>

#include "graph/type.h"

/* Indices of element `number` in row-major order. No dimension is 0. */
static inline void ons_unravel(const ons_shape *shape, int64_t number, int64_t index[ONS_AT_LEAST(ONS_RANK_MAX)]) {
    for (uint32_t axis = shape->rank; axis-- > 0;) {
        index[axis] = number % shape->dims[axis];
        number /= shape->dims[axis];
    }
}

static inline int64_t ons_ravel(const ons_shape *shape, const int64_t *index) {
    int64_t number = 0;
    for (uint32_t axis = 0; axis < shape->rank; ++axis) number = number * shape->dims[axis] + index[axis];
    return number;
}

/* Copies one 8-byte word of a reference's operands, whatever it holds. */
static inline void ons_copy_word(void *to, int64_t to_index, const void *from, int64_t from_index) {
    memcpy((char *)to + 8 * to_index, (const char *)from + 8 * from_index, 8);
}

/* Elements between neighbours along each axis of a dense tensor. */
static inline void ons_dense_strides(const ons_shape *shape, int64_t strides[ONS_AT_LEAST(ONS_RANK_MAX)]) {
    int64_t stride = 1;
    for (uint32_t axis = shape->rank; axis-- > 0;) {
        strides[axis] = stride;
        stride *= shape->dims[axis];
    }
}

#endif
