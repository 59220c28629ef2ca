/* DepthToSpace: what its files share. */
#ifndef ONSTAGE_KERNELS_DEPTH_TO_SPACE_DEPTH_TO_SPACE_H
#define ONSTAGE_KERNELS_DEPTH_TO_SPACE_DEPTH_TO_SPACE_H

#include "kernels/common/operator/kernel.h"

enum { BLOCKSIZE, MODE };

static inline bool is_crd(const ons_operands *o) { return strcmp(ons_attribute_string(o, MODE), "CRD") == 0; }

ons_status *ons_depth_to_space_prepare(ons_prepare *p);

#endif
