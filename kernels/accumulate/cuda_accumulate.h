/* Accumulate on CUDA: how its kernel is prepared. */
#ifndef ONSTAGE_KERNELS_ACCUMULATE_CUDA_ACCUMULATE_H
#define ONSTAGE_KERNELS_ACCUMULATE_CUDA_ACCUMULATE_H

#include "kernels/common/cuda/cuda_prepare.h"

typedef struct ons_cuda_accumulation {
    ons_dtype dtype, summand_dtype;
    int64_t elements;
} ons_cuda_accumulation;

ons_status *ons_cuda_accumulate_prepare(ons_prepare *p);

#endif
