/* Runs a fused node on CUDA: by its own kernel, or where none could be compiled by the operators' kernels, one after
 * the other, through scratch memory. Both give the same bits. */
#ifndef ONSTAGE_KERNELS_FUSED_ELEMENTWISE_FUSED_RUN_H
#define ONSTAGE_KERNELS_FUSED_ELEMENTWISE_FUSED_RUN_H

#include "kernels/backend.h"

ons_status *ons_fused_prepare(ons_prepare *p);

/* For states of it. `copy` copies on the launch's stream. */
typedef void ons_fused_copy(const ons_launch *launch, void *to, const void *from, int64_t bytes);
void ons_fused_run(const ons_launch *launch, ons_fused_copy *copy);

#endif
