/* Linear maps along axes (axis_map.h) on CUDA: one pass for each axis that changes.
 *
 * The taps of all axes are made by the CPU, once; a run begins by writing them to scratch memory, as arguments of
 * kernels, so that nothing of the host's is read later. */
#ifndef ONSTAGE_KERNELS_RESAMPLING_CUDA_SEPARABLE_H
#define ONSTAGE_KERNELS_RESAMPLING_CUDA_SEPARABLE_H

#include "kernels/resampling/axis_map.h"

typedef struct ons_cuda_map {
    int64_t outer, inputs, outputs, inner;
    int64_t first, index, weight; /* where its tables begin, in words of four bytes: int32, int32, float */
} ons_cuda_map;

/* Scratch: the tables, then two buffers of floats for what passes from axis to axis. */
typedef struct ons_cuda_separable {
    ons_dtype dtype;
    uint32_t count;
    ons_cuda_map maps[ONS_RANK_MAX];
    float fill;
    const uint32_t *tables;
    int64_t words;
    int64_t buffers[2]; /* where they begin, in bytes */
    int64_t elements;   /* of the result */
} ons_cuda_separable;

ons_status *ons_cuda_separable_prepare(ons_prepare *p, uint32_t rank, const ons_axis_map *maps, double fill);
void ons_cuda_separable_run(const ons_launch *launch);

#endif
