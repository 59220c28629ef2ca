/* What the CPU runs of pieces.h. */
#include "kernels/concat/pieces.h"

#include "kernels/common/layout/channels.h"

/* A piece's copy, its axes in the order in which they lie in the whole. */
static ons_strided copy_of(const ons_type *whole, const int64_t *wholes, const ons_type *piece, bool joins) {
    int64_t pieces[ONS_RANK_MAX];
    ons_channels_strides(piece, pieces);
    return ons_strided_box(whole->dtype, &piece->shape, whole->layout, joins ? pieces : wholes,
                           joins ? wholes : pieces);
}

ons_status *ons_pieces_prepare(ons_prepare *p, const ons_type *whole, const ons_type *pieces, uint32_t count,
                               uint32_t axis, bool joins) {
    ons_pieces *state;
    ONS_NEW_STATE(state, p);
    state->count = count;
    ONS_NEW(state->copies, p->arena, count + 1);
    int64_t strides[ONS_RANK_MAX], start = 0;
    ons_channels_strides(whole, strides);
    for (uint32_t i = 0; i < count; ++i) {
        ons_strided copy = copy_of(whole, strides, &pieces[i], joins);
        *(joins ? &copy.to_offset : &copy.from_offset) = start * strides[axis];
        ons_strided_plan(&copy);
        state->copies[i] = copy;
        start += pieces[i].shape.dims[axis];
    }
    return NULL;
}
