/* LayerNormalization and RMSNormalization on CUDA: what their kernels were prepared with. */
#ifndef ONSTAGE_KERNELS_NORMALIZATION_CUDA_NORM_H
#define ONSTAGE_KERNELS_NORMALIZATION_CUDA_NORM_H

#include "kernels/normalization/layer_norm.h"

typedef struct ons_cuda_norm {
    ons_layer_norm norm;
    ons_dtype dtype;
    ons_dtype affine; /* of scale and bias: float32, or the same */
    float epsilon;
    bool has_bias;
    uint32_t extra;         /* of a gradient: see ons_norm_gradient_check */
    bool adds, adds_before; /* whether these inputs are there */
    int parts;              /* of the sums over rows; scratch holds two floats a column for each */
} ons_cuda_norm;

/* A part is a block's: so many that all of a GPU's have one, but no more than need be added up. */
enum { ONS_CUDA_PARTS_MAX = 264, ONS_CUDA_PART_ROWS = 16 };

/* Notes the types of operand x and of the scale, and refuses what there is no kernel for. */
ons_status *ons_cuda_norm_types(const ons_operands *o, uint32_t x, uint32_t scale, ons_cuda_norm *norm);

/* For gradients: notes what is added, and books scratch for the sums over rows. */
void ons_cuda_norm_gradient(ons_prepare *p, uint32_t extra, ons_cuda_norm *norm);

#endif
