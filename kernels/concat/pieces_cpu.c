/* What the CPU runs of pieces.h. */
#include "kernels/concat/pieces.h"

ons_status *ons_pieces_prepare(ons_prepare *p, const ons_type *whole, const ons_type *pieces, uint32_t count,
                               uint32_t axis, bool joins) {
    ons_pieces *state;
    ONS_NEW_STATE(state, p);
    state->count = count;
    ONS_NEW(state->copies, p->arena, count + 1);
    int64_t strides[ONS_RANK_MAX], start = 0;
    ons_dense_strides(&whole->shape, strides);
    for (uint32_t i = 0; i < count; ++i) {
        ons_strided copy = ons_strided_dense(whole->dtype, &pieces[i].shape);
        memcpy(joins ? copy.to : copy.from, strides, sizeof strides);
        *(joins ? &copy.to_offset : &copy.from_offset) = start * strides[axis];
        ons_strided_plan(&copy);
        state->copies[i] = copy;
        start += pieces[i].shape.dims[axis];
    }
    return NULL;
}
