#include "kernels/concat/pieces.h"

void ons_piece_reference(const ons_shape *whole, const ons_shape *piece, uint32_t axis, int64_t start, bool joins,
                         const void *from, void *to) {
    int64_t index[ONS_RANK_MAX];
    for (int64_t i = 0, n = ons_shape_elements(piece); i < n; ++i) {
        ons_unravel(piece, i, index);
        index[axis] += start;
        int64_t place = ons_ravel(whole, index);
        ons_copy_word(to, joins ? place : i, from, joins ? i : place);
    }
}
