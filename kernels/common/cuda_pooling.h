/* Pooling on CUDA: what its kernels were prepared with. */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_POOLING_H
#define ONSTAGE_KERNELS_COMMON_CUDA_POOLING_H

#include "kernels/common/pooling.h"

typedef struct ons_cuda_pooling {
    ons_dtype dtype;
    ons_window window;
    int64_t planes, inputs, outputs; /* batch × channels; positions of a plane before and after */
    bool include_pad;                /* of averages */
    bool wide_position;              /* of maxima: saved positions are int32, otherwise uint8 */
    bool column_major;               /* of maxima: how ONNX's indices count */
    int p;                           /* of p-norms */
} ons_cuda_pooling;

ons_status *ons_cuda_pooling_prepare(ons_prepare *p, const ons_pooling *pooling, ons_cuda_pooling **state);

#endif
