/* Losses on CUDA: how their kernels are prepared. */
#ifndef ONSTAGE_KERNELS_LOSSES_CUDA_LOSSES_H
#define ONSTAGE_KERNELS_LOSSES_CUDA_LOSSES_H

#include "kernels/losses/class_loss.h"

/* For losses with class numbers: the state is an ons_class_loss; scratch holds a double for every target. */
ons_status *ons_cuda_class_loss_prepare(ons_prepare *p);

/* For those whose prediction may be of a half type; the rest is float32. Scratch holds a double for every target. */
typedef struct ons_cuda_class_loss {
    ons_class_loss loss;
    ons_dtype dtype; /* of the prediction and its gradient */
} ons_cuda_class_loss;
ons_status *ons_cuda_cross_entropy_prepare(ons_prepare *p);

/* For losses that a model holds itself: the state is an ons_model_loss; scratch holds two doubles for every target. */
ons_status *ons_cuda_model_loss_prepare(ons_prepare *p);

/* For losses element by element: the state is an ons_pointwise_loss; scratch holds a double for each of
 * ONS_CUDA_LOSS_PARTS. */
enum { ONS_CUDA_LOSS_PARTS = 256 };
ons_status *ons_cuda_pointwise_loss_prepare(ons_prepare *p);

#endif
