/* The float32 kernel of linear maps along axes (axis_map.h).
 *
 * Two neighbouring axes that change are done in one pass: a row of the first one's result is combined in a buffer that
 * stays in the cache, and the second axis is mapped from there into the result. Further axes take a pass of their own
 * through scratch memory. Every element has a fixed order of summation, whatever the number of threads.
 */
#ifndef ONSTAGE_KERNELS_RESAMPLING_SEPARABLE_H
#define ONSTAGE_KERNELS_RESAMPLING_SEPARABLE_H

#include "kernels/resampling/axis_map.h"

enum { ONS_TAPS_FEW = 4 };

/* The taps of one axis as the kernel reads them. */
typedef struct ons_taps {
    int64_t outputs, most; /* `most`: taps of the element that has the most */
    bool copies;           /* every element is one element of the operand */
    const int64_t *first;
    const int32_t *index;
    const float *weight;
    /* Where there are few: by tap, then by element, so that a vector of elements takes one tap at a time. A missing tap
     * repeats the first one with weight 0. */
    const int32_t *tap_index;
    const float *tap_weight;
    const int64_t *empty; /* elements without taps */
    int64_t empty_count;
    /* Elements period × i + r for i in [begin, end) take stride × i + offset[r][tap] with factor[r][tap]: doubling has
     * period 2 and stride 1, halving period 1 and stride 2. period 0: no such regularity. */
    int period, stride;
    int64_t begin, end;
    int64_t offset[2][ONS_TAPS_FEW];
    float factor[2][ONS_TAPS_FEW];
} ons_taps;

/* One pass: `outer` planes of rows of columns of `width` elements. */
typedef struct ons_separable_stage {
    int64_t outer, in_rows, out_rows, in_columns, out_columns, width;
    const ons_taps *rows, *columns; /* NULL: as they are */
} ons_separable_stage;

typedef struct ons_separable {
    uint32_t count;
    ons_separable_stage stages[ONS_RANK_MAX];
    float fill;
    int threads;
    int64_t buffer;    /* floats of one thread's row */
    int64_t passed_on; /* floats at the beginning of scratch, twice: results between stages */
} ons_separable;

/* Plans the maps of a tensor whose axes are in the order of memory; sets p->scratch_bytes and p->implementation. The
 * plan points into p->arena. */
ons_status *ons_separable_plan(ons_prepare *p, uint32_t rank, const ons_axis_map *maps, double fill,
                               ons_separable *plan);
void ons_separable_run(const ons_separable *plan, const float *in, float *out, void *scratch);

#endif
