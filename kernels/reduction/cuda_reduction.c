#include "kernels/reduction/cuda_reduction.h"

#include "kernels/common/elementwise/cuda_elementwise.h"
#include "kernels/common/layout/channels.h"
#include "kernels/reduction/reduction.h"

enum { RESULTS_ENOUGH = 4096, PART_ELEMENTS = 2048, PARTS_MAX = 256 };

/* Puts an axis behind the others; one that goes on where the last one ends is joined to it. */
static void add_axis(ons_cuda_loops *loops, int64_t size, int64_t stride) {
    if (size == 1) return;
    uint32_t last = loops->rank - 1;
    if (loops->rank > 0 && loops->strides[last] == size * stride) {
        loops->dims[last] *= size;
        loops->strides[last] = stride;
        return;
    }
    loops->dims[loops->rank] = size;
    loops->strides[loops->rank++] = stride;
}

ons_status *ons_cuda_reduction_over(ons_prepare *p, const bool *reduced) {
    const ons_operands *o = p->operands;
    const ons_shape *shape = &o->inputs[0].shape;
    ONS_TRY(ons_cuda_require_float(o, o->inputs[0].dtype));
    ons_cuda_reduction *r;
    ONS_NEW_STATE(r, p);
    int64_t stride = ons_elements(&o->inputs[0]);
    r->dtype = o->inputs[0].dtype;
    r->results = r->count = 1;
    for (uint32_t place = 0; place < shape->rank; ++place) {
        uint32_t i = ons_channels_axis(o->inputs[0].layout, shape->rank, place);
        stride = shape->dims[i] > 0 ? stride / shape->dims[i] : 0;
        add_axis(reduced[i] ? &r->reduced : &r->kept, shape->dims[i], stride);
        *(reduced[i] ? &r->count : &r->results) *= shape->dims[i];
    }
    r->columns = r->kept.rank > 0 && r->kept.strides[r->kept.rank - 1] == 1;
    int64_t parts = r->results < RESULTS_ENOUGH ? r->count / PART_ELEMENTS : 1;
    if (r->columns && r->results < RESULTS_ENOUGH) parts = r->count / 64;
    r->parts = parts < 1 ? 1 : parts > PARTS_MAX ? PARTS_MAX : (int)parts;
    p->scratch_bytes = r->parts > 1 ? (r->parts * r->results * (int64_t)sizeof(float) + 63) / 64 * 64 : 0;
    p->implementation = r->columns ? "cuda:columns" : "cuda:rows";
    return NULL;
}

ons_status *ons_cuda_reduction_prepare(ons_prepare *p) {
    bool reduced[ONS_RANK_MAX];
    ons_resolved(ons_reduction_axes(p->operands, reduced));
    return ons_cuda_reduction_over(p, reduced);
}
