/* Softmax and its relatives on CUDA: what their kernels were prepared with. */
#ifndef ONSTAGE_KERNELS_SOFTMAX_CUDA_SOFTMAX_H
#define ONSTAGE_KERNELS_SOFTMAX_CUDA_SOFTMAX_H

#include "kernels/softmax/softmax_axis.h"

typedef struct ons_cuda_rows {
    ons_axis_view view;
    ons_dtype dtype;
} ons_cuda_rows;

/* For Softmax and its relatives; the state is an ons_cuda_rows. */
ons_status *ons_cuda_softmax_prepare(ons_prepare *p);

#endif
