/* Split: what its files share. */
#ifndef ONSTAGE_KERNELS_SPLIT_SPLIT_H
#define ONSTAGE_KERNELS_SPLIT_SPLIT_H

#include "kernels/backend.h"

enum { PIECES_MAX = 1024 };

/* The types of all pieces, also of those that nobody reads. */
uint32_t ons_split_find_pieces(const ons_operands *o, ons_type pieces[static PIECES_MAX], uint32_t *axis);

ons_status *ons_split_prepare(ons_prepare *p);

#endif
