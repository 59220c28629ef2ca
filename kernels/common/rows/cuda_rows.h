/* Work along one axis on CUDA: what the kernels of cuda_rows.cuh were prepared with. */
#ifndef ONSTAGE_KERNELS_COMMON_ROWS_CUDA_ROWS_H
#define ONSTAGE_KERNELS_COMMON_ROWS_CUDA_ROWS_H

#include "kernels/losses/class_loss.h"
#include "kernels/normalization/layer_norm.h"
#include "kernels/softmax/softmax_axis.h"

typedef struct ons_cuda_rows {
    ons_axis_view view;
    ons_dtype dtype;
} ons_cuda_rows;

/* For Softmax and its relatives; the state is an ons_cuda_rows. */
ons_status *ons_cuda_softmax_prepare(ons_prepare *p);

typedef struct ons_cuda_norm {
    ons_layer_norm norm;
    ons_dtype dtype;
    ons_dtype affine; /* of scale and bias: float32, or the same */
    float epsilon;
    bool has_bias;
    int parts; /* of the sums over rows; scratch holds two floats a column for each */
} ons_cuda_norm;

enum { ONS_CUDA_PARTS_MAX = 64 };

/* Notes the types of operand x and of the scale, and refuses what there is no kernel for. */
ons_status *ons_cuda_norm_types(const ons_operands *o, uint32_t x, uint32_t scale, ons_cuda_norm *norm);

/* For gradients: books scratch for the sums over rows. */
void ons_cuda_norm_parts(ons_prepare *p, ons_cuda_norm *norm);

/* For losses with class numbers: the state is an ons_class_loss; scratch holds a double for every target. */
ons_status *ons_cuda_class_loss_prepare(ons_prepare *p);

/* For those whose prediction may be of a half type; the rest is float32. Scratch as above. */
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
