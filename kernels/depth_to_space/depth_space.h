/* DepthToSpace and SpaceToDepth: the same rearrangement of blocks of pixels in opposite directions. */
#ifndef ONSTAGE_KERNELS_DEPTH_TO_SPACE_DEPTH_SPACE_H
#define ONSTAGE_KERNELS_DEPTH_TO_SPACE_DEPTH_SPACE_H

#include "kernels/common/layout/strided.h"

/* The copy from the tensor with many channels (N, C·b·b, H, W) to the one with many pixels (N, C, H·b, W·b), or back;
 * both in ONNX's order or with channels last. `crd`: a block's pixels are the inner part of the channel number, else
 * the outer ("DCR"). */
ons_strided ons_depth_space_copy(const ons_type *deep, const ons_type *wide, int64_t block, bool crd, bool to_space);

/* The copy of ons_depth_space_copy by words, for references. */
void ons_depth_space_reference(const ons_shape *deep, int64_t block, bool crd, bool to_space, const void *from,
                               void *to);

/* Fails unless the attribute is "DCR" or "CRD". */
ons_status *ons_depth_space_check_mode(const ons_operands *o, uint32_t attribute);
/* Multiplies a dim of output 0; passes on a failure from before. */
ons_status *ons_depth_space_grow(ons_operands *o, uint32_t axis, int64_t factor, ons_status *failure);

#endif
