/* Pooling on CUDA: what its kernels were prepared with. */
#ifndef ONSTAGE_KERNELS_POOLING_CUDA_POOLING_H
#define ONSTAGE_KERNELS_POOLING_CUDA_POOLING_H

#include "kernels/common/operator/kernel.h"
#include "kernels/pooling/pooling.h"

typedef struct ons_cuda_pooling {
    ons_dtype dtype;
    ons_window window;
    /* A plane has `inputs` positions before and `outputs` after. In ONNX's order planes are batch × channels, and width
     * is 1; with channels last they are samples, and at each position all channels lie side by side: width. */
    int64_t planes, width, inputs, outputs;
    bool include_pad;   /* of averages */
    bool wide_position; /* of maxima: saved positions are int32, otherwise uint8 */
    bool column_major;  /* of maxima: how ONNX's indices count */
    int p;              /* of p-norms */
} ons_cuda_pooling;

ons_status *ons_cuda_pooling_prepare(ons_prepare *p, const ons_pooling *pooling, ons_cuda_pooling **state);

#endif
