/* The rotation's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_ROTATION_ROTATION_H
#define ONSTAGE_KERNELS_ROTATION_ROTATION_H

#include "kernels/common/operator/kernel.h"

typedef struct ons_rotation {
    int64_t rows, length, size;
    bool interleaved, inverse;
    int64_t second;                /* distance of the second of a pair in the tables: 0 where pairs share a number */
    uint32_t rank;                 /* of x without its last axis */
    int64_t dims[ONS_RANK_MAX];    /* of x without its last axis */
    int64_t strides[ONS_RANK_MAX]; /* of the tables along them */
} ons_rotation;

#endif
