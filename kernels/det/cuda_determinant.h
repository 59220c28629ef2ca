/* Determinants on CUDA: what their kernels were prepared with. */
#ifndef ONSTAGE_KERNELS_DET_CUDA_DETERMINANT_H
#define ONSTAGE_KERNELS_DET_CUDA_DETERMINANT_H

#include "kernels/det/determinant.h"

/* Scratch: for each matrix, room for `rooms` of them in double. */
typedef struct ons_cuda_determinant {
    int64_t count, size;
} ons_cuda_determinant;

ons_status *ons_cuda_determinant_prepare(ons_prepare *p, const ons_type *matrices, int64_t rooms);

#endif
