/* What the pools over all positions of a channel share. */
#ifndef ONSTAGE_KERNELS_POOLING_GLOBAL_POOL_H
#define ONSTAGE_KERNELS_POOLING_GLOBAL_POOL_H

#include "kernels/common/layout/channels.h"

/* A float with one position left of all. */
ons_status *ons_global_pool_infer(ons_operands *o);

/* For float32 kernels whose state is an ons_channels: of input 0, of input 1 and of output 0. */
ons_status *ons_global_pool_prepare(ons_prepare *p);
ons_status *ons_global_pool_prepare_second(ons_prepare *p);
ons_status *ons_global_pool_prepare_result(ons_prepare *p);

#endif
