/* What graph/passes/fuse_products.h has to know of kernels: products by cuBLASLt and their epilogues. */
#ifndef ONSTAGE_KERNELS_LINEAR_PRODUCT_FUSION_H
#define ONSTAGE_KERNELS_LINEAR_PRODUCT_FUSION_H

#include "graph/passes/fuse_products.h"

const ons_product_fusion *ons_product_fusion_rules(void);

#endif
