/* Transpose: what its files share. */
#ifndef ONSTAGE_KERNELS_TRANSPOSE_TRANSPOSE_H
#define ONSTAGE_KERNELS_TRANSPOSE_TRANSPOSE_H

#include "graph/type.h"
#include "kernels/backend.h"

/* Fails unless perm holds every axis once. */
ons_status *ons_transpose_find_permutation(const ons_operands *o, uint32_t perm[static ONS_RANK_MAX]);

ons_status *ons_transpose_prepare(ons_prepare *p);

#endif
