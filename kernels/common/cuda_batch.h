/* Batch and group normalisation on CUDA: what their kernels were prepared with. */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_BATCH_H
#define ONSTAGE_KERNELS_COMMON_CUDA_BATCH_H

#include "kernels/common/batch_training.h"
#include "kernels/common/group_norm.h"

/* Scratch: two doubles for each part and channel, then four floats for each channel. */
typedef struct ons_cuda_batch {
    ons_dtype dtype;
    ons_dtype parameters; /* of scale, bias and statistics: the same, or float32 */
    int64_t batch, channels, positions;
    int parts; /* of the sums over a channel */
    double epsilon, momentum, correction;
    bool training; /* of the forward operator: by the batch's statistics */
    bool constant; /* of the gradient: the statistics are running ones */
} ons_cuda_batch;

/* For x (and dy before it, at the gradient) of one type, and parameters behind it of that or of float32, in ONNX's
 * order; sets sizes, parts and scratch. */
ons_status *ons_cuda_batch_prepare(ons_prepare *p, const ons_type *x, ons_cuda_batch **state);
/* The same with what ons_batch_training_prepare takes. */
ons_status *ons_cuda_batch_training_prepare(ons_prepare *p, double epsilon, double momentum, bool unbiased,
                                            ons_cuda_batch **state);

typedef struct ons_cuda_group {
    ons_dtype dtype;
    ons_group_norm norm;
    float epsilon;
} ons_cuda_group;

ons_status *ons_cuda_group_prepare(ons_prepare *p, const ons_type *x, const ons_group_norm *norm, double epsilon);

#endif
