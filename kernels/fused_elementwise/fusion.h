/* What graph/passes/fuse_elementwise.h has to know of kernels. */
#ifndef ONSTAGE_KERNELS_FUSED_ELEMENTWISE_FUSION_H
#define ONSTAGE_KERNELS_FUSED_ELEMENTWISE_FUSION_H

#include "graph/passes/fuse_elementwise.h"

const ons_elementwise_fusion *ons_elementwise_fusion_rules(void);

#endif
