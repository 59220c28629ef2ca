/* Operators whose result follows from known inputs alone, on CUDA: it is made by their reference when they are
 * prepared, and written by each run. */
#ifndef ONSTAGE_KERNELS_SIGNAL_CUDA_CONSTANT_H
#define ONSTAGE_KERNELS_SIGNAL_CUDA_CONSTANT_H

#include "kernels/common/operator/kernel.h"

typedef struct ons_cuda_known {
    int64_t bytes;
    const void *data;
} ons_cuda_known;

/* For one output. The state is an ons_cuda_known. */
ons_status *ons_cuda_known_prepare(ons_prepare *p);
void ons_cuda_known_run(const ons_launch *launch);

#endif
