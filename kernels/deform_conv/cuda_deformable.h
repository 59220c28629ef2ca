/* DeformConv and its gradient on CUDA: what their kernels were prepared with. Samples are worked on one after the
 * other. */
#ifndef ONSTAGE_KERNELS_DEFORM_CONV_CUDA_DEFORMABLE_H
#define ONSTAGE_KERNELS_DEFORM_CONV_CUDA_DEFORMABLE_H

#include "kernels/deform_conv/deformable.h"

typedef struct ons_cuda_deformable {
    ons_deformable d;
    bool bias;
    int64_t columns; /* floats of a sample's columns: channels × taps × positions; scratch holds them, and their
                        gradients */
} ons_cuda_deformable;

ons_status *ons_cuda_deformable_prepare(ons_prepare *p, const ons_deformable *d, bool bias, int copies);

#endif
