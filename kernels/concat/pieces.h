/* A tensor cut along one axis: Concat and Split are the same copies in opposite directions. */
#ifndef ONSTAGE_KERNELS_CONCAT_PIECES_H
#define ONSTAGE_KERNELS_CONCAT_PIECES_H

#include "kernels/common/layout/strided.h"

typedef struct ons_pieces {
    uint32_t count;
    ons_strided *copies; /* of each piece; the whole's side has the offset */
} ons_pieces;

/* Layout rules. A whole that is made has channels last where most elements of its pieces have, and these stay as they
 * are, since a copy may turn axes round on its way; pieces that are made lie as the whole does. */
ons_status *ons_pieces_choose_whole(const ons_operands *o, ons_layout *inputs, ons_layout *outputs);
ons_status *ons_pieces_choose_pieces(const ons_operands *o, ons_layout *inputs, ons_layout *outputs);

/* State for pieces of types `pieces` (in order along `axis`) of `whole`, each in ONNX's order or with channels last.
 * `joins`: from the pieces to the whole. */
ons_status *ons_pieces_prepare(ons_prepare *p, const ons_type *whole, const ons_type *pieces, uint32_t count,
                               uint32_t axis, bool joins);

/* Copies one piece's words for references: piece `from` (joins) or to it. `start`: its first index along the axis. */
void ons_piece_reference(const ons_shape *whole, const ons_shape *piece, uint32_t axis, int64_t start, bool joins,
                         const void *from, void *to);

#endif
