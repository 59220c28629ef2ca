#include "kernels/det/cuda_determinant.h"

ons_status *ons_cuda_determinant_prepare(ons_prepare *p, const ons_type *matrices, int64_t rooms) {
    const ons_shape *shape = &matrices->shape;
    ONS_TRY(ons_require_float32(p->operands));
    ons_cuda_determinant *s;
    ONS_NEW_STATE(s, p);
    s->count = ons_shape_span(shape, 0, shape->rank - 2);
    s->size = shape->dims[shape->rank - 1];
    p->scratch_bytes = (rooms * s->count * s->size * s->size * (int64_t)sizeof(double) + 63) / 64 * 64;
    p->implementation = "cuda:a thread for each matrix";
    return NULL;
}
