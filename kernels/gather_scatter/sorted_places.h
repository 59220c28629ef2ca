/* Gradients of lookups of whole rows on CUDA: places sorted by the row that they looked up (cuda_sorted_places.cuh).
 * What host and device count alike: the scratch. */
#ifndef ONSTAGE_KERNELS_GATHER_SCATTER_SORTED_PLACES_H
#define ONSTAGE_KERNELS_GATHER_SCATTER_SORTED_PLACES_H

#include "base/host_device.h"
#include "kernels/common/operator/kernel.h"

enum {
    ONS_SORT_DIGIT_BITS = 8,
    ONS_SORT_DIGITS = 1 << ONS_SORT_DIGIT_BITS,
    ONS_SORT_TILE = 512,     /* places that a warp sorts one after the other */
    ONS_PLACE_SEGMENT = 128, /* places of one row that are added up one after the other */
};

ONS_HOST_DEVICE static inline int64_t ons_sort_tiles(int64_t count) {
    return (count + ONS_SORT_TILE - 1) / ONS_SORT_TILE;
}

/* Sums of segments are kept of rows that have several: at most two of these begin among any ONS_PLACE_SEGMENT sorted
 * places that stand in a row. */
ONS_HOST_DEVICE static inline int64_t ons_segment_slots(int64_t count) {
    return 2 * ((count + ONS_PLACE_SEGMENT - 1) / ONS_PLACE_SEGMENT);
}

/* Plans a node's scratch for `outer` tables of rows of `inner` elements and `count` places in each: sums of segments
 * (outer × slots × inner, float), sorted places twice (count, int32), counters (tiles × digits, int32). Refuses what 32
 * bits do not count. */
static inline ons_status *ons_sorted_places_scratch(ons_prepare *p, int64_t outer, int64_t count, int64_t inner) {
    if (count > INT32_MAX) return ons_node_error(p->operands, "more than %d indices on a GPU", INT32_MAX);
    p->scratch_bytes = outer * ons_segment_slots(count) * inner * (int64_t)sizeof(float);
    p->scratch_bytes += (2 * count + ons_sort_tiles(count) * ONS_SORT_DIGITS) * (int64_t)sizeof(int32_t);
    p->scratch_bytes = (p->scratch_bytes + 63) / 64 * 64;
    return NULL;
}

#endif
