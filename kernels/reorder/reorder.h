/* Reorder: what its files share. */
#ifndef ONSTAGE_KERNELS_REORDER_REORDER_H
#define ONSTAGE_KERNELS_REORDER_REORDER_H

#include "kernels/common/layout/strided.h"

/* Between ONNX's order and channels last. */
ons_strided ons_reorder_make_copy(const ons_type *from, const ons_type *to);

#endif
