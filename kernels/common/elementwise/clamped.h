/* Max and Min that PyTorch's exporter writes for a clamp by a number. clamp gives no gradient to what lies on a bound,
 * maximum and minimum share it between equal operands: where the exporter says that it was a clamp, what becomes of
 * the node is a choice by comparison. */
#ifndef ONSTAGE_KERNELS_COMMON_ELEMENTWISE_CLAMPED_H
#define ONSTAGE_KERNELS_COMMON_ELEMENTWISE_CLAMPED_H

#include "graph/operator.h"
#include "graph/upgrade.h"

ons_upgrade_function ons_upgrade_max_of_clamp, ons_upgrade_min_of_clamp;

#endif
