/* Reductions along any axes on CUDA: how the input is walked. The device's part is cuda_reduction.cuh. */
#ifndef ONSTAGE_KERNELS_REDUCTION_CUDA_REDUCTION_H
#define ONSTAGE_KERNELS_REDUCTION_CUDA_REDUCTION_H

#include "kernels/common/operator/kernel.h"

/* Axes in the order of loops, innermost last, neighbours joined. */
typedef struct ons_cuda_loops {
    uint32_t rank;
    int64_t dims[ONS_RANK_MAX];
    int64_t strides[ONS_RANK_MAX]; /* in elements of the input */
} ons_cuda_loops;

typedef struct ons_cuda_reduction {
    ons_dtype dtype;
    ons_cuda_loops kept, reduced;
    int64_t results;
    int64_t count; /* elements that go into each */
    bool columns;  /* the innermost axis is kept: neighbouring results lie side by side in the input too */
    int parts; /* into which each result's elements are cut, where there are few results; scratch: floats [part][result]
                */
} ons_cuda_reduction;

/* An ons_prepare_function for inputs data, axes (see reduction.h). */
ons_status *ons_cuda_reduction_prepare(ons_prepare *p);
/* A reduction in another operator, which names the axes of input 0 that go away. */
ons_status *ons_cuda_reduction_over(ons_prepare *p, const bool *reduced);

#endif
