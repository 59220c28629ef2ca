/* Batch and group normalisation on CUDA: what their kernels were prepared with. */
#ifndef ONSTAGE_KERNELS_NORMALIZATION_CUDA_BATCH_H
#define ONSTAGE_KERNELS_NORMALIZATION_CUDA_BATCH_H

#include "kernels/normalization/batch_training.h"
#include "kernels/normalization/group_norm.h"

/* Scratch: two doubles for each part and channel, then four floats for each channel. With channels last a block sums a
 * part of the positions of up to 32 × `pack` channels: `tile` threads side by side have `pack` channels each, 16 bytes
 * where channels can be divided so. */
typedef struct ons_cuda_batch {
    ons_dtype dtype;
    ons_dtype parameters; /* of scale, bias and statistics: the same, or float32 */
    int64_t batch, channels, positions;
    bool last; /* channels lie side by side */
    int tile, pack;
    int parts;         /* of the sums over a channel */
    uint32_t replicas; /* whose micro-batches have their statistics together; 1: this one's alone */
    int64_t shares_at; /* in the scratch: what they tell each other */
    double epsilon, momentum;
    bool unbiased;                   /* see ons_batch_training */
    bool training;                   /* of the forward operator: by the batch's statistics */
    bool constant;                   /* of the gradient: the statistics are running ones */
    bool added, sloped;              /* of the forward operator: see ons_batch_training */
    ons_batch_activation activation; /* behind the normalisation: of both */
} ons_cuda_batch;

/* For x (and dy before it, at the gradient) of one type and layout, and parameters behind it of that type or of
 * float32; sets sizes, parts and scratch. */
ons_status *ons_cuda_batch_prepare(ons_prepare *p, const ons_type *x, ons_cuda_batch **state);
/* ons_cuda_batch_prepare with what ons_batch_training_prepare takes. */
ons_status *ons_cuda_batch_training_prepare(ons_prepare *p, double epsilon, double momentum, bool unbiased,
                                            ons_cuda_batch **state);
/* Statistics are those of so many replicas together. */
ons_status *ons_cuda_batch_share(ons_prepare *p, int64_t replicas, ons_cuda_batch *state);

typedef struct ons_cuda_group {
    ons_dtype dtype;
    ons_group_norm norm;
    float epsilon;
} ons_cuda_group;

ons_status *ons_cuda_group_prepare(ons_prepare *p, const ons_type *x, const ons_group_norm *norm, double epsilon);

#endif
