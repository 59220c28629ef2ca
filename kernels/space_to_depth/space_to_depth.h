/* SpaceToDepth: what its files share. */
#ifndef ONSTAGE_KERNELS_SPACE_TO_DEPTH_SPACE_TO_DEPTH_H
#define ONSTAGE_KERNELS_SPACE_TO_DEPTH_SPACE_TO_DEPTH_H

#include "kernels/common/operator/kernel.h"

enum { BLOCKSIZE, MODE };

static inline bool is_crd(const ons_operands *o) { return strcmp(ons_attribute_string(o, MODE), "CRD") == 0; }

ons_status *ons_space_to_depth_prepare(ons_prepare *p);

#endif
