/* A change of layout outside of a program: for contents that the host reads or writes. */
#ifndef ONSTAGE_KERNELS_REORDER_RELAYOUT_H
#define ONSTAGE_KERNELS_REORDER_RELAYOUT_H

#include "base/status.h"
#include "graph/type.h"

/* Copies what lies at `source`, of type `from`, to `target` in the layout `to`: dense layouts of float32 that oneDNN
 * knows. Others are ONS_DEFECT: no value that the host reads is kept in them. */
ons_status *ons_relayout(const ons_type *from, ons_layout to, const void *source, void *target);

#endif
